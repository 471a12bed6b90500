/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk_fault.c - finding the first layer with Inf or NaN in its output.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "train/model/trunk_inside.h"

/* -1 where they cannot be read. */
static int all_finite(const tw_trunk_t *t, const float *x, size_t n)
{
    tw_problem_t problem = {.set = 0};
    float       *host    = malloc((n + 1) * sizeof(*host));
    int          finite  = host != NULL ? 1 : -1;

    if (finite == 1 && tw_backend_get(t->backend, host, x, n * sizeof(*host), &problem) != 0) {
        finite = -1;
    }
    for (size_t i = 0; finite == 1 && i < n; i++) {
        finite = isfinite(host[i]) != 0;
    }
    free(host);
    return finite;
}

/* Run layer l of the copy with the statistics of the pass. */
static void rerun(const tw_trunk_t *t, tw_trunk_graph_t *copy, size_t l, const tw_op_pass_t *pass)
{
    if (t->net->layer[l].kind == TW_NORM && pass->training) {
        tw_op_norm_set(copy->op[l], t->norm[l].moments);
    } else if (t->net->layer[l].kind == TW_NORM) {
        tw_trunk_use_running(t, copy->op[l], l);
    }
    tw_op_forward(copy->op[l], pass);
    tw_op_forward(copy->value_op[l], pass);
}

static const char *search(const tw_trunk_t *t, tw_trunk_graph_t *copy, const tw_op_pass_t *pass)
{
    tw_problem_t problem = {.set = 0};

    for (size_t i = 0; i < t->plan.layers; i++) {
        const size_t              l     = t->plan.order[i];
        const tw_network_layer_t *layer = &t->net->layer[l];

        rerun(t, copy, l, pass);
        if (tw_graph_finish(copy->graph, &problem) != 0 ||
            all_finite(t, copy->value[l], copy->n * tw_shape_size(layer->out)) == 0) {
            return layer->name;
        }
    }
    return NULL;
}

const char *tw_trunk_first_nonfinite(tw_trunk_t *t, const tw_trunk_pass_t *pass)
{
    const size_t       size    = pass->n * tw_shape_size(t->net->input);
    const tw_op_pass_t how     = tw_trunk_op_pass(pass);
    tw_trunk_graph_t  *g       = pass->n > 0 ? tw_trunk_find_graph(t, pass->n) : NULL;
    const float       *input   = g != NULL ? g->input : t->plain;
    tw_problem_t       problem = {.set = 0};
    tw_trunk_graph_t   copy;
    const char        *name;

    if (pass->n > 0 && input != NULL && all_finite(t, input, size) == 0) {
        return "input";
    }
    if (g == NULL || tw_trunk_graph_create(&copy, &t->plan, t->net, t->backend, t->params, pass->n,
                                           1, 0, &problem) != 0) {
        return NULL;
    }
    name = tw_backend_copy(t->backend, copy.input, g->input, size * sizeof(float), &problem) == 0
               ? search(t, &copy, &how)
               : NULL;
    tw_trunk_graph_destroy(&copy);
    return name;
}
