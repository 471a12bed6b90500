/* SPDX-License-Identifier: BSD-3-Clause
 * train/calibration.h - T of AWP from a monitoring run (S0, section V-A): the mean change rate of
 * the norms of weights, over all layers and steps, until the test error drops for the first time.
 *
 * Groups, norms and rates are those of AWP with group=layer and norm=master (thinwire/precision.h):
 * the first norm of a group has no rate. A rate from a norm of 0 that grows is infinite; the mean
 * excludes it.
 */
#ifndef TW_TRAIN_CALIBRATION_H
#define TW_TRAIN_CALIBRATION_H

#include <stddef.h>
#include <stdint.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/codecs.h"
#include "train/report/evaluations.h"
#include "train/step/masters.h"
#include "train/model/params.h"

typedef struct tw_calibration tw_calibration_t;

typedef struct tw_calibration_config {
    tw_context_t      *ctx;
    tw_comm_t         *comm;
    const tw_codecs_t *codecs;
    const tw_params_t *params;
    tw_masters_t      *masters; /* NULL: every rank has all */
    tw_exec_t          exec;
} tw_calibration_config_t;

/** Weights with owners must be sent in fp32. config is copied; the objects it points to must
 * outlive the calibration.
 * @return 0, or -1 with the problem set. */
int tw_calibration_create(tw_calibration_t **calibration_p, const tw_calibration_config_t *config,
                          tw_problem_t *problem);

/** NULL is allowed. */
void tw_calibration_destroy(tw_calibration_t *calibration);

/** Observe the weights after one more step. Collective; with owners, while no weights are in
 * flight.
 * @return 0, or -1 with the problem set. */
int tw_calibration_observe(tw_calibration_t *calibration, tw_problem_t *problem);

/** The test that ends the monitoring: the first with fewer errors than the previous one, or
 * NULL. */
const tw_evaluation_t *tw_calibration_drop(const tw_evaluations_t *evaluations);

typedef struct tw_calibration_facts {
    double   threshold; /* T: the mean of all rates                 */
    uint64_t rates;     /* number of rates; 0: there is no T        */
    uint64_t steps;     /* steps with rates: all but the first      */
    size_t   groups;
} tw_calibration_facts_t;

void tw_calibration_facts(const tw_calibration_t *calibration, tw_calibration_facts_t *facts);

#endif /* TW_TRAIN_CALIBRATION_H */
