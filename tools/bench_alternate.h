/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_alternate.h - contenders that take turns, so that a slow moment of the machine hits
 * all of them, and what their times say.
 */
#ifndef TOOLS_BENCH_ALTERNATE_H
#define TOOLS_BENCH_ALTERNATE_H

#include <stddef.h>

#include <thinwire/status.h>

#include "tools/measure.h"

#define ALTERNATE_MOST  24
#define ALTERNATE_TRUST 0.3 /* a ratio that spreads more than this is not to be trusted */

typedef struct contender {
    tw_status_t (*run)(const void *what);
    const void *what;
} contender_t;

typedef struct alternation {
    size_t count; /* contenders               */
    int    turns;
    double seconds[ALTERNATE_MOST][MEASURE_REPEATS]; /* of one run, by turn      */
} alternation_t;

/* Let all run in order, turn after turn, for about `budget` seconds, but at least 7 turns and at
 * most 101. In a turn a short contender runs once untimed, so that the caches hold what they hold
 * in a loop of it, and then as often as the clock needs. Stops at the first status that is not
 * TW_OK. */
tw_status_t alternate(const contender_t *contenders, size_t count, double budget,
                      alternation_t *result);

/* Median of the seconds. */
double alternate_seconds(const alternation_t *a, size_t which);

/* How many times faster `which` is than `reference`: the median over the turns, and its spread, the
 * distance from the 10th to the 90th percentile divided by the median. */
typedef struct ratio {
    double median, spread;
} ratio_t;

ratio_t alternate_ratio(const alternation_t *a, size_t which, size_t reference);

#endif /* TOOLS_BENCH_ALTERNATE_H */
