/* SPDX-License-Identifier: BSD-3-Clause
 * train/loop_inside.h - the parts of loop.c: a test of the network, and a check of its weights
 * (loop_evaluate.c).
 */
#ifndef TW_TRAIN_LOOP_INSIDE_H
#define TW_TRAIN_LOOP_INSIDE_H

#include "train/loop.h"

/** Hash all weights that every rank has, and check that they are finite and equal on all ranks.
 * Collective; the result is equal on all ranks. */
int tw_training_check_weights(tw_training_t *t, tw_problem_t *problem);

/** Test: sets errors and loss, equal on all ranks. Collective. */
int tw_training_test(tw_training_t *t, tw_evaluation_t *e, tw_problem_t *problem);

/** Test, and record the errors, equal on all ranks. Collective. */
int tw_training_evaluate(tw_training_t *t, tw_problem_t *problem);

#endif /* TW_TRAIN_LOOP_INSIDE_H */
