/* SPDX-License-Identifier: BSD-3-Clause
 * input/tuner.h - search for the number of threads and the transfer index with the shortest steps:
 * S2's search (slides 17, 18), measured while training.
 *
 * A pure decision procedure: its input are times of steps, its output is the next state. It uses no
 * clock, threads or ranks, so simulated costs can test it. Rank 0 runs it and broadcasts the state.
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
    int    prune;        /* skip states that cannot be the best, see tuner.c; 0: measure all      */
    double drift;        /* once settled, a median that differs by this fraction from the tuned one
                            starts a new search, 0.1; 0: never                                    */
} tw_tuner_config_t;

/* One state of a search. */
typedef struct tw_tuner_row {
    tw_tuner_state_t state;
    double           median; /* seconds of a step; negative: skipped, or not measured yet         */
    size_t           samples;
} tw_tuner_row_t;

typedef struct tw_tuner tw_tuner_t;

#define TW_TUNER_MOST ((size_t)1 << 20) /* states, and samples of each */

/** @return NULL without memory, or for numbers that are out of range. */
tw_tuner_t *tw_tuner_create(const tw_tuner_config_t *config);
void        tw_tuner_destroy(tw_tuner_t *tuner); /* NULL is allowed */

/** Add `by`, with numbers of at least 0, to every state: for a fixed number, which has only one
 * state in the search. Call it once, before all other functions. */
void tw_tuner_shift(tw_tuner_t *tuner, tw_tuner_state_t by);

/** The state for the next step. */
tw_tuner_state_t tw_tuner_next(const tw_tuner_t *tuner);

/** Report the time of the step that ran in state tw_tuner_next(). */
void tw_tuner_observe(tw_tuner_t *tuner, double seconds);

/** Has the search ended? tw_tuner_next() is then the best state. A drift starts a new search. */
int tw_tuner_settled(const tw_tuner_t *tuner);

/** Number of searches: 1, and one for each drift. */
size_t tw_tuner_searches(const tw_tuner_t *tuner);

/** Start with an earlier result: settled, until steps drift from its seconds, or, if those are not
 * positive, from the first observed ones.
 * @return 0, or -1: no such state. */
int tw_tuner_adopt(tw_tuner_t *tuner, tw_tuner_state_t state, double seconds);

/** The states of the last search, by threads and then by index, and their number: threads_most *
 * (operations + 1). Valid until the next search begins. */
const tw_tuner_row_t *tw_tuner_rows(const tw_tuner_t *tuner, size_t *count_p);

#endif /* TW_INPUT_TUNER_H */
