/* SPDX-License-Identifier: BSD-3-Clause
 * train/step.h - one step: forward, loss, backward, sums over the ranks, update; and a test.
 */
#ifndef TW_TRAIN_STEP_H
#define TW_TRAIN_STEP_H

#include "train/share.h"
#include "train/training.h"

/** Train on the batch of step t->step. Adds loss and errors of the whole batch to the record.
 * Collective. @return 0, or -1 with the problem set. */
int tw_step_train(tw_training_t *t, tw_training_record_t *record, tw_problem_t *problem);

/** Whether training counts errors. With split layers and the logistic loss that takes a message, so
 * it is done only where something depends on it. */
int tw_step_counts_errors(const tw_training_t *t);

/** Add this rank's share of the wrong ones among the batch of test images from begin on, of all
 * ranks. Collective. Same returns. */
int tw_step_test(tw_training_t *t, size_t begin, tw_head_wrong_t *wrong, tw_problem_t *problem);

/** Make the memory for steps of at most t->batch images, of which at most `rows` go through the
 * dense layers at a time. @return 0, or -1 with the problem set. */
int tw_step_prepare(tw_training_t *t, size_t rows, tw_problem_t *problem);

/** The gradients of a layer that every rank has are there; user is the tw_training_t. */
void tw_step_ready(void *user, size_t layer);
int  tw_step_before(void *user, size_t layer);

/** Advance what travels, without waiting; user is the tw_training_t. For the head, between its
 * computations. */
void tw_step_advance(void *user);

/** Work on a layer has been done: for the recorder, where there is one; user is the
 * tw_training_t. */
void tw_step_worked(void *user, size_t layer, int backward);

/** Count the time until the next call as communication (begins = 1), or no longer. For the head,
 * around its exchanges. */
void tw_step_exchange(void *user, int begins);

#endif /* TW_TRAIN_STEP_H */
