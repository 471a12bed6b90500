/* SPDX-License-Identifier: BSD-3-Clause
 * train/rates.c - see rates.h.
 */
#include "config.h"

#include <string.h>

#include "train/rates.h"

static int scale(const tw_train_options_t *options, double k, double *rate_p, double *decay_p,
                 tw_problem_t *problem)
{
    const int linear = strcmp(options->lr_scale, "linear") == 0;
    const int exact  = strcmp(options->lr_scale, "sqrt") == 0;

    if (strcmp(options->lr_scale, "none") == 0) {
        return 0;
    }
    if (tw_rate_scale(linear ? TW_RATE_LINEAR : TW_RATE_SQRT, k, exact, rate_p, decay_p) != TW_OK) {
        return tw_problem_set(
            problem,
            "--lr-scale %s: a rate of %g and a decay of %g cannot be scaled for a "
            "batch %g times as large",
            options->lr_scale, *rate_p, *decay_p, k);
    }
    return 0;
}

int tw_rates_create(tw_rates_t *rates, const tw_network_t *network,
                    const tw_train_options_t *options, double batch, double split_batch,
                    tw_problem_t *problem)
{
    const char *text = options->schedule != NULL ? options->schedule : network->schedule;
    char        why[300];

    *rates = (tw_rates_t){
        .base      = options->rate >= 0.0 ? options->rate : network->rate,
        .decay     = options->decay >= 0.0 ? options->decay : network->decay,
        .momentum  = options->momentum >= 0.0 ? options->momentum : network->momentum,
        .rms_decay = network->rms_decay,
        .max_norm  = network->max_norm,
        .rmsprop   = network->optimizer == TW_RMSPROP,
    };
    if (tw_schedule_parse(text, &rates->schedule, why, sizeof(why)) != TW_OK) {
        return tw_problem_set(problem, "%s: %s",
                              options->schedule != NULL ? "--lr-schedule" : network->source, why);
    }
    rates->split_base  = rates->base;
    rates->split_decay = rates->decay;
    if (scale(options, batch / (double)network->batch, &rates->base, &rates->decay, problem) != 0) {
        return -1;
    }
    return scale(options, split_batch / (double)network->batch, &rates->split_base,
                 &rates->split_decay, problem);
}
