/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/bf16.c - bfloat16: the upper half of a float32, rounded to nearest even.
 *
 * Layout: docs/wire-format.md, "bf16". Error: relative 2^-9 for normal numbers. Subnormal numbers
 *         are kept (the processors' own conversion instructions flush them), Inf stays Inf, NaN
 *         stays NaN (made quiet); what rounds beyond the largest number becomes Inf.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/codec/half/half.h"
#include "runtime/codec/rounding.h"
#include "runtime/codec/values.h"

tw_status_t tw_half_finish(tw_codec_t *codec, double bound, tw_cuda_kind_t cuda)
{
    codec->block           = 1;
    codec->bytes_per_value = 2.0;
    codec->bound           = bound;
    codec->finer           = "bitpack:3";
    codec->cuda            = cuda;
    snprintf(codec->spec, sizeof(codec->spec), "%s", codec->ops->name);
    return TW_OK;
}

static void bf16_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                        bool stream)
{
    (void)codec;
    (void)stream;
    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, src + 4 * i, 4);
        tw_half_store(dst + 2 * i, tw_round_top32(u, 16));
    }
}

static void bf16_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                        bool stream)
{
    (void)codec;
    (void)stream;
    for (size_t i = 0; i < n; i++) {
        const uint32_t u = tw_half_load(src + 2 * i) << 16;

        memcpy(dst + 4 * i, &u, 4);
    }
}

extern const tw_kernels_t tw_bf16_scalar;

const tw_kernels_t tw_bf16_scalar = {
    .encode          = bf16_encode,
    .decode          = bf16_decode,
    .decode_add      = tw_values_decode_add,
    .encode_feedback = tw_values_encode_feedback,
};

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
    .offers  = {{"bf16", TW_F32, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE}},
};
