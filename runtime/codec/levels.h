/* SPDX-License-Identifier: BSD-3-Clause
 * codec/levels.h - a sorted table of at most 128 magnitudes, and the nearest of them to a number.
 *
 * The rank of |y| is the number of thresholds at or below it; threshold j is the smallest float32
 * nearer to level j than to level j - 1, so a tie goes to the smaller magnitude. The search is one
 * look-up: the 6 leading mantissa bits and the exponent select a bin that holds at most one
 * threshold; bins[] packs the rank at the bin's start and the distance to that threshold, so that
 * the comparison is the carry of an addition into bit 17.
 */
#ifndef TW_CODEC_LEVELS_H
#define TW_CODEC_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#define TW_LEVELS_MAX  128
#define TW_LEVELS_BIN  17        /* low bits of a float that a bin does not tell apart */
#define TW_LEVELS_BINS (32 * 64) /* 32 octaves of 64                                   */

typedef struct tw_levels {
    float    value[256]; /* what each code decodes to                          */
    uint32_t bins[TW_LEVELS_BINS];
    uint32_t low, high;                /* bits of |y| are clamped to these                   */
    uint32_t threshold[TW_LEVELS_MAX]; /* float bits; rank >= j from threshold[j] on, j >= 1 */
    uint8_t  code[TW_LEVELS_MAX];      /* of each rank                                       */
    int      count;
} tw_levels_t;

/* number * 10^-decimals, rounded once to float32, ties to even; computed in integers.
 * 0 < number < 2^30, 0 <= decimals <= 14, and the result is a normal float32. */
float tw_levels_decimal(uint32_t number, int decimals);

/* Fill a table from count sorted magnitudes, the first one 0, and the code of each rank (NULL: the
 * rank itself). Codes that no rank has, and the signs, are the caller's: value[] is set for the
 * given codes, and for them with bit 7 set to the negative.
 * false if two thresholds share a bin or the levels span more than 31 octaves. */
bool tw_levels_build(tw_levels_t *levels, const float *magnitude, const uint8_t *code, int count);

/* bits = those of |y|, y not NaN. */
static inline uint32_t tw_levels_rank(const tw_levels_t *levels, uint32_t bits)
{
    bits = bits < levels->low ? levels->low : bits;
    bits = bits > levels->high ? levels->high : bits;
    return (bits + levels->bins[(bits - levels->low) >> TW_LEVELS_BIN]) >> TW_LEVELS_BIN;
}

#endif /* TW_CODEC_LEVELS_H */
