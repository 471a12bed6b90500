/* SPDX-License-Identifier: BSD-3-Clause
 * model/network.c - shapes of a network's layers, and what they count up to.
 */
#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/network_file.h"

/* Most numbers that one layer gives for one example, and that all layers hold: what is above was
 * hardly meant, and below it no product of sizes overflows. */
#define TW_OUTPUT_MAX     ((size_t)1 << 31)
#define TW_PARAMETERS_MAX ((size_t)1 << 34)

const char *const tw_kind_names[] = {"conv", "pool",    "activation", "lrn", "norm",
                                     "add",  "dropout", "dense",      NULL};

const char *tw_kind_name(tw_layer_kind_t kind)
{
    return tw_kind_names[kind];
}

static int wrong(const tw_network_t *net, size_t l, tw_problem_t *problem, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int wrong(const tw_network_t *net, size_t l, tw_problem_t *problem, const char *format, ...)
{
    char    text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return tw_problem_set(problem, "%.100s:%d: layer '%s': %s", net->source, net->layer[l].line,
                          net->layer[l].name, text);
}

/* ---- shapes -------------------------------------------------------------------------------- */

/* Positions of a window along one side, 0: it does not fit. */
static size_t positions(const tw_network_layer_t *layer, int side, size_t size)
{
    const size_t kernel = layer->kernel[side], stride = layer->stride[side], pad = layer->pad[side],
                 room = size + 2 * pad;
    size_t n;

    if (room < kernel) {
        return 0;
    }
    n = (room - kernel + (layer->ceil ? stride - 1 : 0)) / stride + 1;
    /* Rounded up, the last window must not lie in the border alone. */
    return layer->ceil && (n - 1) * stride >= size + pad ? n - 1 : n;
}

static int check_window(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    tw_network_layer_t *layer = &net->layer[l];

    if (layer->global) {
        layer->kernel[0] = layer->in.h;
        layer->kernel[1] = layer->in.w;
        layer->stride[0] = layer->stride[1] = 1;
    }
    if (layer->pad[0] >= layer->kernel[0] || layer->pad[1] >= layer->kernel[1]) {
        return wrong(net, l, problem, "pad %zux%zu: accepted is less than the kernel, %zux%zu",
                     layer->pad[0], layer->pad[1], layer->kernel[0], layer->kernel[1]);
    }
    layer->out.h = positions(layer, 0, layer->in.h);
    layer->out.w = positions(layer, 1, layer->in.w);
    if (layer->kind == TW_POOL) {
        layer->out.c = layer->in.c;
    }
    return layer->out.h > 0 && layer->out.w > 0
               ? 0
               : wrong(net, l, problem,
                       "the kernel of %zux%zu does not fit into its input of %zux%zu with a border "
                       "of %zux%zu",
                       layer->kernel[0], layer->kernel[1], layer->in.h, layer->in.w, layer->pad[0],
                       layer->pad[1]);
}

/* The second input is like the first, or has stride times its height and width and at most its
 * channels: a shortcut without parameters. */
static int check_add(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    tw_network_layer_t *layer = &net->layer[l];
    const int           other = layer->input[1];
    const tw_shape_t    in = layer->in, x = other < 0 ? net->input : net->layer[other].out;
    const size_t        stride = (x.h + in.h - 1) / in.h;

    if (x.c > in.c || x.h < in.h || (x.h - 1) / stride + 1 != in.h ||
        (x.w - 1) / stride + 1 != in.w) {
        return wrong(net, l, problem,
                     "'%s' of %zux%zux%zu cannot be added to %zux%zux%zu; accepted are the same "
                     "shape, and fewer channels with a whole multiple of height and width",
                     other < 0 ? "image" : net->layer[other].name, x.c, x.h, x.w, in.c, in.h, in.w);
    }
    layer->stride[0] = layer->stride[1] = stride;
    layer->out                          = in;
    return 0;
}

static int check_layer(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    tw_network_layer_t *layer = &net->layer[l];

    layer->in = layer->input[0] < 0 ? net->input : net->layer[layer->input[0]].out;
    switch (layer->kind) {
    case TW_CONV:
    case TW_POOL:
        if (check_window(net, l, problem) != 0) {
            return -1;
        }
        break;
    case TW_ADD:
        if (check_add(net, l, problem) != 0) {
            return -1;
        }
        break;
    case TW_DENSE:
        layer->out.h = layer->out.w = 1;
        break;
    case TW_LRN:
    case TW_ACTIVATION:
    case TW_NORM:
    case TW_DROPOUT:
        layer->out = layer->in;
        break;
    }
    return tw_shape_size(layer->out) <= TW_OUTPUT_MAX
               ? 0
               : wrong(net, l, problem,
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

static int check_head(tw_network_t *net, tw_problem_t *problem)
{
    const size_t              end  = net->layers - 1;
    const tw_network_layer_t *last = &net->layer[end];

    net->first_dense = find_head(net);
    for (size_t l = net->first_dense; l < net->layers; l++) {
        if (net->layer[l].kind != TW_DENSE && net->layer[l].kind != TW_DROPOUT) {
            return wrong(net, l, problem,
                         "after the first dense layer only dense and dropout are accepted");
        }
        if (net->layer[l].input[0] != (int)l - 1) {
            return wrong(net, l, problem,
                         "from the first dense layer on, each layer takes the one above it");
        }
    }
    if (last->kind != TW_DENSE) {
        return wrong(net, end, problem, "the last layer must be dense, with %zu classes",
                     net->classes);
    }
    if (last->out.c != net->classes) {
        return wrong(net, end, problem, "units %zu: the last layer has as many as classes, %zu",
                     last->out.c, net->classes);
    }
    return last->activation == TW_LINEAR
               ? 0
               : wrong(net, end, problem,
                       "activation: accepted is linear, as the loss brings the last layer's own");
}

static int check_dropouts(tw_network_t *net, tw_problem_t *problem)
{
    size_t n = 0;

    for (size_t l = 0; l < net->layers; l++) {
        if (net->layer[l].kind == TW_DROPOUT) {
            net->layer[l].drop = n++;
            if (n > TW_NETWORK_DROPOUTS_MAX) {
                return wrong(net, l, problem, "accepted are at most %u dropout layers",
                             TW_NETWORK_DROPOUTS_MAX);
            }
        }
    }
    return 0;
}

static int is_used(const tw_network_t *net, size_t layer)
{
    for (size_t l = layer + 1; l < net->layers; l++) {
        if (net->layer[l].input[0] == (int)layer || net->layer[l].input[1] == (int)layer) {
            return 1;
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
            return wrong(net, l, problem,
                         "up to here %zu parameters; accepted are at most 2^34 in all", parameters);
        }
    }
    if (check_head(net, problem) != 0 || check_dropouts(net, problem) != 0) {
        return -1;
    }
    for (size_t l = 0; l + 1 < net->layers; l++) {
        if (!is_used(net, l)) {
            return wrong(net, l, problem, "no layer takes its output");
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
    const tw_network_layer_t *at = &net->layer[layer];

    switch (at->kind) {
    case TW_CONV:
        return at->out.c * at->in.c * at->kernel[0] * at->kernel[1];
    case TW_DENSE:
        return at->out.c * tw_shape_size(at->in);
    case TW_NORM:
        return at->in.c;
    default:
        return 0;
    }
}

size_t tw_network_biases(const tw_network_t *net, size_t layer)
{
    const tw_network_layer_t *at = &net->layer[layer];

    return at->kind == TW_NORM ? at->in.c : at->bias ? at->out.c : 0;
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

    return at->kind == TW_CONV || at->kind == TW_DENSE
               ? (uint64_t)tw_network_weights(net, layer) * at->out.h * at->out.w
               : 0;
}
