/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint.h - the state of a run in a file, whole or not at all.
 *
 * Layout, little-endian words of 64 bits unless said otherwise:
 *     magic "twtrain1", order mark 0x0102030405060708 (as the machine writes it),
 *     header: see checkpoint.c; names are NUL-padded
 *     records of the epochs done
 *     per layer: weights, mean squares (float32, as the machine writes them); biases, mean squares
 *     residuals: tw_feedback_save() per layer, for codecs with error feedback
 *     check sum of all that stands before
 */
#ifndef TW_TRAIN_CHECKPOINT_H
#define TW_TRAIN_CHECKPOINT_H

#include "train/problem.h"
#include "train/training.h"

/** Write the state after t->epochs epochs to a temporary file, then rename it. Collective.
 * @return 0, or -1 with the problem set, maybe not on every rank. */
int tw_checkpoint_save(tw_training_t *t, const char *path, tw_problem_t *problem);

/** Read it back: fills net, residuals, records, epochs. Collective. Same returns. */
int tw_checkpoint_load(tw_training_t *t, const char *path, tw_problem_t *problem);

#endif /* TW_TRAIN_CHECKPOINT_H */
