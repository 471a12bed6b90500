/* SPDX-License-Identifier: BSD-3-Clause
 * train/calibration.c - see calibration.h. The mean is summed in the order of steps and, within a
 * step, of layers, so runs with equal weights give equal bits.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/base/agree.h"
#include "train/calibration.h"

struct tw_calibration {
    tw_calibration_config_t config;
    tw_codec_t             *codec; /* whose kernels add squares */
    size_t                  groups;
    int                     on_device;
    float                  *host; /* [longest tensor] of a device; NULL: the host reads them  */
    double                 *before, *now; /* norms: [groups]           */
    uint64_t                observed;     /* steps                     */
    uint64_t                rates;
    double                  sum; /* of the rates              */
};

/* Without owners: the tensors that would have some. */
static int watched(const tw_param_t *p)
{
    return p->role == TW_WEIGHT && p->ownable;
}

static size_t count_groups(const tw_calibration_config_t *config)
{
    size_t             groups = 0;
    tw_masters_facts_t facts;

    tw_masters_facts(config->masters, &facts);
    if (facts.groups > 0) {
        return facts.groups - 1;
    }
    for (size_t i = 0; i < config->params->count; i++) {
        groups += watched(&config->params->param[i]) ? 1 : 0;
    }
    return groups;
}

static size_t longest(const tw_params_t *params)
{
    size_t most = 1;

    for (size_t i = 0; i < params->count; i++) {
        most = params->param[i].count > most ? params->param[i].count : most;
    }
    return most;
}

static int calibration_check(const tw_calibration_config_t *config, size_t groups,
                             tw_problem_t *problem)
{
    if (!config->codecs->weight.plain) {
        return tw_problem_set(problem,
                              "--awp-calibrate watches weights in fp32: no other codec for "
                              "weight goes with it");
    }
    if (groups == 0) {
        return tw_problem_set(problem, "--awp-calibrate: all layers with weights are split, so no "
                                       "weights would travel");
    }
    return 0;
}

int tw_calibration_create(tw_calibration_t **calibration_p, const tw_calibration_config_t *config,
                          tw_problem_t *problem)
{
    const size_t      groups = count_groups(config);
    tw_calibration_t *c;

    if (calibration_check(config, groups, problem) != 0) {
        return -1;
    }
    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    *calibration_p = c;
    c->config      = *config;
    c->groups      = groups;
    c->before      = calloc(groups, sizeof(*c->before));
    c->now         = calloc(groups, sizeof(*c->now));
    c->on_device   = tw_backend_memory(config->params->backend) != TW_MEMORY_HOST;
    c->host        = c->on_device ? malloc(longest(config->params) * sizeof(*c->host)) : NULL;
    if (c->before == NULL || c->now == NULL || (c->on_device && c->host == NULL) ||
        tw_codec_create(config->ctx, "fp32", TW_F32, &c->codec, NULL, 0) != TW_OK) {
        return tw_problem_set(problem, "out of memory");
    }
    return 0;
}

void tw_calibration_destroy(tw_calibration_t *c)
{
    if (c != NULL) {
        tw_codec_destroy(c->codec);
        free(c->host);
        free(c->before);
        free(c->now);
        free(c);
    }
}

/* A tensor's values where the host can read them; NULL with the problem set. */
static const float *on_host(const tw_calibration_t *c, const tw_param_t *p, tw_problem_t *problem)
{
    const tw_params_t *params = c->config.params;
    const float       *value  = params->value + p->first;

    if (!c->on_device) {
        return value;
    }
    return tw_params_get(params, c->host, value, p->count, problem) == 0 ? c->host : NULL;
}

/* Of what this rank has itself, wherever that is. */
static tw_status_t own_norms(tw_calibration_t *c, tw_problem_t *problem)
{
    const tw_params_t *params = c->config.params;
    const tw_exec_t    exec   = {.threads = c->config.exec.threads};
    tw_status_t        status = TW_OK;
    size_t             g      = 0;

    for (size_t i = 0; i < params->count && status == TW_OK; i++) {
        const tw_param_t *p   = &params->param[i];
        double            sum = 0.0;

        if (watched(p)) {
            const float *value = on_host(c, p, problem);

            status = value != NULL ? tw_codec_square_sum(c->codec, &exec, value, p->count, &sum)
                                   : TW_ERR_IO;
            c->now[g++] = sqrt(sum);
        }
    }
    return status;
}

static void add_rate(tw_calibration_t *c, double before, double now)
{
    const double rate = now == before ? 0.0 : (now - before) / before;

    if (isfinite(rate)) {
        c->sum += rate;
        c->rates++;
    }
}

int tw_calibration_observe(tw_calibration_t *c, tw_problem_t *problem)
{
    const tw_status_t status = c->config.masters != NULL
                                   ? tw_masters_norms(c->config.masters, c->now)
                                   : own_norms(c, problem);
    double           *before = c->before;

    if (status != TW_OK) {
        return tw_problem_status(c->config.comm, "the norms of weights", status, problem);
    }
    for (size_t g = 0; g < c->groups && c->observed > 0; g++) {
        add_rate(c, before[g], c->now[g]);
    }
    c->observed++;
    c->before = c->now;
    c->now    = before;
    return 0;
}

const tw_evaluation_t *tw_calibration_drop(const tw_evaluations_t *e)
{
    for (size_t i = 1; i < e->count; i++) {
        if (e->list[i].test_error < e->list[i - 1].test_error) {
            return &e->list[i];
        }
    }
    return NULL;
}

void tw_calibration_facts(const tw_calibration_t *c, tw_calibration_facts_t *facts)
{
    *facts = (tw_calibration_facts_t){.threshold = c->rates > 0 ? c->sum / (double)c->rates : 0.0,
                                      .rates     = c->rates,
                                      .steps     = c->observed > 0 ? c->observed - 1 : 0,
                                      .groups    = c->groups};
}
