/* SPDX-License-Identifier: BSD-3-Clause
 * codec/square_sum_vec4.c - the sum of squares of a vector, by NEON or VSX: sixteen vectors of two
 * lanes.
 */
#include "config.h"

#include "runtime/codec/square_sum.h"
#include "runtime/codec/vec4.h"

#define TW_STEP (sizeof(float) * TW_SQUARE_LANES)

TW_V4_INLINE void tw_v4_squares_add(tw_d2 *sum, const uint8_t *src)
{
    TW_V4_EACH(i, TW_SQUARE_LANES / 4)
    {
        const tw_f4 v     = (tw_f4)tw_b16_load(src + 16 * i);
        const tw_d2 first = tw_first_doubles(v), last = tw_last_doubles(v);

        sum[2 * i] += first * first;
        sum[2 * i + 1] += last * last;
    }
}

double tw_square_sum_vec4(const uint8_t *src, size_t n)
{
    tw_d2   sum[TW_SQUARE_LANES / 2] = {{0.0, 0.0}};
    double  lane[TW_SQUARE_LANES];
    uint8_t rest[TW_STEP] = {0};

    for (; n >= TW_SQUARE_LANES; n -= TW_SQUARE_LANES, src += TW_STEP) {
        tw_v4_squares_add(sum, src);
    }
    if (n > 0) {
        memcpy(rest, src, sizeof(float) * n);
        tw_v4_squares_add(sum, rest);
    }
    memcpy(lane, sum, sizeof(lane));
    return tw_square_tree(lane);
}
