/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/sum.c - sums and quotients in vectors of 32 bytes, in the compiler's own notation: whatever
 * width the machine has, each element is one IEEE operation.
 */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "runtime/transport/shm/sum.h"

#define TW_SUM_WIDTH 32 /* bytes */

typedef float  tw_floats_t __attribute__((vector_size(TW_SUM_WIDTH)));
typedef double tw_doubles_t __attribute__((vector_size(TW_SUM_WIDTH)));

static void tw_sum_f32(const uint8_t *a, const uint8_t *b, size_t bytes, uint8_t *out)
{
    size_t i = 0;

    for (; i + TW_SUM_WIDTH <= bytes; i += TW_SUM_WIDTH) {
        tw_floats_t x, y;

        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        x += y;
        memcpy(out + i, &x, sizeof(x));
    }
    for (; i < bytes; i += sizeof(float)) {
        float x, y;

        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        x += y;
        memcpy(out + i, &x, sizeof(x));
    }
}

static void tw_sum_f64(const uint8_t *a, const uint8_t *b, size_t bytes, uint8_t *out)
{
    size_t i = 0;

    for (; i + TW_SUM_WIDTH <= bytes; i += TW_SUM_WIDTH) {
        tw_doubles_t x, y;

        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        x += y;
        memcpy(out + i, &x, sizeof(x));
    }
    for (; i < bytes; i += sizeof(double)) {
        double x, y;

        memcpy(&x, a + i, sizeof(x));
        memcpy(&y, b + i, sizeof(y));
        x += y;
        memcpy(out + i, &x, sizeof(x));
    }
}

static void tw_divide_f32(uint8_t *at, size_t bytes, float by)
{
    size_t i = 0;

    for (; i + TW_SUM_WIDTH <= bytes; i += TW_SUM_WIDTH) {
        tw_floats_t x;

        memcpy(&x, at + i, sizeof(x));
        x /= by;
        memcpy(at + i, &x, sizeof(x));
    }
    for (; i < bytes; i += sizeof(float)) {
        float x;

        memcpy(&x, at + i, sizeof(x));
        x /= by;
        memcpy(at + i, &x, sizeof(x));
    }
}

static void tw_divide_f64(uint8_t *at, size_t bytes, double by)
{
    size_t i = 0;

    for (; i + TW_SUM_WIDTH <= bytes; i += TW_SUM_WIDTH) {
        tw_doubles_t x;

        memcpy(&x, at + i, sizeof(x));
        x /= by;
        memcpy(at + i, &x, sizeof(x));
    }
    for (; i < bytes; i += sizeof(double)) {
        double x;

        memcpy(&x, at + i, sizeof(x));
        x /= by;
        memcpy(at + i, &x, sizeof(x));
    }
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
    if (element == sizeof(float)) {
        tw_divide_f32(values, n * element, (float)ranks);
    } else {
        tw_divide_f64(values, n * element, (double)ranks);
    }
}
