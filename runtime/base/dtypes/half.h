/* SPDX-License-Identifier: BSD-3-Clause
 * base/dtypes/half.h - the row of a 16-bit float, by base/half.h. Each result is that of float32,
 * rounded once more: the same as one rounding, as float32 has more than twice the digits. (Sums of
 * more than two are made in float32: tw_dtype_row_t.sum.)
 */
#ifndef TW_BASE_DTYPES_HALF_H
#define TW_BASE_DTYPES_HALF_H

#include <stdint.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/base/dtypes/row.h"
#include "runtime/base/half.h"

/* The float32 nearest to x among those with an odd last bit, or x where float32 has it: rounding
 * that again to a half is as rounding x. */
static inline uint32_t tw_half_odd(double x)
{
    const float    near = (float)x;
    const uint32_t bits = tw_float_bits(near);
    const double   back = (double)near;

    if (back == x || x != x) {
        return bits;
    }
    return ((back < 0.0 ? back < x : back > x) ? bits - 1 : bits) | 1u;
}

#define TW_HALF_COMBINE(name, result)                                                              \
    static void name(const void *a, const void *b, size_t n, void *out)                            \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const float x = tw_half_get(a, i), y = tw_half_get(b, i);                              \
                                                                                                   \
            tw_half_put(out, i, tw_float_bits(result));                                            \
        }                                                                                          \
    }

/* Of a half that is made of the bits of a float32, and these of it, by those functions. */
#define TW_DTYPE_HALF(row, called, of_fraction, of_exponent, from_bits, to_bits, spec)             \
    static inline float tw_half_get(const void *at, size_t i)                                      \
    {                                                                                              \
        uint16_t h;                                                                                \
                                                                                                   \
        memcpy(&h, (const uint8_t *)at + i * sizeof(h), sizeof(h));                                \
        return tw_bits_float(to_bits(h));                                                          \
    }                                                                                              \
                                                                                                   \
    static inline void tw_half_put(void *at, size_t i, uint32_t bits)                              \
    {                                                                                              \
        const uint16_t h = (uint16_t)from_bits(bits);                                              \
                                                                                                   \
        memcpy((uint8_t *)at + i * sizeof(h), &h, sizeof(h));                                      \
    }                                                                                              \
                                                                                                   \
    TW_HALF_COMBINE(tw_add, x + y)                                                                 \
    TW_HALF_COMBINE(tw_multiply, x *y)                                                             \
    TW_HALF_COMBINE(tw_maximum, x > y || x != x ? x : y)                                           \
    TW_HALF_COMBINE(tw_minimum, x < y || x != x ? x : y)                                           \
                                                                                                   \
    static void tw_divide(void *values, size_t n, int by)                                          \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            tw_half_put(values, i, tw_float_bits(tw_half_get(values, i) / (float)by));             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void tw_to_f64(const void *from, size_t n, double *to)                                  \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            to[i] = (double)tw_half_get(from, i);                                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void tw_from_f64(const double *from, size_t n, void *to)                                \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            tw_half_put(to, i, tw_half_odd(from[i]));                                              \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    TW_DTYPE_ROW_OF(row, called, sizeof(uint16_t), of_fraction, of_exponent, true, TW_F32, spec)

#endif /* TW_BASE_DTYPES_HALF_H */
