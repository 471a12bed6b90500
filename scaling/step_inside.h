/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/step_inside.h - what the files of step.h share.
 */
#ifndef SCALING_STEP_INSIDE_H
#define SCALING_STEP_INSIDE_H

#include "scaling/step.h"

/* An exchange on its way. */
typedef struct trip {
    double   seconds, codec, bytes; /* of one */
    double   links;                 /* seconds until the links are free for the next */
    double   first;                 /* bytes of the first rank, bytes of the others' busiest */
    double   busy;                  /* seconds of the core: codec, and moving its bytes */
    double   begin, end;
    int      started;
    uint64_t mark; /* by a look at a loop: it was there */
} trip_t;

/** Predict an exchange: all but begin, end, started and mark of *trip.
 * @return 0, or -1 with the problem set. */
int step_trip(const exchange_t *x, const step_case_t *how, trip_t *trip, tw_problem_t *problem);

#endif /* SCALING_STEP_INSIDE_H */
