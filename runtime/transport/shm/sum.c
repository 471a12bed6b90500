/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/sum.c - sums and quotients in vectors of 32 bytes, in the compiler's own notation: whatever
 * width the machine has, each element is one IEEE operation.
 */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/transport/shm/sum.h"

#define TW_SUM_WIDTH 32 /* bytes */

typedef float  tw_floats_t __attribute__((vector_size(TW_SUM_WIDTH)));
typedef double tw_doubles_t __attribute__((vector_size(TW_SUM_WIDTH)));

/* From the i-th byte on, as long as one fits: x is what stands at `from`, changed, and then written to `to`. */
#define TW_SUM_EACH(type, from, to, change)                                                        \
    for (; i + sizeof(type) <= bytes; i += sizeof(type)) {                                         \
        type x;                                                                                    \
                                                                                                   \
        memcpy(&x, (from) + i, sizeof(x));                                                         \
        change;                                                                                    \
        memcpy((to) + i, &x, sizeof(x));                                                           \
    }
#define TW_SUM_ADD(type)                                                                           \
    type y;                                                                                        \
    memcpy(&y, b + i, sizeof(y));                                                                  \
    x += y

static void tw_sum_f32(const uint8_t *a, const uint8_t *b, size_t bytes, uint8_t *out)
{
    size_t i = 0;

    TW_SUM_EACH(tw_floats_t, a, out, TW_SUM_ADD(tw_floats_t))
    TW_SUM_EACH(float, a, out, TW_SUM_ADD(float))
}

static void tw_sum_f64(const uint8_t *a, const uint8_t *b, size_t bytes, uint8_t *out)
{
    size_t i = 0;

    TW_SUM_EACH(tw_doubles_t, a, out, TW_SUM_ADD(tw_doubles_t))
    TW_SUM_EACH(double, a, out, TW_SUM_ADD(double))
}

/* By a power of two the product with its reciprocal, which is exact, is the same number sooner. */
static void tw_divide_f32(uint8_t *at, size_t bytes, float by, bool exact)
{
    const float factor = 1.0f / by;
    size_t      i      = 0;

    if (exact) {
        TW_SUM_EACH(tw_floats_t, at, at, x *= factor)
    }
    TW_SUM_EACH(tw_floats_t, at, at, x /= by)
    TW_SUM_EACH(float, at, at, x /= by)
}

static void tw_divide_f64(uint8_t *at, size_t bytes, double by, bool exact)
{
    const double factor = 1.0 / by;
    size_t       i      = 0;

    if (exact) {
        TW_SUM_EACH(tw_doubles_t, at, at, x *= factor)
    }
    TW_SUM_EACH(tw_doubles_t, at, at, x /= by)
    TW_SUM_EACH(double, at, at, x /= by)
}

void tw_sum_pair(size_t element, const void *a, const void *b, size_t n, void *out)
{
    if (element == sizeof(float)) {
        tw_sum_f32(a, b, n * element, out);
    } else {
        tw_sum_f64(a, b, n * element, out);
    }
}

void tw_sum_divide(size_t element, void *values, size_t n, int ranks)
{
    const bool exact = (ranks & (ranks - 1)) == 0;

    if (element == sizeof(float)) {
        tw_divide_f32(values, n * element, (float)ranks, exact);
    } else {
        tw_divide_f64(values, n * element, (double)ranks, exact);
    }
}
