/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint.h - the state of a run in a file, whole or not at all.
 *
 * Layout, little-endian words of 64 bits unless said otherwise:
 *     magic "twtrain6", order mark 0x0102030405060708 (as the machine writes it),
 *     header: see checkpoint_inside.h; names are NUL-padded
 *     records of the epochs done, and one of the epoch under way
 *     evaluations: see evaluations.h
 *     per tensor, layer by layer, whole: values, then momentum (float32, as the machine writes
 *     them) running statistics of batch normalisation (float32)
 *     with AWP, of each group of weights 35 doubles: tw_precision_save(), 31 steps at which bits
 *     rose residuals: tw_buckets_save() or tw_weights_save(), for codecs with error feedback
 *     check sum of all that stands before
 * Nothing in it depends on how the ranks share the work, on who updates, or on what computes, but
 * for the residuals, which any number of ranks can take up.
 */
#ifndef TW_TRAIN_CHECKPOINT_H
#define TW_TRAIN_CHECKPOINT_H

#include "command/problem.h"
#include "train/training.h"

/** A hash of all weights, equal for equal weights however they are split, in t->hash. Collective.
 * @return 0, or -1 with the problem set, maybe not on every rank. */
int tw_training_hash(tw_training_t *t, tw_problem_t *problem);

/** Write the state after t->step steps to a temporary file, then rename it. Collective.
 * @return 0, or -1 with the problem set, maybe not on every rank. */
int tw_checkpoint_save(tw_training_t *t, const char *path, tw_problem_t *problem);

/** Read it back: fills params, residuals, records, evaluations, epochs, step, seconds. Collective.
 * Same returns. */
int tw_checkpoint_load(tw_training_t *t, const char *path, tw_problem_t *problem);

#endif /* TW_TRAIN_CHECKPOINT_H */
