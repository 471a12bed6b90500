/* SPDX-License-Identifier: BSD-3-Clause
 * train/loop.h - the loop of a training run: epochs, their steps and tests, and when it ends.
 */
#ifndef TW_TRAIN_LOOP_H
#define TW_TRAIN_LOOP_H

#include "train/training.h"

/** Train until --epochs, --steps or --until. Collective.
 * @return 0, or -1 with the problem set on one rank at least, and printed. */
int tw_training_run(tw_training_t *t, tw_problem_t *problem);

#endif /* TW_TRAIN_LOOP_H */
