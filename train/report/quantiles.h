/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/quantiles.h - the distributions of what ranks would send (--quantiles).
 */
#ifndef TW_TRAIN_REPORT_QUANTILES_H
#define TW_TRAIN_REPORT_QUANTILES_H

#include "train/training.h"

/** After the last step, on one rank: write the distributions of all gradients and of the outputs of
 * the dense layers but the last, as initialisers of tw_quantiles_t (command/quantiles.h), at
 * --quantiles. @return 0, or -1 with the problem set. */
int tw_report_quantiles(const tw_training_t *t, tw_problem_t *problem);

#endif /* TW_TRAIN_REPORT_QUANTILES_H */
