/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/evaluations.h - the tests of a run's model, in the order of their steps.
 */
#ifndef TW_TRAIN_EVALUATIONS_H
#define TW_TRAIN_EVALUATIONS_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"

/* One test; equal on all ranks. Also the layout in checkpoints. */
typedef struct tw_evaluation {
    uint64_t step;                        /* total steps before the test                 */
    double   seconds;                     /* of training before it, of the slowest rank  */
    double   test_error, test_error_top5; /* fractions                                   */
    double   train_loss;                  /* mean over the epoch so far, with dropout    */
    double   test_loss;                   /* mean over the test images                   */
    uint64_t epoch;                       /* of that step, from 1                        */
} tw_evaluation_t;

typedef struct tw_evaluations {
    tw_evaluation_t *list;
    size_t           count, room;
} tw_evaluations_t;

/** Reserve memory for `count` tests in total. @return 0, or -1 with the problem set. */
int tw_evaluations_reserve(tw_evaluations_t *e, size_t count, tw_problem_t *problem);

/** @return 0, or -1 with the problem set. */
int tw_evaluations_add(tw_evaluations_t *e, const tw_evaluation_t *one, tw_problem_t *problem);

/** The last test, if it was after `step`; else NULL. */
const tw_evaluation_t *tw_evaluations_at(const tw_evaluations_t *e, uint64_t step);

/** The first test whose error (five: top-5 error) is at most `error`, or NULL. */
const tw_evaluation_t *tw_evaluations_first(const tw_evaluations_t *e, double error, int five);

/** Are the values plausible for a run of `step` steps and `seconds` seconds? Validates data from a
 * file. */
int tw_evaluations_possible(const tw_evaluations_t *e, uint64_t step, double seconds);

void tw_evaluations_destroy(tw_evaluations_t *e);

#endif /* TW_TRAIN_EVALUATIONS_H */
