/* SPDX-License-Identifier: BSD-3-Clause
 * train/step_inside.h - the parts of step.c.
 */
#ifndef TW_TRAIN_STEP_INSIDE_H
#define TW_TRAIN_STEP_INSIDE_H

#include "train/step.h"

/** From here to tw_step_communication_ends() the time is communication, in this row of the profile (step.c). */
void tw_step_communication_begins(tw_training_t *t, tw_profile_row_t row);
void tw_step_communication_ends(tw_training_t *t);

/** Update what every rank has: on every rank, or by the owners, who send it; AWP observes the norms
 * (step_update.c). Collective. @return 0, or -1 with the problem set. */
int tw_step_update_whole(tw_training_t *t, tw_problem_t *problem);

/** Update the tensors that are split over the ranks; their gradients are times gscale first
 * (step_update.c). */
int tw_step_update_split(tw_training_t *t, double gscale, tw_problem_t *problem);

#endif /* TW_TRAIN_STEP_INSIDE_H */
