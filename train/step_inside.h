/* SPDX-License-Identifier: BSD-3-Clause
 * train/step_inside.h - the parts of a step: step.c, step_hooks.c, step_update.c.
 */
#ifndef TW_TRAIN_STEP_INSIDE_H
#define TW_TRAIN_STEP_INSIDE_H

#include "train/step.h"

/* A step on its way: what the callbacks of trunk, head and scheduler need to know. */
typedef struct tw_walk {
    tw_training_t  *t;
    tw_feed_batch_t batch;
    size_t          n; /* of the global batch */
    int             training;
    size_t          behind;   /* examples whose gradients the split layers hold, not yet used */
    size_t          passes;   /* that they are from                                           */
    size_t          rows;     /* of the last pass through the dense layers                    */
    size_t          tested;   /* examples of passes before it, in a test                      */
    int             backward; /* through the trunk                                              */
    int             stopped;  /* an exchange has failed, and says what that means for the others */
    tw_problem_t   *problem;
} tw_walk_t;

/** From here to tw_step_communication_ends() the time is communication, in this row of the profile
 * (this and what follows: step_hooks.c). */
void tw_step_communication_begins(tw_training_t *t, tw_profile_row_t row);
void tw_step_communication_ends(tw_training_t *t);

/** A step begins; seconds of computation in it so far. */
void   tw_step_begin(tw_training_t *t);
double tw_step_computed(const tw_training_t *t);

/** For the recorder, where there is one: what was computed since the last such call. */
void tw_step_record(tw_training_t *t, tw_recorded_t what, size_t layer);

/** The trunk calls hooks of this walk from now on. */
void tw_step_listen(tw_walk_t *walk);

/** Update what every rank has: on every rank, or by the owners, who send it; AWP observes the norms
 * (step_update.c). Collective. @return 0, or -1 with the problem set. */
int tw_step_update_whole(tw_training_t *t, tw_problem_t *problem);

/** Update the tensors that are split over the ranks; their gradients are times gscale first
 * (step_update.c). */
int tw_step_update_split(tw_training_t *t, double gscale, tw_problem_t *problem);

#endif /* TW_TRAIN_STEP_INSIDE_H */
