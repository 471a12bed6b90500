/* SPDX-License-Identifier: BSD-3-Clause
 * base/dtypes/arithmetic.h - the row of a type that C calculates with, in vectors of 32 bytes, in
 * the compiler's own notation: whatever width the machine has, each element is one IEEE operation.
 */
#ifndef TW_BASE_DTYPES_ARITHMETIC_H
#define TW_BASE_DTYPES_ARITHMETIC_H

#include <stdint.h>
#include <string.h>

#include "runtime/base/dtypes/row.h"

#define TW_VECTOR_BYTES 32

/* x stands at a, y at b; what `change` leaves in x is written to out. */
#define TW_COMBINE_EACH(type, change)                                                              \
    for (; i + sizeof(type) <= bytes; i += sizeof(type)) {                                         \
        type x, y;                                                                                 \
                                                                                                   \
        memcpy(&x, (const uint8_t *)a + i, sizeof(x));                                             \
        memcpy(&y, (const uint8_t *)b + i, sizeof(y));                                             \
        change;                                                                                    \
        memcpy((uint8_t *)out + i, &x, sizeof(x));                                                 \
    }
#define TW_COMBINE(name, number, vector, change, wide_change)                                      \
    static void name(const void *a, const void *b, size_t n, void *out)                            \
    {                                                                                              \
        const size_t bytes = n * sizeof(number);                                                   \
        size_t       i     = 0;                                                                    \
                                                                                                   \
        TW_COMBINE_EACH(vector, wide_change)                                                       \
        TW_COMBINE_EACH(number, change)                                                            \
    }

/* The element of x where `keep` says so (all bits), else that of y. */
#define TW_SELECT(vector, bits, keep)                                                              \
    {                                                                                              \
        const bits mask = (keep);                                                                  \
                                                                                                   \
        x = (vector)((mask & (bits)x) | (~mask & (bits)y));                                        \
    }

#define TW_DIVIDE_EACH(type, change)                                                               \
    for (; i + sizeof(type) <= bytes; i += sizeof(type)) {                                         \
        type x;                                                                                    \
                                                                                                   \
        memcpy(&x, (const uint8_t *)values + i, sizeof(x));                                        \
        change;                                                                                    \
        memcpy((uint8_t *)values + i, &x, sizeof(x));                                              \
    }

/* Of numbers of this C type, which has as many bits as that signed integer type. */
#define TW_DTYPE_ARITHMETIC(row, called, number, integer, of_fraction, of_exponent, float32_holds, \
                            of_sums, spec)                                                         \
    typedef number  tw_vector_t __attribute__((vector_size(TW_VECTOR_BYTES)));                     \
    typedef integer tw_bits_t __attribute__((vector_size(TW_VECTOR_BYTES)));                       \
                                                                                                   \
    TW_COMBINE(tw_add, number, tw_vector_t, x += y, x += y)                                        \
    TW_COMBINE(tw_multiply, number, tw_vector_t, x *= y, x *= y)                                   \
    TW_COMBINE(tw_maximum, number, tw_vector_t, x = x > y || x != x ? x : y,                       \
               TW_SELECT(tw_vector_t, tw_bits_t, (x > y) | (x != x)))                              \
    TW_COMBINE(tw_minimum, number, tw_vector_t, x = x < y || x != x ? x : y,                       \
               TW_SELECT(tw_vector_t, tw_bits_t, (x < y) | (x != x)))                              \
                                                                                                   \
    /* The reciprocal of a power of two is exact, and a product is faster. */                      \
    static void tw_divide(void *values, size_t n, int by)                                          \
    {                                                                                              \
        const number divisor = (number)by, factor = (number)1 / divisor;                           \
        const size_t bytes = n * sizeof(number);                                                   \
        size_t       i     = 0;                                                                    \
                                                                                                   \
        if ((by & (by - 1)) == 0) {                                                                \
            TW_DIVIDE_EACH(tw_vector_t, x *= factor)                                               \
        }                                                                                          \
        TW_DIVIDE_EACH(tw_vector_t, x /= divisor)                                                  \
        TW_DIVIDE_EACH(number, x /= divisor)                                                       \
    }                                                                                              \
                                                                                                   \
    static void tw_to_f64(const void *from, size_t n, double *to)                                  \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            number x;                                                                              \
                                                                                                   \
            memcpy(&x, (const uint8_t *)from + i * sizeof(x), sizeof(x));                          \
            to[i] = (double)x;                                                                     \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void tw_from_f64(const double *from, size_t n, void *to)                                \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const number x = (number)from[i];                                                      \
                                                                                                   \
            memcpy((uint8_t *)to + i * sizeof(x), &x, sizeof(x));                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    TW_DTYPE_ROW_OF(row, called, sizeof(number), of_fraction, of_exponent, float32_holds, of_sums, \
                    spec)

#endif /* TW_BASE_DTYPES_ARITHMETIC_H */
