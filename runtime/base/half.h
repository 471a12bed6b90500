/* SPDX-License-Identifier: BSD-3-Clause
 * base/half.h - the two 16-bit floats, by their bits: to and from those of a float32, rounded to
 * nearest, half to even. Subnormal numbers are kept both ways, Inf stays Inf, NaN stays NaN.
 *
 * bfloat16 is the upper half of a float32. IEEE 754 binary16 has 5 bits of exponent and 10 of
 * fraction: from 65520 on a number becomes Inf.
 */
#ifndef TW_BASE_HALF_H
#define TW_BASE_HALF_H

#include "runtime/base/rounding.h"

static inline uint32_t tw_bf16_from_bits(uint32_t u)
{
    return tw_round_top32(u, 16);
}

static inline uint32_t tw_bf16_to_bits(uint32_t h)
{
    return h << 16;
}

/* v >> shift, to nearest, half to even; 0 < shift < 32. */
static inline uint32_t tw_shift_to_nearest(uint32_t v, uint32_t shift)
{
    return (v + ((1u << (shift - 1)) - 1) + (v >> shift & 1)) >> shift;
}

static inline uint32_t tw_fp16_from_bits(uint32_t u)
{
    const uint32_t sign = u >> 16 & 0x8000u, size = u & 0x7fffffffu;

    if (size > 0x7f800000u) {
        return sign | 0x7e00u | (size >> 13 & 0x3ffu);
    }
    if (size >= 0x477ff000u) { /* 65520, half way from the largest number to 2^16 */
        return sign | 0x7c00u;
    }
    if (size >= 0x38800000u) { /* 2^-14: normal; the exponents' biases differ by 112 */
        return sign | tw_shift_to_nearest(size - (112u << 23), 13);
    }
    if (size < 0x33000000u) { /* 2^-25: below half of the smallest number */
        return sign;
    }
    /* Subnormal, in units of 2^-24. */
    return sign | tw_shift_to_nearest((size & 0x007fffffu) | 0x00800000u, 126 - (size >> 23));
}

static inline uint32_t tw_fp16_to_bits(uint32_t h)
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

#endif /* TW_BASE_HALF_H */
