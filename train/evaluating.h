/* SPDX-License-Identifier: BSD-3-Clause
 * train/evaluating.h - a test of given weights, without training (--evaluate-only).
 */
#ifndef TW_TRAIN_EVALUATING_H
#define TW_TRAIN_EVALUATING_H

#include "train/training.h"

/** Test the weights that the run would go on from; print the errors and the loss, and write them to
 * --json. Collective. @return 0, or -1 with the problem set on one rank at least, and printed. */
int tw_evaluating_run(tw_training_t *t, int argc, char **argv, tw_problem_t *problem);

#endif /* TW_TRAIN_EVALUATING_H */
