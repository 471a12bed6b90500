/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/fp16.c - IEEE 754 binary16, rounded to nearest even.
 *
 * Layout: docs/wire-format.md, "fp16". Error: relative 2^-11 from 2^-14 to 65504, absolute 2^-25
 *         below. From 65520 on a number becomes Inf: fp16 overflow is Inf, not the largest number.
 *         Inf stays Inf, NaN stays NaN (made quiet), subnormal numbers are kept both ways.
 */
#include "config.h"

#include <math.h>

#include "runtime/base/half.h"
#include "runtime/codec/half/half.h"
#include "runtime/codec/values.h"

TW_HALF_KERNELS(tw_fp16_scalar, tw_fp16_from_bits(bits), tw_fp16_to_bits(half));

static tw_status_t fp16_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    (void)why;
    return tw_half_finish(codec, INFINITY, TW_CUDA_FP16); /* overflows */
}

TW_KERNELS_OF(tw_fp16);

const tw_codec_ops_t tw_codec_fp16 = {
    .name    = "fp16",
    .form    = "fp16",
    .help    = "IEEE 754 binary16, rounded to nearest even; overflow becomes Inf",
    .id      = 4,
    .finish  = fp16_finish,
    .size    = tw_values_size,
    .kernels = TW_KERNELS(tw_fp16),
    .offers  = {{"fp16", TW_F16, TW_OFFER_AUTO}},
};
