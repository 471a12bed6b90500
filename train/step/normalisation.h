/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/normalisation.h - batch statistics over the ranks (S3): local, over all ranks or a
 * group of them, or first local and then global.
 */
#ifndef TW_TRAIN_NORMALISATION_H
#define TW_TRAIN_NORMALISATION_H

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/model/network.h"
#include "train/model/params.h"
#include "train/model/trunk.h"
#include "train/options.h"

typedef struct tw_normalisation {
    size_t           layers;   /* of batch normalisation; if 0, all calls do nothing     */
    size_t          *channels; /* [layers]                                               */
    tw_statistics_t *shared;
    tw_adaptive_t    rule;
    tw_comm_t       *comm;
} tw_normalisation_t;

/** Collective. exec: of the memory of statistics. @return 0, or -1 with the problem set; destroy it
 * in both cases. */
int  tw_normalisation_create(tw_normalisation_t *norm, tw_comm_t *comm, const tw_network_t *network,
                             const tw_trunk_t *trunk, const tw_train_options_t *options,
                             uint64_t batch, const tw_exec_t *exec, tw_trace_t *trace,
                             tw_problem_t *problem);
void tw_normalisation_destroy(tw_normalisation_t *norm);

/** Are statistics shared at present? */
int tw_normalisation_global(const tw_normalisation_t *norm);

/** Does the training accuracy decide whether statistics are shared? */
int tw_normalisation_observes(const tw_normalisation_t *norm);

/** The communicator of a group of ranks that share statistics, for its counters; NULL if they use
 * that of all ranks, or are not exchanged. */
const tw_comm_t *tw_normalisation_group(const tw_normalisation_t *norm);

/** Merge moments and sums of some layers, as tw_statistics_moments() and tw_statistics_sums(); do
 * nothing if statistics are local. @return 0, or -1 with the problem set. */
int tw_normalisation_moments(tw_normalisation_t *norm, double *const *moments,
                             const size_t *channels, size_t layers, tw_problem_t *problem);
int tw_normalisation_sums(tw_normalisation_t *norm, double *const *sums, const size_t *channels,
                          size_t layers, tw_problem_t *problem);

/** Merge the running statistics, so that they are equal on all ranks. Collective. Same returns. */
int tw_normalisation_settle(tw_normalisation_t *norm, tw_params_t *params, tw_problem_t *problem);

/** Pass the training accuracy of an epoch, equal on all ranks.
 * @return 1 if statistics become global now. */
int tw_normalisation_observe(tw_normalisation_t *norm, double accuracy);

#endif /* TW_TRAIN_NORMALISATION_H */
