/* SPDX-License-Identifier: BSD-3-Clause
 * train/loop.h - the loop of a training run: epochs, their steps and tests, and its end.
 */
#ifndef TW_TRAIN_LOOP_H
#define TW_TRAIN_LOOP_H

#include "train/training.h"

/** Train until --epochs, --steps or --until. Collective.
 * @return 0, or -1 with the problem set on one rank at least, and printed. */
int tw_training_run(tw_training_t *t, tw_problem_t *problem);

/** Pass the time of a step to the tuner, and print the states that a search has tried when it ends.
 * Otherwise as tw_tuning_step(). */
int tw_training_tune(tw_training_t *t, double seconds, tw_problem_t *problem);

#endif /* TW_TRAIN_LOOP_H */
