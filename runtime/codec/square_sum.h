/* SPDX-License-Identifier: BSD-3-Clause
 * codec/square_sum.h - the order in which tw_square_sum() (kernels.h) adds, for the loops of all
 * instruction sets.
 *
 * Value i is squared in double, where the square of a float32 is exact, and added to lane i mod 32;
 * so a fused multiply-add gives the same bits as two instructions, and zeros behind an incomplete
 * end change nothing. The lanes are then added in a tree: for h = 16, 8, 4, 2, 1, lane[j] += lane[j
 * + h] for all j < h. A sum is never negative, so of Inf there is one kind only; every NaN becomes
 * the same one.
 */
#ifndef TW_CODEC_SQUARE_SUM_H
#define TW_CODEC_SQUARE_SUM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define TW_SQUARE_LANES 32

/* The tree; lanes are overwritten. */
static inline double tw_square_tree(double *lane)
{
    for (size_t h = TW_SQUARE_LANES / 2; h > 0; h /= 2) {
        for (size_t j = 0; j < h; j++) {
            lane[j] += lane[j + h];
        }
    }
    return isnan(lane[0]) ? (double)NAN : lane[0];
}

double tw_square_sum_scalar(const uint8_t *src, size_t n);

#endif /* TW_CODEC_SQUARE_SUM_H */
