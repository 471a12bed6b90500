/* SPDX-License-Identifier: BSD-3-Clause
 * train/rates.c - see rates.h.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "train/rates.h"

/* Weight decay that takes as much in one step of rate `after` as k steps of rate `before` did, one
 * after another: 1 - after x = (1 - before decay)^k. Without cancellation for the small numbers
 * that are usual. */
static double decay_exact(double k, double before, double decay, double after)
{
    return -expm1(k * log1p(-before * decay)) / after;
}

int tw_rate_scale(const char *rule, double k, double *rate_p, double *decay_p,
                  tw_problem_t *problem)
{
    const int    linear = strcmp(rule, "linear") == 0;
    const double before = *rate_p, decay = *decay_p, by = linear ? k : sqrt(k);
    const double rate = by * before;
    double       scaled;

    if (strcmp(rule, "none") == 0) {
        return 0;
    }
    scaled = linear                      ? decay
             : strcmp(rule, "sqrt") == 0 ? decay_exact(k, before, decay, rate)
                                         : by * decay;
    if (!isfinite(k) || k <= 0.0 || !isfinite(before) || before <= 0.0 || !isfinite(decay) ||
        decay < 0.0 || before * decay >= 1.0 || !isfinite(rate) || rate <= 0.0 ||
        !isfinite(scaled)) {
        return tw_problem_set(
            problem,
            "--lr-scale %s: a rate of %g and a decay of %g cannot be scaled for a "
            "batch %g times as large",
            rule, before, decay, k);
    }
    *rate_p  = rate;
    *decay_p = scaled;
    return 0;
}

/* The schedule of the option, where it is given, else of the model. */
static int schedule_of(tw_schedule_t *schedule, const char *option, const char *given,
                       const tw_network_t *network, const char *of_model, tw_problem_t *problem)
{
    tw_problem_t inner = {0};

    return tw_schedule_parse(given != NULL ? given : of_model, schedule, &inner) == 0
               ? 0
               : tw_problem_set(problem, "%s: %s", given != NULL ? option : network->source,
                                inner.text);
}

int tw_rates_create(tw_rates_t *rates, const tw_network_t *network,
                    const tw_train_options_t *options, double batch, double split_batch,
                    tw_problem_t *problem)
{
    const double base = (double)network->batch;

    *rates = (tw_rates_t){
        .base      = options->rate >= 0.0 ? options->rate : network->rate,
        .decay     = options->decay >= 0.0 ? options->decay : network->decay,
        .momentum  = options->momentum >= 0.0 ? options->momentum : network->momentum,
        .rms_decay = network->rms_decay,
        .max_norm  = network->max_norm,
        .rmsprop   = network->optimizer == TW_RMSPROP,
    };
    if (schedule_of(&rates->schedule, "--lr-schedule", options->schedule, network,
                    network->schedule, problem) != 0 ||
        schedule_of(&rates->dropout, "--dropout-schedule", options->dropout_schedule, network,
                    network->dropout_schedule, problem) != 0) {
        return -1;
    }
    rates->split_base  = rates->base;
    rates->split_decay = rates->decay;
    return tw_rate_scale(options->lr_scale, batch / base, &rates->base, &rates->decay, problem) != 0
               ? -1
               : tw_rate_scale(options->lr_scale, split_batch / base, &rates->split_base,
                               &rates->split_decay, problem);
}
