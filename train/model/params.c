/* SPDX-License-Identifier: BSD-3-Clause
 * model/params.c - layout, memory and hashes of the parameters; params_init.c draws them.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/base/hash.h"
#include "train/model/params.h"

/* Room before the gradients for the numbers that travel with them; keeps the alignment. */
#define TW_FRONT 16

size_t tw_params_share(size_t units, int rank, int ranks, size_t *first_p)
{
    const size_t k = (size_t)ranks, r = (size_t)rank, left = units % k;

    *first_p = r * (units / k) + (r < left ? r : left);
    return units / k + (r < left);
}

static int is_split(const tw_params_t *params, const tw_network_layer_t *layer, int layout)
{
    return (layout & TW_PARAMS_SPLIT) != 0 && layer->kind == TW_DENSE && params->ranks > 1;
}

/* The same on one rank as on many, so that a run on one is the oracle. */
static int is_ownable(const tw_network_layer_t *layer, int layout)
{
    return (layout & TW_PARAMS_SPLIT) == 0 || layer->kind != TW_DENSE;
}

/* What comes next begins at a multiple of TW_PARAMS_ALIGN. */
static void align_next(tw_params_t *params)
{
    params->total = (params->total + TW_PARAMS_ALIGN - 1) / TW_PARAMS_ALIGN * TW_PARAMS_ALIGN;
}

/* Append a tensor if the layer has it: units_all units of per_unit elements. */
static void append(tw_params_t *params, const tw_network_t *net, size_t layer, tw_param_role_t role,
                   int layout)
{
    static const char *const  names[] = {"weight", "bias", "gamma", "beta"};
    const tw_network_layer_t *from    = &net->layer[layer];
    const int                 second  = role == TW_BIAS || role == TW_BETA;
    const int    turned = from->kind == TW_DENSE && from->by_input && role == TW_WEIGHT;
    const size_t units  = turned ? tw_shape_size(from->in) : from->out.c;
    const size_t all    = second ? tw_network_biases(net, layer) : tw_network_weights(net, layer);
    tw_param_t  *param  = &params->param[params->count];

    if (all == 0) {
        return;
    }
    if (is_split(params, from, layout)) {
        align_next(params);
    }
    *param = (tw_param_t){.layer     = layer,
                          .role      = role,
                          .first     = params->total,
                          .units_all = units,
                          .per_unit  = all / units,
                          .turned    = turned,
                          .split     = is_split(params, from, layout),
                          .ownable   = is_ownable(from, layout),
                          .rate      = second ? from->b_rate : from->w_rate,
                          .decay     = second ? from->b_decay : from->w_decay};
    snprintf(param->name, sizeof(param->name), "%s.%s", from->name, names[role]);
    param->units = param->units_all;
    if (param->split) {
        param->units =
            tw_params_share(param->units_all, params->rank, params->ranks, &param->units_first);
    }
    param->count = param->units * param->per_unit;
    param->state = params->moments;
    params->moments += param->ownable && (layout & TW_PARAMS_APART) != 0 ? 0 : param->count;
    params->total += param->count;
    params->replicated = param->split ? params->replicated : params->total;
    params->count++;
}

static void append_first(tw_params_t *params, const tw_network_t *net, size_t l, int layout)
{
    append(params, net, l, net->layer[l].kind == TW_NORM ? TW_GAMMA : TW_WEIGHT, layout);
}

static void append_second(tw_params_t *params, const tw_network_t *net, size_t l, int layout)
{
    append(params, net, l, net->layer[l].kind == TW_NORM ? TW_BETA : TW_BIAS, layout);
}

/* Biases and parameters of normalisation, then weights; what has no owners comes afterwards. */
static size_t append_apart(tw_params_t *params, const tw_network_t *net, int layout)
{
    size_t l = 0;

    for (; l < net->layers && is_ownable(&net->layer[l], layout); l++) {
        if (net->layer[l].kind == TW_NORM) {
            append_first(params, net, l, layout);
        }
        append_second(params, net, l, layout);
    }
    align_next(params);
    for (size_t k = 0; k < l; k++) {
        if (net->layer[k].kind != TW_NORM) {
            append_first(params, net, k, layout);
        }
    }
    return l;
}

/* Count first (with room for two tensors of each layer), so that memory is asked for once. */
static int lay_out(tw_params_t *params, const tw_network_t *net, int layout)
{
    params->param = calloc(2 * net->layers + 1, sizeof(params->param[0]));
    params->norm  = calloc(net->layers + 1, sizeof(params->norm[0]));
    if (params->param == NULL || params->norm == NULL) {
        return -1;
    }
    for (size_t l = (layout & TW_PARAMS_APART) != 0 ? append_apart(params, net, layout) : 0;
         l < net->layers; l++) {
        append_first(params, net, l, layout);
        append_second(params, net, l, layout);
    }
    for (size_t l = 0; l < net->layers; l++) {
        if (net->layer[l].kind == TW_NORM) {
            params->norm[params->norms++] =
                (tw_param_norm_t){l, params->states, net->layer[l].out.c};
            params->states += 2 * net->layer[l].out.c;
        }
    }
    return 0;
}

int tw_params_get(const tw_params_t *params, float *host, const float *from, size_t n,
                  tw_problem_t *problem)
{
    return tw_backend_get(params->backend, host, from, n * sizeof(float), problem);
}

int tw_params_put(const tw_params_t *params, float *to, const float *host, size_t n,
                  tw_problem_t *problem)
{
    return tw_backend_put(params->backend, to, host, n * sizeof(float), problem);
}

int tw_params_reset_state(tw_params_t *params, tw_problem_t *problem)
{
    float *state = malloc((params->states + 1) * sizeof(float));
    int    status;

    if (state == NULL) {
        return tw_problem_machine(problem, "no memory for %zu running statistics", params->states);
    }
    for (size_t i = 0; i < params->norms; i++) {
        float *mean = state + params->norm[i].first;

        for (size_t c = 0; c < params->norm[i].channels; c++) {
            mean[c]                            = 0.0f;
            mean[params->norm[i].channels + c] = 1.0f;
        }
    }
    status = tw_params_put(params, params->state, state, params->states, problem);
    free(state);
    return status;
}

static int allocate(tw_params_t *params, size_t n, float **p, tw_problem_t *problem)
{
    void     *memory;
    const int status = tw_backend_allocate(params->backend, n * sizeof(float), &memory, problem);

    *p = memory;
    return status;
}

static int allocate_all(tw_params_t *params, tw_problem_t *problem)
{
    float *front;

    if (allocate(params, params->total, &params->value, problem) != 0 ||
        allocate(params, params->moments, &params->momentum, problem) != 0 ||
        allocate(params, params->states, &params->state, problem) != 0 ||
        allocate(params, TW_FRONT + params->total, &front, problem) != 0) {
        return -1;
    }
    params->gradient = front + TW_FRONT;
    params->extra    = params->gradient - 2;
    return 0;
}

int tw_params_create(tw_params_t *params, const tw_network_t *net, tw_backend_t *backend, int rank,
                     int ranks, int layout, tw_problem_t *problem)
{
    tw_problem_t why = {.set = 0};

    *params = (tw_params_t){.backend = backend, .rank = rank, .ranks = ranks};
    if (lay_out(params, net, layout) != 0 || allocate_all(params, &why) != 0) {
        tw_problem_machine(problem, "no memory for the %zu parameters of %s, three floats each%s%s",
                           params->total, net->name, why.set ? ": " : "", why.text);
        tw_params_destroy(params);
        return -1;
    }
    if (tw_params_reset_state(params, problem) != 0) {
        tw_params_destroy(params);
        return -1;
    }
    return 0;
}

void tw_params_destroy(tw_params_t *params)
{
    free(params->param);
    free(params->norm);
    if (params->backend != NULL) {
        tw_backend_release(params->backend, params->value);
        tw_backend_release(params->backend,
                           params->gradient != NULL ? params->gradient - TW_FRONT : NULL);
        tw_backend_release(params->backend, params->momentum);
        tw_backend_release(params->backend, params->state);
    }
    memset(params, 0, sizeof(*params));
}

const tw_param_t *tw_params_find(const tw_params_t *params, size_t layer, tw_param_role_t role)
{
    for (size_t i = 0; i < params->count; i++) {
        if (params->param[i].layer == layer && params->param[i].role == role) {
            return &params->param[i];
        }
    }
    return NULL;
}

float *tw_params_state(const tw_params_t *params, size_t layer)
{
    for (size_t i = 0; i < params->norms; i++) {
        if (params->norm[i].layer == layer) {
            return params->state + params->norm[i].first;
        }
    }
    return NULL;
}

static int all_finite(const float *x, size_t n)
{
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &x[i], sizeof(bits));
        found |= (bits & UINT32_C(0x7f800000)) == UINT32_C(0x7f800000);
    }
    return found == 0;
}

/* A tensor's values where the host can read them: as they are, or in a copy, to be freed. */
static const float *on_host(const tw_params_t *params, const tw_param_t *param, float **copy_p,
                            tw_problem_t *problem)
{
    const float *value = params->value + param->first;

    *copy_p = NULL;
    if (tw_backend_memory(params->backend) == TW_MEMORY_HOST) {
        return value;
    }
    *copy_p = malloc((param->count + 1) * sizeof(float));
    if (*copy_p == NULL) {
        (void)tw_problem_machine(problem, "no memory for a copy of %s", param->name);
    } else if (tw_params_get(params, *copy_p, value, param->count, problem) != 0) {
        free(*copy_p);
        *copy_p = NULL;
    }
    return *copy_p;
}

int tw_params_hash(const tw_params_t *params, size_t layer, int split, uint64_t *hash_p,
                   int *finite_p, tw_problem_t *problem)
{
    *hash_p   = layer;
    *finite_p = 1;
    for (size_t i = 0; i < params->count; i++) {
        const tw_param_t *param = &params->param[i];
        const float      *value;
        float            *copy;

        if (param->layer != layer) {
            continue;
        }
        value = on_host(params, param, &copy, problem);
        if (value == NULL) {
            return -1;
        }
        *finite_p &= all_finite(value, param->count);
        if (param->split == split) {
            *hash_p = tw_hash(*hash_p, value, param->count * sizeof(float));
        }
        free(copy);
    }
    return 0;
}
