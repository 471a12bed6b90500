/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/bf16.c - bfloat16: the upper half of a float32, rounded to nearest even.
 *
 * Layout: docs/wire-format.md, "bf16". Error: relative 2^-9 for normal numbers. Subnormal numbers
 *         are kept (the processors' own conversion instructions flush them), Inf stays Inf, NaN
 *         stays NaN (made quiet); what rounds beyond the largest number becomes Inf.
 */
#include "config.h"

#include <stdio.h>

#include "runtime/base/half.h"
#include "runtime/codec/half/half.h"
#include "runtime/codec/values.h"

tw_status_t tw_half_finish(tw_codec_t *codec, double bound, tw_cuda_kind_t cuda)
{
    codec->block           = 1;
    codec->bytes_per_value = 2.0;
    codec->bound           = bound;
    codec->finer           = "int:16";
    codec->cuda            = cuda;
    snprintf(codec->spec, sizeof(codec->spec), "%s", codec->ops->name);
    return TW_OK;
}

TW_HALF_KERNELS(tw_bf16_scalar, tw_bf16_from_bits(bits), tw_bf16_to_bits(half));

static tw_status_t bf16_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    (void)why;
    return tw_half_finish(codec, 0x1p-8, TW_CUDA_ROUND2);
}

TW_KERNELS_OF(tw_bf16);

const tw_codec_ops_t tw_codec_bf16 = {
    .name    = "bf16",
    .form    = "bf16",
    .help    = "bfloat16, rounded to nearest even",
    .id      = 3,
    .finish  = bf16_finish,
    .size    = tw_values_size,
    .kernels = TW_KERNELS(tw_bf16),
    .offers  = {{"bf16", TW_F32, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE},
                {"bf16", TW_BF16, TW_OFFER_AUTO}},
};
