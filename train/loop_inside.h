/* SPDX-License-Identifier: BSD-3-Clause
 * train/loop_inside.h - the parts of loop.c: a test of the network, and of its weights
 * (loop_evaluate.c).
 */
#ifndef TW_TRAIN_LOOP_INSIDE_H
#define TW_TRAIN_LOOP_INSIDE_H

#include "train/loop.h"

/** Hash all weights that every rank has, and see that they are finite and the same on all ranks.
 * Collective, and so is what it says. */
int tw_training_check_weights(tw_training_t *t, tw_problem_t *problem);

/** Test, and note the errors; all ranks note the same. Collective. */
int tw_training_evaluate(tw_training_t *t, tw_problem_t *problem);

#endif /* TW_TRAIN_LOOP_INSIDE_H */
