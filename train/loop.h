/* SPDX-License-Identifier: BSD-3-Clause
 * train/loop.h - the loop of a training run: epochs, their steps and tests, and when it ends.
 */
#ifndef TW_TRAIN_LOOP_H
#define TW_TRAIN_LOOP_H

#include "train/training.h"

/** Train until --epochs, --steps or --until. Collective.
 * @return 0, or -1 with the problem set on one rank at least, and printed. */
int tw_training_run(tw_training_t *t, tw_problem_t *problem);

/** The order of n images in an epoch. */
void tw_order_draw(uint32_t *order, size_t n, uint64_t seed, uint64_t epoch);

#endif /* TW_TRAIN_LOOP_H */
