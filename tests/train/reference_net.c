/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/reference_net.c - see reference_net.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/train/reference_net.h"

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (p == NULL) {
        abort();
    }
    return p;
}

static double *doubles(size_t n)
{
    return zeros(n, sizeof(double));
}

/* -------------------------------------------------------------------------- creation */

void ref_net_create(ref_net_t *ref, const tw_network_t *net)
{
    tw_problem_t problem = {.set = 0};

    ref->net = net;
    if (tw_backend_host(&ref->backend, tw_kernels_for("scalar"), 1, &problem) != 0 ||
        tw_params_create(&ref->layout, net, ref->backend, 0, 1, 0, &problem) != 0) {
        abort();
    }
    ref->value    = doubles(ref->layout.total);
    ref->gradient = doubles(ref->layout.total);
    ref->momentum = doubles(ref->layout.total);
    ref->state    = doubles(ref->layout.states);
    ref_net_take(ref, &ref->layout);
}

void ref_net_destroy(ref_net_t *ref)
{
    free(ref->value);
    free(ref->gradient);
    free(ref->momentum);
    free(ref->state);
    tw_params_destroy(&ref->layout);
    tw_backend_destroy(ref->backend);
}

void ref_net_init(ref_net_t *ref, uint64_t seed)
{
    tw_problem_t problem = {.set = 0};

    if (tw_params_init(&ref->layout, ref->net, seed, &problem) != 0) {
        abort();
    }
    ref_net_take(ref, &ref->layout);
}

void ref_net_take(ref_net_t *ref, const tw_params_t *params)
{
    for (size_t i = 0; i < params->total; i++) {
        ref->value[i]    = params->value[i];
        ref->momentum[i] = params->momentum[i];
    }
    for (size_t i = 0; i < params->states; i++) {
        ref->state[i] = params->state[i];
    }
}

void ref_part_create(const ref_net_t *ref, ref_part_t *part)
{
    const size_t layers = ref->net->layers;

    part->y       = zeros(layers, sizeof(part->y[0]));
    part->dy      = zeros(layers, sizeof(part->dy[0]));
    part->moments = zeros(layers, sizeof(part->moments[0]));
    part->sums    = zeros(layers, sizeof(part->sums[0]));
    part->gimages = doubles(part->n * tw_shape_size(ref->net->input));
    for (size_t l = 0; l < layers; l++) {
        const tw_shape_t out = ref->net->layer[l].out;

        part->y[l]       = doubles(part->n * tw_shape_size(out));
        part->dy[l]      = doubles(part->n * tw_shape_size(out));
        part->moments[l] = doubles(1 + 2 * out.c);
        part->sums[l]    = doubles(2 * out.c);
    }
}

void ref_part_destroy(const ref_net_t *ref, ref_part_t *part)
{
    for (size_t l = 0; l < ref->net->layers; l++) {
        free(part->y[l]);
        free(part->dy[l]);
        free(part->moments[l]);
        free(part->sums[l]);
    }
    free(part->y);
    free(part->dy);
    free(part->moments);
    free(part->sums);
    free(part->gimages);
}

/* -------------------------------------------------------------------------- parameters */

/* A layer's tensor in a vector: the first (weights, gamma) or the second; NULL if it has none. */
static double *tensor(const ref_net_t *ref, double *vector, size_t l, int second)
{
    const int         norm  = ref->net->layer[l].kind == TW_NORM;
    const tw_param_t *param = tw_params_find(
        &ref->layout, l, second ? (norm ? TW_BETA : TW_BIAS) : (norm ? TW_GAMMA : TW_WEIGHT));

    return param != NULL ? vector + param->first : NULL;
}

static double *state_of(const ref_net_t *ref, size_t l)
{
    return ref->state + (tw_params_state(&ref->layout, l) - ref->layout.state);
}

static const double *input(const ref_part_t *part, int from)
{
    return from < 0 ? part->images : part->y[from];
}

static double *input_gradient(const ref_part_t *part, int from)
{
    return from < 0 ? part->gimages : part->dy[from];
}

/* A concatenation forward or, with the gradient by its output, backward. */
static void join(const tw_network_t *net, const ref_part_t *part, size_t l, const double *dy)
{
    const tw_network_layer_t *layer = &net->layer[l];
    size_t                    first = 0;

    for (size_t i = 0; i < tw_layer_inputs(layer); i++) {
        const size_t c = tw_network_shape(net, layer->input[i]).c;

        if (dy == NULL) {
            ref_concat(layer, first, c, part->n, input(part, layer->input[i]), part->y[l]);
        } else {
            ref_concat_back(layer, first, c, part->n, dy, input_gradient(part, layer->input[i]));
        }
        first += c;
    }
}

/* -------------------------------------------------------------------------- forward */

static void update_running(ref_net_t *ref, size_t l, const double *moments)
{
    const tw_network_layer_t *layer   = &ref->net->layer[l];
    const size_t              c       = layer->out.c;
    const double              old     = layer->momentum;
    const double              freedom = moments[0] > 1.0 ? moments[0] - 1.0 : 1.0;
    double                   *state   = state_of(ref, l);

    for (size_t i = 0; moments[0] > 0.0 && i < c; i++) {
        state[i]     = old * state[i] + (1.0 - old) * moments[1 + i];
        state[c + i] = old * state[c + i] + (1.0 - old) * moments[1 + c + i] / freedom;
    }
}

/* Statistics of layer l for all parts. The running ones stand as those of a single number: its
 * mean, and its squared deviation. */
static void find_moments(ref_net_t *ref, ref_part_t *parts, size_t count, const ref_how_t *how,
                         size_t l)
{
    const tw_network_layer_t *layer = &ref->net->layer[l];
    const size_t              c     = layer->out.c;

    for (size_t p = 0; p < count; p++) {
        double *moments = parts[p].moments[l];

        if (how->training) {
            ref_moments(layer, parts[p].n, input(&parts[p], layer->input[0]), moments);
        } else {
            moments[0] = 1.0;
            memcpy(moments + 1, state_of(ref, l), 2 * c * sizeof(double));
        }
    }
    for (size_t p = 1; how->training && !how->local && p < count; p++) {
        ref_moments_merge(parts[0].moments[l], parts[p].moments[l], c);
    }
    for (size_t p = 1; how->training && !how->local && p < count; p++) {
        memcpy(parts[p].moments[l], parts[0].moments[l], (1 + 2 * c) * sizeof(double));
    }
    if (how->training) {
        update_running(ref, l, parts[0].moments[l]);
    }
}

static void forward_layer(const ref_net_t *ref, ref_part_t *part, const ref_how_t *how, size_t l)
{
    const tw_network_layer_t *layer = &ref->net->layer[l];
    const ref_pass_t          pass  = {how->training, how->seed, how->step, part->examples, 0.0f};
    const double             *x = input(part, layer->input[0]), *w = tensor(ref, ref->value, l, 0);
    const double             *b    = tensor(ref, ref->value, l, 1);
    const size_t              size = part->n * tw_shape_size(layer->out);
    double                   *y    = part->y[l];

    switch (layer->kind) {
    case TW_CONV:
        ref_conv(layer, part->n, x, w, b, y);
        break;
    case TW_DENSE:
        ref_dense(layer, part->n, x, w, b, y);
        break;
    case TW_POOL:
        ref_pool(layer, part->n, x, y);
        break;
    case TW_LRN:
        ref_lrn(layer, part->n, x, y);
        break;
    case TW_NORM:
        ref_norm(layer, part->n, x, part->moments[l], w, b, y);
        break;
    case TW_ADD:
        ref_add(layer, tw_network_shape(ref->net, layer->input[1]), part->n, x,
                input(part, layer->input[1]), y);
        break;
    case TW_CONCAT:
        join(ref->net, part, l, NULL);
        break;
    case TW_ACTIVATION:
    case TW_DROPOUT:
        memcpy(y, x, size * sizeof(double));
        break;
    }
    if (layer->kind == TW_DROPOUT) {
        ref_dropout(layer, part->n, &pass, y);
    } else {
        ref_activate(layer->activation, size, y);
    }
}

double ref_net_forward(ref_net_t *ref, ref_part_t *parts, size_t count, const ref_how_t *how)
{
    const tw_network_t *net  = ref->net;
    const size_t        last = net->layers - 1;
    double              loss = 0.0;

    for (size_t l = 0; l < net->layers; l++) {
        if (net->layer[l].kind == TW_NORM) {
            find_moments(ref, parts, count, how, l);
        }
        for (size_t p = 0; p < count; p++) {
            forward_layer(ref, &parts[p], how, l);
        }
    }
    for (size_t p = 0; p < count; p++) {
        loss += ref_loss(net->loss, net->classes, parts[p].n, parts[p].y[last], parts[p].labels,
                         how->scale, parts[p].dy[last]);
    }
    return loss;
}

/* -------------------------------------------------------------------------- backward */

/* Sums of a normalisation over all parts; gamma's and beta's gradients are those sums. */
static void find_sums(ref_net_t *ref, ref_part_t *parts, size_t count, const ref_how_t *how,
                      size_t l, double *const *dy)
{
    const tw_network_layer_t *layer = &ref->net->layer[l];
    const size_t              c     = layer->out.c;
    double *dgamma = tensor(ref, ref->gradient, l, 0), *dbeta = tensor(ref, ref->gradient, l, 1);

    for (size_t p = 0; p < count; p++) {
        ref_sums(layer, parts[p].n, input(&parts[p], layer->input[0]), parts[p].moments[l], dy[p],
                 parts[p].sums[l]);
        for (size_t i = 0; i < c; i++) {
            dbeta[i] += parts[p].sums[l][i];
            dgamma[i] += parts[p].sums[l][c + i];
        }
    }
    for (size_t p = 1; !how->local && p < count; p++) {
        for (size_t i = 0; i < 2 * c; i++) {
            parts[0].sums[l][i] += parts[p].sums[l][i];
        }
    }
    for (size_t p = 1; !how->local && p < count; p++) {
        memcpy(parts[p].sums[l], parts[0].sums[l], 2 * c * sizeof(double));
    }
}

/* dy is the gradient before the activation. */
static void backward_layer(ref_net_t *ref, ref_part_t *part, const ref_how_t *how, size_t l,
                           double *dy)
{
    const tw_network_layer_t *layer = &ref->net->layer[l];
    const ref_pass_t          pass  = {how->training, how->seed, how->step, part->examples, 0.0f};
    const double             *x = input(part, layer->input[0]), *w = tensor(ref, ref->value, l, 0);
    double *dw = tensor(ref, ref->gradient, l, 0), *db = tensor(ref, ref->gradient, l, 1);
    double *dx = input_gradient(part, layer->input[0]);

    switch (layer->kind) {
    case TW_CONV:
        ref_conv_back(layer, part->n, x, w, dy, dx, dw, db);
        break;
    case TW_DENSE:
        ref_dense_back(layer, part->n, x, w, dy, dx, dw, db);
        break;
    case TW_POOL:
        ref_pool_back(layer, part->n, x, dy, dx);
        break;
    case TW_LRN:
        ref_lrn_back(layer, part->n, x, dy, dx);
        break;
    case TW_NORM:
        ref_norm_back(layer, part->n, x, part->moments[l], part->sums[l], w, dy, dx);
        break;
    case TW_ADD:
        ref_add_back(layer, tw_network_shape(ref->net, layer->input[1]), part->n, dy, dx,
                     input_gradient(part, layer->input[1]));
        break;
    case TW_CONCAT:
        join(ref->net, part, l, dy);
        break;
    case TW_DROPOUT:
        ref_dropout(layer, part->n, &pass, dy);
        /* fall through */
    case TW_ACTIVATION:
        for (size_t k = 0; k < part->n * tw_shape_size(layer->out); k++) {
            dx[k] += dy[k];
        }
        break;
    }
}

void ref_net_backward(ref_net_t *ref, ref_part_t *parts, size_t count, const ref_how_t *how)
{
    const tw_network_t *net = ref->net;
    double            **dy  = zeros(count, sizeof(dy[0]));

    memset(ref->gradient, 0, ref->layout.total * sizeof(double));
    for (size_t p = 0; p < count; p++) {
        memset(parts[p].gimages, 0, parts[p].n * tw_shape_size(net->input) * sizeof(double));
        for (size_t l = 0; l + 1 < net->layers; l++) {
            memset(parts[p].dy[l], 0,
                   parts[p].n * tw_shape_size(net->layer[l].out) * sizeof(double));
        }
    }
    for (size_t l = net->layers; l-- > 0;) {
        for (size_t p = 0; p < count; p++) {
            const size_t size = parts[p].n * tw_shape_size(net->layer[l].out);

            dy[p] = doubles(size);
            memcpy(dy[p], parts[p].dy[l], size * sizeof(double));
            if (net->layer[l].kind != TW_DROPOUT) {
                ref_activate_back(net->layer[l].activation, size, parts[p].y[l], dy[p]);
            }
        }
        if (net->layer[l].kind == TW_NORM) {
            find_sums(ref, parts, count, how, l, dy);
        }
        for (size_t p = 0; p < count; p++) {
            backward_layer(ref, &parts[p], how, l, dy[p]);
            free(dy[p]);
        }
    }
    free(dy);
}

void ref_net_update(ref_net_t *ref, double rate, double momentum, double decay)
{
    for (size_t i = 0; i < ref->layout.count; i++) {
        const tw_param_t *param = &ref->layout.param[i];

        for (size_t k = param->first; k < param->first + param->count; k++) {
            const double g = ref->gradient[k] + decay * param->decay * ref->value[k];

            ref->momentum[k] = momentum * ref->momentum[k] + rate * param->rate * g;
            ref->value[k] -= ref->momentum[k];
        }
    }
}
