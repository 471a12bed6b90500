/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/normalisation.c - see normalisation.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/base/agree.h"
#include "train/step/normalisation.h"

static tw_statistics_mode_t mode_of(const char *name)
{
    return strcmp(name, "global") == 0     ? TW_STATISTICS_GLOBAL
           : strcmp(name, "adaptive") == 0 ? TW_STATISTICS_ADAPTIVE
                                           : TW_STATISTICS_LOCAL;
}

/* Channels of each layer of batch normalisation; how many there are. */
static size_t list_channels(const tw_network_t *network, size_t *channels, size_t *sum_p)
{
    size_t layers = 0;

    *sum_p = 0;
    for (size_t l = 0; l < network->layers; l++) {
        if (network->layer[l].kind == TW_NORM) {
            channels[layers++] = network->layer[l].out.c;
            *sum_p += network->layer[l].out.c;
        }
    }
    return layers;
}

static int normalisation_make(tw_normalisation_t *norm, int group, size_t sum,
                              const tw_trunk_t *trunk, const tw_exec_t *exec, tw_trace_t *trace,
                              tw_problem_t *problem)
{
    tw_statistics_config_t config = {
        .group = group, .states = 2 * sum, .exec = exec, .trace = trace};
    tw_status_t status;

    tw_trunk_exchange_most(trunk, &config.layers, &config.channels);
    status = tw_statistics_create(norm->comm, &config, &norm->shared);
    return tw_problem_status(norm->comm, "preparing batch statistics", status, problem);
}

int tw_normalisation_create(tw_normalisation_t *norm, tw_comm_t *comm, const tw_network_t *network,
                            const tw_trunk_t *trunk, const tw_train_options_t *options,
                            uint64_t batch, const tw_exec_t *exec, tw_trace_t *trace,
                            tw_problem_t *problem)
{
    const int group = options->bn_group > INT32_MAX ? 0 : (int)options->bn_group;
    size_t    sum;

    *norm = (tw_normalisation_t){.comm     = comm,
                                 .channels = calloc(network->layers, sizeof(size_t)),
                                 .rule     = {.mode      = mode_of(options->bn),
                                              .tolerance = options->bn_tolerance,
                                              .patience  = (int)options->bn_patience,
                                              .batch     = batch,
                                              .batch_max = options->bn_max_batch}};
    if (norm->channels == NULL) {
        problem->fatal = tw_comm_size(comm) > 1; /* the others go on to prepare exchanges */
        return tw_problem_set(problem, "out of memory");
    }
    norm->layers = list_channels(network, norm->channels, &sum);
    if (norm->layers == 0) {
        return 0;
    }
    if (tw_adaptive_init(&norm->rule) != TW_OK) {
        return tw_problem_set(problem, "--bn-tolerance and --bn-patience are out of range");
    }
    return normalisation_make(norm, group, sum, trunk, exec, trace, problem);
}

void tw_normalisation_destroy(tw_normalisation_t *norm)
{
    tw_statistics_destroy(norm->shared);
    free(norm->channels);
}

int tw_normalisation_global(const tw_normalisation_t *norm)
{
    return norm->layers > 0 && tw_adaptive_global(&norm->rule);
}

int tw_normalisation_observes(const tw_normalisation_t *norm)
{
    return norm->layers > 0 && norm->rule.mode == TW_STATISTICS_ADAPTIVE;
}

const tw_comm_t *tw_normalisation_group(const tw_normalisation_t *norm)
{
    const tw_comm_t *comm = tw_statistics_comm(norm->shared);

    return comm != norm->comm ? comm : NULL;
}

int tw_normalisation_moments(tw_normalisation_t *norm, double *const *moments,
                             const size_t *channels, size_t layers, tw_problem_t *problem)
{
    tw_status_t status = TW_OK;

    if (tw_normalisation_global(norm)) {
        status = tw_statistics_moments(norm->shared, moments, channels, layers);
    }
    return tw_problem_status(norm->comm, "batch statistics", status, problem);
}

int tw_normalisation_sums(tw_normalisation_t *norm, double *const *sums, const size_t *channels,
                          size_t layers, tw_problem_t *problem)
{
    tw_status_t status = TW_OK;

    if (tw_normalisation_global(norm)) {
        status = tw_statistics_sums(norm->shared, sums, channels, layers);
    }
    return tw_problem_status(norm->comm, "batch statistics", status, problem);
}

int tw_normalisation_settle(tw_normalisation_t *norm, tw_params_t *params, tw_problem_t *problem)
{
    tw_status_t status;

    if (norm->layers == 0) {
        return 0;
    }
    status = tw_statistics_running(norm->shared, params->state, norm->channels, norm->layers);
    return tw_problem_status(norm->comm, "running statistics", status, problem);
}

int tw_normalisation_observe(tw_normalisation_t *norm, double accuracy)
{
    int switched = 0;

    if (norm->layers > 0) {
        tw_adaptive_observe(&norm->rule, accuracy, &switched);
    }
    return switched;
}
