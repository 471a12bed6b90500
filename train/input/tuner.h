/* SPDX-License-Identifier: BSD-3-Clause
 * input/tuner.h - which number of threads and which transfer index make a step shortest: S2's
 * search (slides 17, 18), measured while training.
 *
 * A pure decision procedure: it is told how long steps took and says which state is next. It knows
 * no clock, no threads and no ranks, so simulated costs test it. Rank 0 runs it and tells the
 * others.
 */
#ifndef TW_INPUT_TUNER_H
#define TW_INPUT_TUNER_H

#include <stddef.h>
#include <stdint.h>

/* threads 1 .. threads_most; transfer index 0 (all operations on the device) .. operations (all by
 * the loader's threads). */
typedef struct tw_tuner_state {
    int threads, index;
} tw_tuner_state_t;

typedef struct tw_tuner_config {
    int    threads_most; /* at least 1                                                            */
    int    operations;   /* transfer indices are 0 .. operations; at least 0                      */
    size_t samples;      /* of each state, at least 1: S2's N = ceil(128 / batch per rank)        */
    size_t settle;       /* steps after a change of state that are not counted                    */
    int    prune;        /* leave out states that cannot win, see tuner.c; 0: measure all         */
    double drift;        /* once settled, a median this share away from the tuned one starts a new
                            search, 0.1; 0: never                                                 */
} tw_tuner_config_t;

/* One state that was measured. */
typedef struct tw_tuner_row {
    tw_tuner_state_t state;
    double           median; /* seconds of a step; negative: it was left out, or not yet measured */
    size_t           samples;
} tw_tuner_row_t;

typedef struct tw_tuner tw_tuner_t;

#define TW_TUNER_MOST ((size_t)1 << 20) /* states, and samples of each */

/** @return NULL without memory, or for numbers that are out of range. */
tw_tuner_t *tw_tuner_create(const tw_tuner_config_t *config);
void        tw_tuner_destroy(tw_tuner_t *tuner); /* NULL is allowed */

/** Add to the numbers of every state, each at least 0: where one number is given, and there is one
 * state for it alone. Once, before anything else. */
void tw_tuner_shift(tw_tuner_t *tuner, tw_tuner_state_t by);

/** The state for the next step. */
tw_tuner_state_t tw_tuner_next(const tw_tuner_t *tuner);

/** How long the step took that ran in tw_tuner_next(). */
void tw_tuner_observe(tw_tuner_t *tuner, double seconds);

/** Whether it has decided; tw_tuner_next() is the best state then. A drift makes it search
 * again. */
int tw_tuner_settled(const tw_tuner_t *tuner);

/** How many searches it has begun: 1, and one for each drift. */
size_t tw_tuner_searches(const tw_tuner_t *tuner);

/** Begin with a state found earlier: settled, until steps drift away from its seconds; if those are
 * not positive, from the first that are observed.
 * @return 0, or -1: no such state. */
int tw_tuner_adopt(tw_tuner_t *tuner, tw_tuner_state_t state, double seconds);

/** The states of the last search, by threads and then by index, and how many: threads_most *
 * (operations + 1). Until the next search begins. */
const tw_tuner_row_t *tw_tuner_rows(const tw_tuner_t *tuner, size_t *count_p);

#endif /* TW_INPUT_TUNER_H */
