/* SPDX-License-Identifier: BSD-3-Clause
 * input/resize.c - the weights of resized lines, see pixels.h.
 *
 * In units of 1 / (2 out) of a pixel all positions are integers, and so is the triangle: no
 * floating point, hence the same weights on every machine.
 *
 * What is rounded is not each weight but their sums from the left end on; a weight is the
 * difference of two such sums. It is at most 1 from the exact one, and all of a position add up to
 * 16384. The exact sum up to a pixel never grows from one position to the next, nor does the
 * rounded one: so a line whose values never fall is resized to one whose values never fall, which
 * weights that are rounded one by one do not promise. Halves are rounded to even numbers; 16384 is
 * even, so sums from the right end are rounded alike, and weights mirror.
 */
#include "config.h"

#include "train/input/pixels.h"

#define ONE UINT64_C(16384)

size_t tw_resize_taps(size_t in, size_t out)
{
    const size_t reach = in <= out ? 2 : (2 * in + out - 1) / out; /* pixels inside the triangle */

    if (in == out) {
        return 1;
    }
    return reach < in ? reach : in;
}

/* Where the window of a position begins. It has room for all weights above 0; where there are
 * fewer, the spare places are on the right in the left half, and on the left in the right half. */
static size_t window(size_t in, size_t out, size_t position, size_t taps)
{
    const int      right  = 2 * position + 1 > out;
    const uint64_t at     = right ? out - 1 - position : position;
    const uint64_t centre = (2 * at + 1) * in, half = 2 * (uint64_t)(in > out ? in : out);
    size_t         first = 0;

    if (2 * position + 1 == out) {
        return (in - taps) / 2; /* between those of its neighbours, and so no step back */
    }
    if (centre > half) { /* the first j with (2 j + 1) out > centre - half */
        first = (size_t)(((centre - half) / out + 1) / 2);
    }
    first = first < in - taps ? first : in - taps;
    return right ? in - taps - first : first;
}

/* The triangle over a position, at pixel j: not divided by the sum of all. */
static uint64_t height(size_t in, size_t out, size_t position, size_t j)
{
    const uint64_t centre = (2 * (uint64_t)position + 1) * in, pixel = (2 * (uint64_t)j + 1) * out;
    const uint64_t half     = 2 * (uint64_t)(in > out ? in : out);
    const uint64_t distance = pixel > centre ? pixel - centre : centre - pixel;

    return distance < half ? half - distance : 0;
}

void tw_resize_weights(size_t in, size_t out, size_t from, size_t n, int32_t *first,
                       int16_t *weight)
{
    const size_t taps = tw_resize_taps(in, out);

    for (size_t i = 0; i < n; i++) {
        const size_t j     = window(in, out, from + i, taps);
        uint64_t     total = 0, sum = 0, before = 0;

        first[i] = (int32_t)j;
        if (weight == NULL) {
            continue;
        }
        for (size_t k = 0; k < taps; k++) {
            total += height(in, out, from + i, j + k);
        }
        for (size_t k = 0; k < taps; k++) {
            uint64_t rounded, rest;

            sum += height(in, out, from + i, j + k);
            rounded = sum * ONE / total;
            rest    = sum * ONE - rounded * total;
            rounded += 2 * rest > total || (2 * rest == total && rounded % 2 == 1);
            weight[i * taps + k] = (int16_t)(rounded - before);
            before               = rounded;
        }
    }
}
