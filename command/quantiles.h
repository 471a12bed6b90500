/* SPDX-License-Identifier: BSD-3-Clause
 * command/quantiles.h - the distribution of measured numbers in a short table, and numbers drawn
 * from it by inverse transform.
 *
 * The table holds quantiles of the magnitudes of numbers that are not 0, at probabilities whose
 * logits are equally far apart, so that the largest magnitudes, which set a codec's scale, are as
 * finely told apart as the usual ones. Between two of them the logarithm of the magnitude is linear
 * in the logit. Signs are drawn apart from magnitudes: the types of codecs are symmetric.
 */
#ifndef TW_COMMAND_QUANTILES_H
#define TW_COMMAND_QUANTILES_H

#include <stddef.h>

#define TW_QUANTILES       257
#define TW_QUANTILES_LOGIT 16.0 /* of the last probability, 1 - 1.1e-7; of the first -16 */

typedef struct tw_quantiles {
    const char *name;
    size_t      count;                   /* numbers that it was made of                    */
    double      zero;                    /* share of those that are 0                      */
    double      negative;                /* share of the others below 0                    */
    double      magnitude[TW_QUANTILES]; /* rising, above 0; all 0 where all numbers are */
} tw_quantiles_t;

/** The distribution of n finite numbers, 1 or more, which are overwritten. */
void tw_quantiles_make(tw_quantiles_t *table, const char *name, float *x, size_t n);

/** A number for three uniform ones in (0, 1]: whether it is 0, its sign, its magnitude. */
float tw_quantiles_draw(const tw_quantiles_t *table, double zero, double sign, double magnitude);

#endif /* TW_COMMAND_QUANTILES_H */
