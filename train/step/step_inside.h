/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/step_inside.h - the parts of a step: step.c, step_hooks.c, step_update.c.
 */
#ifndef TW_TRAIN_STEP_INSIDE_H
#define TW_TRAIN_STEP_INSIDE_H

#include "train/step/step.h"

/* State of a step for the callbacks of trunk, head and scheduler. */
typedef struct tw_walk {
    tw_training_t  *t;
    tw_feed_batch_t batch;
    size_t          n; /* of the global batch */
    int             training;
    size_t          behind;   /* examples whose gradients in split layers are not applied yet */
    size_t          passes;   /* passes of these examples                                     */
    size_t          rows;     /* of the last pass through the dense layers                    */
    size_t          tested;   /* examples of passes before it, in a test                      */
    int             backward; /* through the trunk                                              */
    int             stopped; /* an exchange has failed and has set the problem and its fatal flag */
    tw_problem_t   *problem;
} tw_walk_t;

/** Count time as communication, in a row of the profile, until tw_step_communication_ends() (this
 * and the following functions: step_hooks.c). */
void tw_step_communication_begins(tw_training_t *t, tw_profile_row_t row);
void tw_step_communication_ends(tw_training_t *t);

/** begin: a step begins. computed: seconds of computation in the step so far. */
void   tw_step_begin(tw_training_t *t);
double tw_step_computed(const tw_training_t *t);

/** For the recorder, if there is one: record the computation since the last call. */
void tw_step_record(tw_training_t *t, tw_recorded_t what, size_t layer);

/** Set the hooks of the trunk for this walk. */
void tw_step_listen(tw_walk_t *walk);

/** Update layers that every rank has: on every rank, or on the owners, which send them; AWP
 * observes the norms (step_update.c). Collective. @return 0, or -1 with the problem set. */
int tw_step_update_whole(tw_training_t *t, tw_problem_t *problem);

/** Update the tensors that are split over the ranks, after their gradients are multiplied by gscale
 * (step_update.c). */
int tw_step_update_split(tw_training_t *t, double gscale, tw_problem_t *problem);

#endif /* TW_TRAIN_STEP_INSIDE_H */
