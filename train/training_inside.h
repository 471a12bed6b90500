/* SPDX-License-Identifier: BSD-3-Clause
 * train/training_inside.h - the parts of training.c.
 */
#ifndef TW_TRAIN_TRAINING_INSIDE_H
#define TW_TRAIN_TRAINING_INSIDE_H

#include "train/training.h"

/** settle: set options from the model, and test-open the files that rank 0 will write. open: the
 * data, collective where rank 0 sends them. make: codecs and memory for records. set_outputs: what
 * the trunk does with outputs of layers until they are needed backward (training_local.c).
 * @return 0, or -1 with the problem set. */
int tw_training_settle_local(tw_training_t *t, tw_problem_t *problem);
int tw_training_open_data(tw_training_t *t, tw_problem_t *problem);
int tw_training_make_local(tw_training_t *t, tw_problem_t *problem);
int tw_training_set_outputs(tw_training_t *t, tw_problem_t *problem);

#endif /* TW_TRAIN_TRAINING_INSIDE_H */
