/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/fault.h - the report of a loss that is not finite.
 */
#ifndef TW_TRAIN_FAULT_H
#define TW_TRAIN_FAULT_H

#include "train/training.h"

/** Report the step, and the first layer whose output is not finite on any rank. Collective; call it
 * before the parameters of the trunk change.
 * @param [in] pass  the trunk's pass of the step.
 * @param [in] rows  of the last pass through the dense layers.
 * @return -1, with the problem set, the same on all ranks. */
int tw_fault_report(tw_training_t *t, const tw_trunk_pass_t *pass, size_t rows,
                    tw_problem_t *problem);

#endif /* TW_TRAIN_FAULT_H */
