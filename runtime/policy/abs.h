/* SPDX-License-Identifier: BSD-3-Clause
 * policy/abs.h - the bits of a grid by which a kind of call keeps an absolute error bound.
 *
 * The step is fixed: the largest power of two of which half, for each value that a result is made
 * of, is within the bound. The bits follow one call behind from the results, which all ranks see
 * alike: as many as the largest of the last calls took, and one more. A result that did not fit is
 * seen as well, so all ranks repeat that call without loss, and learn from it.
 */
#ifndef TW_POLICY_ABS_H
#define TW_POLICY_ABS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TW_ABS_CALLS 16  /* that are remembered                         */
#define TW_ABS_NEVER 255 /* bits of what is not finite, or beyond every grid */

/* What is known of a kind of call; zeros: nothing yet. */
typedef struct tw_abs_level {
    uint64_t calls;              /* that were learned from                                */
    uint8_t  need[TW_ABS_CALLS]; /* bits of the results of the last ones                  */
    int      extra;  /* bits that terms and sums on the way took beyond the result's, ...   */
    uint64_t looked; /* ... after so many calls                                             */
} tw_abs_level_t;

/* K: steps are 2^K, for results of `terms` values each (1: they are only moved). */
int tw_abs_step(double error, int terms);

/* Bits of a code, two's complement without its lowest value, for this magnitude. */
int tw_abs_need(double magnitude, int exponent);

/* The most bits of elements of so many bytes, of which sums of `terms` are exact in any order. */
int tw_abs_limit(size_t element, int terms);

/* Bits for such a need, at least, that a grid can have; 0: more than the limit. */
int tw_abs_round(int need, int limit);

/* Bits for the next call; 0: without loss. */
int tw_abs_bits(const tw_abs_level_t *level, int limit);

/* Are those terms to be looked at again, as they may have become smaller? */
bool tw_abs_stale(const tw_abs_level_t *level);

/* A call is over: its result took `need` bits; TW_ABS_NEVER: forget all. */
void tw_abs_saw(tw_abs_level_t *level, int need);

/* The same, where the largest term is known too, which took `before` bits; failed: the bits that it
 * was tried with and that did not do, 0: none. */
void tw_abs_learn(tw_abs_level_t *level, int need, int before, int failed);

#endif /* TW_POLICY_ABS_H */
