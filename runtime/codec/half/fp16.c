/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/fp16.c - IEEE 754 binary16, rounded to nearest even.
 *
 * Layout: docs/wire-format.md, "fp16". Error: relative 2^-11 from 2^-14 to 65504, absolute 2^-25
 *         below. From 65520 on a number becomes Inf: fp16 overflow is Inf, not the largest number.
 *         Inf stays Inf, NaN stays NaN (made quiet), subnormal numbers are kept both ways.
 */
#include "config.h"

#include <math.h>

#include "runtime/codec/half/half.h"
#include "runtime/codec/values.h"

/* v >> shift, to nearest, half to even; 0 < shift < 32. */
static uint32_t shift_to_nearest(uint32_t v, uint32_t shift)
{
    return (v + ((1u << (shift - 1)) - 1) + (v >> shift & 1)) >> shift;
}

static uint32_t fp16_from_bits(uint32_t u)
{
    const uint32_t sign = u >> 16 & 0x8000u, size = u & 0x7fffffffu;

    if (size > 0x7f800000u) {
        return sign | 0x7e00u | (size >> 13 & 0x3ffu);
    }
    if (size >= 0x477ff000u) { /* 65520, half way from the largest number to 2^16 */
        return sign | 0x7c00u;
    }
    if (size >= 0x38800000u) { /* 2^-14: normal; the exponents' biases differ by 112 */
        return sign | shift_to_nearest(size - (112u << 23), 13);
    }
    if (size < 0x33000000u) { /* 2^-25: below half of the smallest number */
        return sign;
    }
    /* Subnormal, in units of 2^-24. */
    return sign | shift_to_nearest((size & 0x007fffffu) | 0x00800000u, 126 - (size >> 23));
}

static uint32_t fp16_to_bits(uint32_t h)
{
    const uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 0x1fu;
    uint32_t       mantissa = h & 0x3ffu, shift;

    if (exponent == 0x1f) {
        return sign | 0x7f800000u | mantissa << 13 | (mantissa != 0 ? 0x00400000u : 0);
    }
    if (exponent != 0) {
        return sign | (exponent + 112) << 23 | mantissa << 13;
    }
    if (mantissa == 0) {
        return sign;
    }
    /* Subnormal there, normal here: bring the top bit to the implicit place. */
    shift = (uint32_t)__builtin_clz(mantissa) - 21;
    return sign | (113 - shift) << 23 | (mantissa << shift & 0x3ffu) << 13;
}

TW_HALF_KERNELS(tw_fp16_scalar, fp16_from_bits(bits), fp16_to_bits(half));

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
};
