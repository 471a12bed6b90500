/* SPDX-License-Identifier: BSD-3-Clause
 * train/advice.h - advice of `thinwire plan --json` as options of a run (--plan).
 */
#ifndef TW_TRAIN_ADVICE_H
#define TW_TRAIN_ADVICE_H

#include <mpi.h>

#include "command/problem.h"
#include "train/options.h"

/** Read the file of --plan on rank 0 and set model, batch, scheme, update and codec of all ranks by
 * it. Collective, with equal options on all ranks.
 * @return the same on all ranks: 0, or -1 with the problem set: no file, no advice in it, a
 *         different number of ranks, or an option given that the advice sets. */
int tw_advice_take(tw_train_options_t *options, MPI_Comm comm, tw_problem_t *problem);

#endif /* TW_TRAIN_ADVICE_H */
