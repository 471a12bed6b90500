/* SPDX-License-Identifier: BSD-3-Clause
 * train/rates.h - learning rate, momentum and decay of a run: from the model and the command line.
 */
#ifndef TW_TRAIN_RATES_H
#define TW_TRAIN_RATES_H

#include "command/problem.h"
#include "train/model/network.h"
#include "train/options.h"
#include "train/model/schedule.h"

/* The trunk is updated by whole batches, split dense layers by the passes of an update period (S4,
 * section 4.2), so a scaling rule for the batch size gives them different rates. */
typedef struct tw_rates {
    tw_schedule_t schedule, dropout; /* of the learning rate; of the rates of all dropouts */
    double        base, decay;       /* of layers that every rank has */
    double        split_base, split_decay;
    double        momentum, rms_decay, max_norm;
    int           rmsprop;
} tw_rates_t;

/** Scale a learning rate (eps) and a weight decay (omega) for a batch k times as large, k > 0, not
 * only integers (S4, section 5):
 *     "none"              no scaling
 *     "linear"            eps' = k eps, omega' = omega: S4's practice
 *     "sqrt"              eps' = sqrt(k) eps: preserves the variance of the update's expectation,
 *                         and exactly the decay over k small steps:
 *                         omega' = (1 - (1 - eps omega)^k) / eps'
 *     "sqrt-approximate"  for small eps omega: omega' = sqrt(k) omega
 * Requires eps > 0, omega >= 0, and eps omega < 1.
 * @return 0, or -1 with the problem set and nothing changed. */
int tw_rate_scale(const char *rule, double k, double *rate_p, double *decay_p,
                  tw_problem_t *problem);

/** @param batch, split_batch  examples per update of the two kinds of layers.
 * @return 0, or -1 with the problem set. */
int tw_rates_create(tw_rates_t *rates, const tw_network_t *network,
                    const tw_train_options_t *options, double batch, double split_batch,
                    tw_problem_t *problem);

#endif /* TW_TRAIN_RATES_H */
