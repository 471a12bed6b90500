/* SPDX-License-Identifier: BSD-3-Clause
 * model/network.c - shapes of a network's layers, and totals.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/model/kinds.h"

/* Most numbers that one layer gives for one example, and that all layers hold: what is above was
 * hardly meant, and below it no product of sizes overflows. */
#define TW_OUTPUT_MAX     ((size_t)1 << 31)
#define TW_PARAMETERS_MAX ((size_t)1 << 34)

/* ---- shapes -------------------------------------------------------------------------------- */

static int check_layer(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    tw_network_layer_t *layer = &net->layer[l];

    layer->in = tw_network_shape(net, layer->input[0]);
    if (tw_kind_row(layer->kind)->shape(net, l, problem) != 0) {
        return -1;
    }
    return tw_shape_size(layer->out) <= TW_OUTPUT_MAX
               ? 0
               : tw_network_wrong(net, l, problem,
                                  "%zux%zux%zu numbers for one example; accepted are at most 2^31",
                                  layer->out.c, layer->out.h, layer->out.w);
}

/* ---- order --------------------------------------------------------------------------------- */

/* The head: the end of the chain of dense and dropout layers. */
static size_t find_head(const tw_network_t *net)
{
    size_t first = 0;

    while (first < net->layers && net->layer[first].kind != TW_DENSE) {
        first++;
    }
    while (first > 0 && first < net->layers && net->layer[first - 1].kind == TW_DROPOUT) {
        first--;
    }
    return first;
}

/* A layer that is split by input takes each rank's own part of the layer below. */
static int check_by_input(const tw_network_t *net, tw_problem_t *problem)
{
    size_t dense = 0;

    for (size_t l = net->first_dense; l < net->layers; l++) {
        const tw_network_layer_t *layer = &net->layer[l];

        if (layer->kind != TW_DENSE || (dense++, !layer->by_input)) {
            continue;
        }
        if (dense == 1) {
            return tw_network_wrong(net, l, problem,
                                    "split: accepted is output, as every rank has all inputs of "
                                    "the first dense layer");
        }
        if (layer->groups > 1 || net->max_norm > 0.0) {
            return tw_network_wrong(net, l, problem, "split: accepted is output with %s",
                                    layer->groups > 1 ? "groups" : "a max_norm");
        }
    }
    return 0;
}

static int check_head(tw_network_t *net, tw_problem_t *problem)
{
    const size_t              end  = net->layers - 1;
    const tw_network_layer_t *last = &net->layer[end];

    net->first_dense = find_head(net);
    for (size_t l = net->first_dense; l < net->layers; l++) {
        if (net->layer[l].kind != TW_DENSE && net->layer[l].kind != TW_DROPOUT) {
            return tw_network_wrong(
                net, l, problem, "after the first dense layer only dense and dropout are accepted");
        }
        if (net->layer[l].input[0] != (int)l - 1) {
            return tw_network_wrong(
                net, l, problem,
                "from the first dense layer on, each layer takes the one above it");
        }
    }
    if (last->kind != TW_DENSE) {
        return tw_network_wrong(net, end, problem, "the last layer must be dense, with %zu classes",
                                net->classes);
    }
    if (last->out.c != net->classes) {
        return tw_network_wrong(net, end, problem,
                                "units %zu: the last layer has as many as classes, %zu",
                                last->out.c, net->classes);
    }
    return last->activation == TW_LINEAR
               ? 0
               : tw_network_wrong(
                     net, end, problem,
                     "activation: accepted is linear, as the loss brings the last layer's own");
}

static int check_dropouts(tw_network_t *net, tw_problem_t *problem)
{
    size_t n = 0;

    for (size_t l = 0; l < net->layers; l++) {
        if (net->layer[l].kind == TW_DROPOUT) {
            net->layer[l].drop = n++;
            if (n > TW_NETWORK_DROPOUTS_MAX) {
                return tw_network_wrong(net, l, problem, "accepted are at most %u dropout layers",
                                        TW_NETWORK_DROPOUTS_MAX);
            }
        }
    }
    return 0;
}

static int is_used(const tw_network_t *net, size_t layer)
{
    for (size_t l = layer + 1; l < net->layers; l++) {
        for (size_t i = 0; i < TW_LAYER_INPUTS; i++) {
            if (net->layer[l].input[i] == (int)layer) {
                return 1;
            }
        }
    }
    return 0;
}

int tw_network_check(tw_network_t *net, tw_problem_t *problem)
{
    size_t parameters = 0;

    for (size_t l = 0; l < net->layers; l++) {
        if (check_layer(net, l, problem) != 0) {
            return -1;
        }
        parameters += tw_network_weights(net, l) + tw_network_biases(net, l);
        if (parameters > TW_PARAMETERS_MAX) {
            return tw_network_wrong(net, l, problem,
                                    "up to here %zu parameters; accepted are at most 2^34 in all",
                                    parameters);
        }
    }
    if (check_head(net, problem) != 0 || check_by_input(net, problem) != 0 ||
        check_dropouts(net, problem) != 0) {
        return -1;
    }
    for (size_t l = 0; l + 1 < net->layers; l++) {
        if (!is_used(net, l)) {
            return tw_network_wrong(net, l, problem, "no layer takes its output");
        }
    }
    return 0;
}

int tw_network_override(tw_network_t *net, const tw_shape_t *input, size_t classes,
                        tw_problem_t *problem)
{
    tw_network_t changed = *net;

    if ((input != NULL && (input->c < 1 || input->c > 1024 || input->h < 1 || input->h > 16384 ||
                           input->w < 1 || input->w > 16384)) ||
        (classes != 0 && (classes < 2 || classes > 1048576))) {
        return tw_problem_set(problem,
                              "images or classes of the data are beyond what a model accepts: "
                              "1024x16384x16384, 2 to 1048576 classes");
    }
    changed.layer = malloc(net->layers * sizeof(*net->layer));
    if (changed.layer == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    memcpy(changed.layer, net->layer, net->layers * sizeof(*net->layer));
    if (input != NULL) {
        changed.input = *input;
    }
    if (classes != 0) {
        changed.classes                         = classes;
        changed.layer[changed.layers - 1].out.c = classes;
    }
    if (tw_network_check(&changed, problem) != 0) {
        free(changed.layer);
        return -1;
    }
    free(net->layer);
    *net = changed;
    return 0;
}

void tw_network_destroy(tw_network_t *net)
{
    free(net->layer);
    *net = (tw_network_t){0};
}

/* ---- counts -------------------------------------------------------------------------------- */

size_t tw_network_weights(const tw_network_t *net, size_t layer)
{
    const tw_network_layer_t *at  = &net->layer[layer];
    const tw_kind_row_t      *row = tw_kind_row(at->kind);

    return row->weights != NULL ? row->weights(at) : 0;
}

size_t tw_network_biases(const tw_network_t *net, size_t layer)
{
    const tw_network_layer_t *at  = &net->layer[layer];
    const tw_kind_row_t      *row = tw_kind_row(at->kind);

    return row->biases != NULL ? row->biases(at) : at->bias ? at->out.c : 0;
}

size_t tw_network_parameters(const tw_network_t *net)
{
    size_t sum = 0;

    for (size_t l = 0; l < net->layers; l++) {
        sum += tw_network_weights(net, l) + tw_network_biases(net, l);
    }
    return sum;
}

uint64_t tw_network_operations(const tw_network_t *net, size_t layer)
{
    const tw_network_layer_t *at = &net->layer[layer];

    return tw_kind_row(at->kind)->multiplies
               ? (uint64_t)tw_network_weights(net, layer) * at->out.h * at->out.w
               : 0;
}
