/* SPDX-License-Identifier: BSD-3-Clause
 * tests/base/int16.c - an element type for tests only, made by the steps of CONTRIBUTING.md
 * (contributing.sh copies it to runtime/base/dtypes/): integers of 16 bits.
 */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "runtime/base/dtype.h"

#define COMBINE(name, result)                                                                      \
    static void name(const void *a, const void *b, size_t n, void *out)                            \
    {                                                                                              \
        for (size_t i = 0; i < n * sizeof(int16_t); i += sizeof(int16_t)) {                        \
            int16_t x, y;                                                                          \
                                                                                                   \
            memcpy(&x, (const char *)a + i, sizeof(x));                                            \
            memcpy(&y, (const char *)b + i, sizeof(y));                                            \
            x = (int16_t)(result);                                                                 \
            memcpy((char *)out + i, &x, sizeof(x));                                                \
        }                                                                                          \
    }

COMBINE(int16_add, x + y)
COMBINE(int16_multiply, x *y)
COMBINE(int16_maximum, x > y ? x : y)
COMBINE(int16_minimum, x < y ? x : y)

static void int16_to_f64(const void *from, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        int16_t x;

        memcpy(&x, (const char *)from + i * sizeof(x), sizeof(x));
        to[i] = x;
    }
}

static void int16_from_f64(const double *from, size_t n, void *to)
{
    for (size_t i = 0; i < n; i++) {
        const int16_t x = (int16_t)from[i];

        memcpy((char *)to + i * sizeof(x), &x, sizeof(x));
    }
}

static void int16_divide(void *values, size_t n, int by)
{
    for (size_t i = 0; i < n; i++) {
        double x;

        int16_to_f64((const char *)values + i * sizeof(int16_t), 1, &x);
        x /= by;
        int16_from_f64(&x, 1, (char *)values + i * sizeof(int16_t));
    }
}

const tw_dtype_row_t tw_dtype_i16 = {.name     = "int16",
                                     .bytes    = sizeof(int16_t),
                                     .fraction = 15,
                                     .in_f32   = true,
                                     .sum      = TW_I16,
                                     .lossless = "complement",
                                     .combine  = {[TW_COMBINE_ADD]      = int16_add,
                                                  [TW_COMBINE_MULTIPLY] = int16_multiply,
                                                  [TW_COMBINE_MAXIMUM]  = int16_maximum,
                                                  [TW_COMBINE_MINIMUM]  = int16_minimum},
                                     .divide   = int16_divide,
                                     .to_f64   = int16_to_f64,
                                     .from_f64 = int16_from_f64};
