/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk.c - creation of the trunk and its workspace; trunk_pass.c runs it, trunk_fault.c
 * searches for Inf and NaN.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/model/trunk_inside.h"

float tw_trunk_nothing[1];

/* -------------------------------------------------------------------------- creation */

/* Statistics of all normalisations are one piece of memory. */
static int create_norms(tw_trunk_t *t, tw_problem_t *problem)
{
    const size_t most = t->plan.norms_most;
    size_t       all  = 0;
    void        *p;

    t->norm     = calloc(t->plan.layers + 1, sizeof(t->norm[0]));
    t->together = calloc(most + 1, sizeof(t->together[0]));
    t->channels = calloc(most + 1, sizeof(t->channels[0]));
    if (t->norm == NULL || t->together == NULL || t->channels == NULL) {
        return tw_problem_set(problem, "no memory for the batch statistics of %s", t->net->name);
    }
    for (size_t l = 0; l < t->plan.layers; l++) {
        all += t->net->layer[l].kind == TW_NORM ? 1 + 4 * t->net->layer[l].out.c : 0;
    }
    if (all == 0) {
        return 0;
    }
    if (tw_backend_allocate(t->backend, all * sizeof(double), &p, problem) != 0) {
        return -1;
    }
    t->statistics = p;
    all           = 0;
    for (size_t l = 0; l < t->plan.layers; l++) {
        if (t->net->layer[l].kind == TW_NORM) {
            t->norm[l].moments = t->statistics + all;
            t->norm[l].sums    = t->norm[l].moments + 1 + 2 * t->net->layer[l].out.c;
            all += 1 + 4 * t->net->layer[l].out.c;
        }
    }
    return 0;
}

int tw_trunk_create(tw_trunk_t **trunk_p, const tw_network_t *net, tw_backend_t *backend,
                    tw_params_t *params, const tw_trunk_hooks_t *hooks, tw_problem_t *problem)
{
    tw_trunk_t *t = calloc(1, sizeof(*t));

    *trunk_p = NULL;
    if (t == NULL) {
        return tw_problem_set(problem, "no memory for the trunk of %s", net->name);
    }
    t->net      = net;
    t->backend  = backend;
    t->params   = params;
    t->features = tw_shape_size(net->layer[net->first_dense].in);
    tw_trunk_set_hooks(t, hooks);
    for (size_t i = 0; i < params->count; i++) {
        t->elements += params->param[i].layer < net->first_dense ? params->param[i].count : 0;
    }
    if (tw_trunk_plan_create(&t->plan, net, problem) != 0) {
        tw_trunk_destroy(t);
        return -1;
    }
    if (create_norms(t, problem) != 0) {
        tw_trunk_destroy(t);
        return -1;
    }
    *trunk_p = t;
    return 0;
}

void tw_trunk_destroy(tw_trunk_t *t)
{
    if (t == NULL) {
        return;
    }
    for (size_t i = 0; i < TW_TRUNK_GRAPHS; i++) {
        tw_trunk_graph_destroy(&t->graph[i]);
    }
    tw_backend_release(t->backend, t->statistics);
    tw_backend_release(t->backend, t->plain);
    free(t->norm);
    free(t->together);
    free(t->channels);
    tw_trunk_plan_destroy(&t->plan);
    free(t);
}

void tw_trunk_set_hooks(tw_trunk_t *t, const tw_trunk_hooks_t *hooks)
{
    t->hooks = hooks != NULL ? *hooks : (tw_trunk_hooks_t){.user = NULL};
}

void tw_trunk_set_recompute(tw_trunk_t *t, int recompute)
{
    t->recompute = recompute;
}

int tw_trunk_set_storage(tw_trunk_t *t, const tw_codec_t *codec)
{
    t->storage = codec;
    for (size_t l = 0; codec != NULL && l < t->plan.layers; l++) {
        if (!t->plan.kept[l] && t->plan.segment[l] < t->plan.segments - 1) {
            return 0;
        }
    }
    return codec == NULL ? 0 : -1;
}

size_t tw_trunk_features(const tw_trunk_t *t)
{
    return t->features;
}

size_t tw_trunk_exchanges(const tw_trunk_t *t)
{
    return t->plan.exchanges;
}

void tw_trunk_exchange_most(const tw_trunk_t *t, size_t *layers_p, size_t *channels_p)
{
    *layers_p   = t->plan.norms_most;
    *channels_p = 0;
    for (size_t i = 0; i < t->plan.steps; i++) {
        const tw_trunk_step_t *step     = &t->plan.step[i];
        size_t                 channels = 0;

        for (size_t k = 0; step->norms && k < step->count; k++) {
            channels += t->net->layer[t->plan.order[step->first + k]].out.c;
        }
        *channels_p = channels > *channels_p ? channels : *channels_p;
    }
}

/* -------------------------------------------------------------------------- work space */

/* The input of a trunk without layers, which is its output too. */
static float *plain_input(tw_trunk_t *t, size_t n, tw_problem_t *problem)
{
    void *p;

    if (n > t->plain_n) {
        tw_backend_release(t->backend, t->plain);
        t->plain   = NULL;
        t->plain_n = 0;
        if (tw_backend_allocate(t->backend, n * t->features * sizeof(float), &p, problem) != 0) {
            return NULL;
        }
        t->plain   = p;
        t->plain_n = n;
    }
    return t->plain;
}

tw_trunk_graph_t *tw_trunk_find_graph(tw_trunk_t *t, size_t n)
{
    for (size_t i = 0; i < TW_TRUNK_GRAPHS; i++) {
        if (t->graph[i].graph != NULL && t->graph[i].n == n) {
            return &t->graph[i];
        }
    }
    return NULL;
}

/* A new graph for n examples in the place of the one not used for longest. */
static tw_trunk_graph_t *make_graph(tw_trunk_t *t, size_t n, tw_problem_t *problem)
{
    tw_trunk_graph_t *g = &t->graph[0];

    for (size_t i = 1; i < TW_TRUNK_GRAPHS; i++) {
        g = t->graph[i].used < g->used ? &t->graph[i] : g;
    }
    tw_trunk_graph_destroy(g);
    t->made++;
    return tw_trunk_graph_create(g, &t->plan, t->net, t->backend, t->params, n, 0,
                                 t->recompute || t->storage != NULL, problem) == 0
               ? g
               : NULL;
}

uint64_t tw_trunk_graphs(const tw_trunk_t *t)
{
    return t->made;
}

float *tw_trunk_input(tw_trunk_t *t, size_t n, tw_problem_t *problem)
{
    tw_trunk_graph_t *g;

    if (n == 0) {
        return tw_trunk_nothing;
    }
    if (t->plan.layers == 0) {
        return plain_input(t, n, problem);
    }
    g = tw_trunk_find_graph(t, n);
    if (g == NULL) {
        g = make_graph(t, n, problem);
    }
    if (g == NULL) {
        return NULL;
    }
    g->used = ++t->clock;
    return g->input;
}
