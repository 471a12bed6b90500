/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk_graph.c - see trunk_graph.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/model/trunk_graph.h"

static tw_op_params_t params_of(const tw_params_t *params, size_t l)
{
    const tw_param_t *w = tw_params_find(params, l, TW_WEIGHT);
    const tw_param_t *b = tw_params_find(params, l, TW_BIAS);

    if (w == NULL) {
        w = tw_params_find(params, l, TW_GAMMA);
        b = tw_params_find(params, l, TW_BETA);
    }
    return (tw_op_params_t){.w  = w != NULL ? params->value + w->first : NULL,
                            .b  = b != NULL ? params->value + b->first : NULL,
                            .gw = w != NULL ? params->gradient + w->first : NULL,
                            .gb = b != NULL ? params->gradient + b->first : NULL};
}

static tw_tensor_t *tensor_of(const tw_trunk_graph_t *g, tw_tensor_t *image, int index)
{
    return index < 0 ? image : g->tensor[index];
}

static int add_layer(tw_trunk_graph_t *g, const tw_network_t *net, const tw_params_t *params,
                     tw_tensor_t *image, size_t l, tw_problem_t *problem)
{
    const tw_network_layer_t *layer  = &net->layer[l];
    const size_t              inputs = tw_layer_inputs(layer);
    tw_tensor_t              *x[TW_LAYER_INPUTS];

    for (size_t i = 0; i < inputs; i++) {
        x[i] = tensor_of(g, image, layer->input[i]);
    }
    return tw_graph_layer(g->graph, layer, params_of(params, l), x, inputs, &g->tensor[l],
                          &g->op[l], problem);
}

static int build(tw_trunk_graph_t *g, const tw_trunk_plan_t *plan, const tw_network_t *net,
                 tw_backend_t *backend, const tw_params_t *params, int values, int recompute,
                 tw_problem_t *problem)
{
    tw_tensor_t *image;
    float       *gradient; /* of the outputs that are only looked at */

    if (tw_graph_create(backend, g->n, &g->graph, problem) != 0 ||
        tw_graph_input(g->graph, net->input, &image, &g->input, problem) != 0) {
        return -1;
    }
    for (size_t i = 0; i < plan->layers; i++) {
        const size_t l = plan->order[i];

        tw_graph_segment(g->graph, recompute && !plan->kept[l] ? plan->segment[l] : -1);
        if (add_layer(g, net, params, image, l, problem) != 0 ||
            (values && tw_graph_output(g->graph, g->tensor[l], &g->value[l], &gradient,
                                       &g->value_op[l], problem) != 0)) {
            return -1;
        }
    }
    tw_graph_segment(g->graph, -1);
    return tw_graph_output(g->graph, tensor_of(g, image, plan->output), &g->features, &g->gradient,
                           &g->out_op, problem);
}

int tw_trunk_graph_create(tw_trunk_graph_t *g, const tw_trunk_plan_t *plan, const tw_network_t *net,
                          tw_backend_t *backend, const tw_params_t *params, size_t n, int values,
                          int recompute, tw_problem_t *problem)
{
    int status = 0;

    *g          = (tw_trunk_graph_t){.n = n};
    g->tensor   = calloc(plan->layers + 1, sizeof(g->tensor[0]));
    g->op       = calloc(plan->layers + 1, sizeof(g->op[0]));
    g->value    = calloc(plan->layers + 1, sizeof(g->value[0]));
    g->value_op = calloc(plan->layers + 1, sizeof(g->value_op[0]));
    if (g->tensor == NULL || g->op == NULL || g->value == NULL || g->value_op == NULL) {
        status = tw_problem_set(problem, "no memory for the layers of %s", net->name);
    } else {
        status = build(g, plan, net, backend, params, values, recompute, problem);
    }
    if (status != 0) {
        tw_trunk_graph_destroy(g);
    }
    return status;
}

void tw_trunk_graph_destroy(tw_trunk_graph_t *g)
{
    tw_graph_destroy(g->graph);
    free(g->tensor);
    free(g->op);
    free((void *)g->value);
    free(g->value_op);
    memset(g, 0, sizeof(*g));
}
