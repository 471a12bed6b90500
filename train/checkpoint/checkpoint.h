/* SPDX-License-Identifier: BSD-3-Clause
 * train/checkpoint/checkpoint.h - the state of a run in a file, written atomically.
 *
 * Layout, words of 64 bits unless stated otherwise, all in the machine's byte order:
 *     magic "twtrain8", order mark 0x0102030405060708
 *     header: see checkpoint_inside.h; names are NUL-padded
 *     records of the completed epochs, and of the current one
 *     evaluations: see evaluations.h
 *     per whole tensor, in layer order: values, then momentum (float32)
 *     running statistics of batch normalisation (float32)
 *     with AWP, 35 doubles per group of weights: tw_precision_save(), 31 steps at which bits rose
 *     residuals: tw_buckets_save() or tw_weights_save(), for codecs with error feedback
 *     with --scheme X:split=N, the number of parts of split layers that groups of ranks sum, 0 if
 *     there is one group, and of each part the bytes of its residuals, and these
 *     checksum of all preceding bytes
 * Only the residuals depend on the division of work, on the ranks that update, and on the devices;
 * any number of ranks can restore them.
 */
#ifndef TW_TRAIN_CHECKPOINT_H
#define TW_TRAIN_CHECKPOINT_H

#include "command/problem.h"
#include "train/training.h"

/** Set t->hash to a hash of all weights, independent of their division. Collective.
 * @return 0, or -1 with the problem set, maybe not on every rank. */
int tw_training_hash(tw_training_t *t, tw_problem_t *problem);

/** Write the state after t->step steps to a temporary file and rename it. Collective.
 * @return 0, or -1 with the problem set, maybe not on every rank. */
int tw_checkpoint_save(tw_training_t *t, const char *path, tw_problem_t *problem);

/** Restore it: params, residuals, records, evaluations, epochs, step, shift, seconds. Where the
 * run differs, as its options allow: residuals of another codec or of other gradients, the
 * precision of another codec of weights and the state of other batch statistics are not restored,
 * but begin anew; with another batch the epoch goes on at the batch that holds its next example,
 * and with other data from its beginning. Collective. Same returns. */
int tw_checkpoint_load(tw_training_t *t, const char *path, tw_problem_t *problem);

#endif /* TW_TRAIN_CHECKPOINT_H */
