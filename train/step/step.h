/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/step.h - one step: forward, loss, backward, sums over the ranks, update; and a test.
 */
#ifndef TW_TRAIN_STEP_H
#define TW_TRAIN_STEP_H

#include "train/base/share.h"
#include "train/training.h"

/** Train on the batch of step t->step. Adds loss and errors of the whole batch to the record.
 * Collective. @return 0, or -1 with the problem set. */
int tw_step_train(tw_training_t *t, tw_training_record_t *record, tw_problem_t *problem);

/** Does training count errors? With split layers and the logistic loss the count takes a message,
 * so it is made only if something depends on it. */
int tw_step_counts_errors(const tw_training_t *t);

/** Test the global batch of test images from `begin` on, and add this rank's share of the loss and
 * of the errors. Collective. Same returns. */
int tw_step_test(tw_training_t *t, size_t begin, double *loss, tw_head_wrong_t *wrong,
                 tw_problem_t *problem);

/** Allocate memory for steps of at most t->batch images, of which at most `rows` pass the dense
 * layers at a time. @return 0, or -1 with the problem set. */
int tw_step_prepare(tw_training_t *t, size_t rows, tw_problem_t *problem);

/** ready: the gradients of a layer that every rank has are complete. before: wait for the weights
 * of a layer. user is the tw_training_t. */
void tw_step_ready(void *user, size_t layer);
int  tw_step_before(void *user, size_t layer);

/** Advance the exchanges without blocking; user is the tw_training_t. For the head, between its
 * computations. */
void tw_step_advance(void *user);

/** Work on a layer is complete: for the recorder, if there is one; user is the tw_training_t. */
void tw_step_worked(void *user, size_t layer, int backward);

/** Begin (begins = 1) or end to count time as communication. For the head, around its
 * exchanges. */
void tw_step_exchange(void *user, int begins);

#endif /* TW_TRAIN_STEP_H */
