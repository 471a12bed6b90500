/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/backend_net.c - networks for tests of backends, in plain double; see backend_net.h.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/train/backend_net.h"
#include "train/base/random.h"

uint64_t net_seed(void)
{
    const char    *text = getenv("TW_SEED");
    const uint64_t seed = text == NULL ? 20 : strtoull(text, NULL, 10);

    return seed;
}

/* ---- networks ---- */

numbers_t net_draw(uint64_t key, size_t count, float scale, float middle)
{
    numbers_t v = {.count = count};

    v.f   = calloc(count + 1, sizeof(*v.f));
    v.got = calloc(count + 1, sizeof(*v.got));
    v.d   = calloc(count + 1, sizeof(*v.d));
    v.g   = calloc(count + 1, sizeof(*v.g));
    for (size_t i = 0; i < count; i++) {
        v.f[i] = middle + scale * (2.0f * tw_random_uniform(key, i) - 1.0f);
        v.d[i] = (double)v.f[i];
    }
    return v;
}

tw_shape_t net_shape_of(const net_t *net, int index)
{
    return index < 0 ? net->input : net->layer[index].l.out;
}

void net_begin(net_t *net, const char *name, size_t n, tw_shape_t input)
{
    memset(net, 0, sizeof(*net));
    net->name     = name;
    net->n        = n;
    net->input    = input;
    net->key      = tw_random_key(net_seed(), TW_RANDOM_WEIGHTS, n, input.c);
    net->examples = calloc(n, sizeof(*net->examples));
    for (size_t i = 0; i < n; i++) {
        net->examples[i] = 1000 + 17 * i;
    }
}

/* A new layer whose output has its input's shape; the rest is set by the caller. */
static tw_network_layer_t *next(net_t *net, tw_layer_kind_t kind, int from)
{
    tw_network_layer_t *l = &net->layer[net->layers].l;

    ck_assert_uint_lt(net->layers, LAYERS_MAX);
    (void)snprintf(l->name, sizeof(l->name), "%s%zu", tw_kind_name(kind), net->layers);
    l->kind     = kind;
    l->input[0] = from;
    for (size_t i = 1; i < TW_LAYER_INPUTS; i++) {
        l->input[i] = -2;
    }
    l->in        = net_shape_of(net, from);
    l->out       = l->in;
    l->groups    = 1;
    l->stride[0] = l->stride[1] = 1;
    net->layers++;
    return l;
}

static size_t windows(size_t in, size_t kernel, size_t stride, size_t pad, int up)
{
    const size_t span = in + 2 * pad - kernel;

    return (up ? span + stride - 1 : span) / stride + 1;
}

static void set_windows(tw_network_layer_t *l, size_t kh, size_t kw, size_t s, size_t p)
{
    l->kernel[0] = kh;
    l->kernel[1] = kw;
    l->stride[0] = l->stride[1] = s;
    l->pad[0] = l->pad[1] = p;
    l->out.h              = windows(l->in.h, kh, s, p, l->ceil);
    l->out.w              = windows(l->in.w, kw, s, p, l->ceil);
}

static int conv(net_t *net, int from, size_t c, size_t kh, size_t kw, size_t s, size_t p,
                size_t groups, int bias, tw_activation_t f)
{
    layer_t            *layer = &net->layer[net->layers];
    tw_network_layer_t *l     = next(net, TW_CONV, from);
    const size_t        fan   = l->in.c / groups * kh * kw;

    l->groups     = groups;
    l->bias       = bias;
    l->activation = f;
    l->out.c      = c;
    set_windows(l, kh, kw, s, p);
    layer->w = net_draw(net->key + net->layers, c * fan, 2.0f / sqrtf((float)fan), 0.0f);
    layer->b = net_draw(net->key - net->layers, bias ? c : 0, 0.5f, 0.0f);
    return (int)net->layers - 1;
}

int net_conv(net_t *net, int from, size_t c, size_t kh, size_t kw, size_t s, size_t p, int bias,
             tw_activation_t f)
{
    return conv(net, from, c, kh, kw, s, p, 1, bias, f);
}

int net_conv_groups(net_t *net, int from, size_t c, size_t k, size_t s, size_t groups)
{
    return conv(net, from, c, k, k, s, k / 2, groups, 1, TW_RELU);
}

int net_pool(net_t *net, int from, tw_pooling_t how, size_t k, size_t s, size_t p, int up,
             int count_pad)
{
    tw_network_layer_t *l = next(net, TW_POOL, from);

    l->pooling   = how;
    l->ceil      = up;
    l->count_pad = count_pad;
    set_windows(l, k, k, s, p);
    return (int)net->layers - 1;
}

int net_lrn(net_t *net, int from, size_t size)
{
    tw_network_layer_t *l = next(net, TW_LRN, from);

    l->lrn_size  = size;
    l->lrn_scale = 0.05f;
    l->lrn_power = 0.75f;
    l->lrn_k     = 1.5f;
    return (int)net->layers - 1;
}

int net_norm(net_t *net, int from, tw_activation_t f)
{
    layer_t            *layer = &net->layer[net->layers];
    tw_network_layer_t *l     = next(net, TW_NORM, from);

    l->epsilon    = 1e-5f;
    l->activation = f;
    layer->w      = net_draw(net->key + net->layers, l->in.c, 0.5f, 1.0f);
    layer->b      = net_draw(net->key - net->layers, l->in.c, 0.5f, 0.0f);
    return (int)net->layers - 1;
}

int net_add(net_t *net, int first, int second, tw_activation_t f)
{
    tw_network_layer_t *l = next(net, TW_ADD, first);

    l->input[1]   = second;
    l->activation = f;
    l->stride[0] = l->stride[1] = (net_shape_of(net, second).h + l->out.h - 1) / l->out.h;
    return (int)net->layers - 1;
}

int net_concat(net_t *net, const int *from, size_t inputs)
{
    tw_network_layer_t *l = next(net, TW_CONCAT, from[0]);

    for (size_t i = 1; i < inputs; i++) {
        l->input[i] = from[i];
        l->out.c += net_shape_of(net, from[i]).c;
    }
    return (int)net->layers - 1;
}

int net_activation(net_t *net, int from, tw_activation_t f)
{
    next(net, TW_ACTIVATION, from)->activation = f;
    return (int)net->layers - 1;
}

int net_dropout(net_t *net, int from, float rate)
{
    tw_network_layer_t *l = next(net, TW_DROPOUT, from);

    l->rate = rate;
    l->drop = net->layers % 64;
    return (int)net->layers - 1;
}

void net_numbers_free(numbers_t *v)
{
    free(v->f);
    free(v->got);
    free(v->d);
    free(v->g);
}

void net_end(net_t *net)
{
    for (size_t i = 0; i < net->layers; i++) {
        net_numbers_free(&net->layer[i].w);
        net_numbers_free(&net->layer[i].b);
        free(net->layer[i].y);
        free(net->layer[i].dy);
        free(net->layer[i].moments);
    }
    net_numbers_free(&net->x);
    net_numbers_free(&net->out);
    free(net->examples);
}

/* ---- the reference ---- */

const double *net_value_of(const net_t *net, int index)
{
    return index < 0 ? net->x.d : net->layer[index].y;
}

double *net_gradient_of(net_t *net, int index)
{
    return index < 0 ? net->x.g : net->layer[index].dy;
}

float net_fixed_mean(size_t c)
{
    return 0.1f * (float)(c % 5) - 0.2f;
}

float net_fixed_var(size_t c)
{
    return 0.5f + 0.25f * (float)(c % 3);
}

static void ref_statistics(const net_t *net, layer_t *layer, const double *x, int training)
{
    const size_t c = layer->l.in.c;

    if (training) {
        ref_moments(&layer->l, net->n, x, layer->moments);
        return;
    }
    layer->moments[0] = 1.0;
    for (size_t i = 0; i < c; i++) {
        layer->moments[1 + i]     = (double)net_fixed_mean(i);
        layer->moments[1 + c + i] = (double)net_fixed_var(i);
    }
}

/* A concatenation forward or, with the gradient by its output, backward. */
static void join(net_t *net, layer_t *layer, const double *dy)
{
    const tw_network_layer_t *l     = &layer->l;
    size_t                    first = 0;

    for (size_t i = 0; i < tw_layer_inputs(l); i++) {
        const size_t c = net_shape_of(net, l->input[i]).c;

        if (dy == NULL) {
            ref_concat(l, first, c, net->n, net_value_of(net, l->input[i]), layer->y);
        } else {
            ref_concat_back(l, first, c, net->n, dy, net_gradient_of(net, l->input[i]));
        }
        first += c;
    }
}

static void note_nearest(net_t *net, const double *y, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (y[i] != 0.0 && fabs(y[i]) < net->nearest) {
            net->nearest = fabs(y[i]);
        }
    }
}

void net_ref_forward(net_t *net, const ref_pass_t *pass)
{
    net->nearest = 1.0;
    for (size_t i = 0; i < net->layers; i++) {
        layer_t                  *layer = &net->layer[i];
        const tw_network_layer_t *l     = &layer->l;
        const double             *x     = net_value_of(net, l->input[0]);
        const size_t              count = net->n * tw_shape_size(l->out);

        free(layer->y);
        layer->y = calloc(count, sizeof(double));
        switch (l->kind) {
        case TW_CONV:
            ref_conv(l, net->n, x, layer->w.d, l->bias ? layer->b.d : NULL, layer->y);
            break;
        case TW_POOL:
            ref_pool(l, net->n, x, layer->y);
            break;
        case TW_LRN:
            ref_lrn(l, net->n, x, layer->y);
            break;
        case TW_NORM:
            free(layer->moments);
            layer->moments = calloc(1 + 2 * l->in.c, sizeof(double));
            ref_statistics(net, layer, x, pass->training);
            ref_norm(l, net->n, x, layer->moments, layer->w.d, layer->b.d, layer->y);
            break;
        case TW_ADD:
            ref_add(l, net_shape_of(net, l->input[1]), net->n, x, net_value_of(net, l->input[1]),
                    layer->y);
            break;
        case TW_CONCAT:
            join(net, layer, NULL);
            break;
        default:
            memcpy(layer->y, x, count * sizeof(double));
            if (l->kind == TW_DROPOUT) {
                ref_dropout(l, net->n, pass, layer->y);
            }
            break;
        }
        if (l->activation == TW_RELU) {
            note_nearest(net, layer->y, count);
        }
        ref_activate(l->activation, count, layer->y);
    }
}

static void ref_backward_layer(net_t *net, layer_t *layer, const ref_pass_t *pass)
{
    const tw_network_layer_t *l  = &layer->l;
    const double             *x  = net_value_of(net, l->input[0]);
    double                   *dx = net_gradient_of(net, l->input[0]);
    const size_t              c = l->in.c, count = net->n * tw_shape_size(l->out);
    double                    sums[512];

    ref_activate_back(l->activation, count, layer->y, layer->dy);
    switch (l->kind) {
    case TW_CONV:
        ref_conv_back(l, net->n, x, layer->w.d, layer->dy, dx, layer->w.g,
                      l->bias ? layer->b.g : NULL);
        break;
    case TW_POOL:
        ref_pool_back(l, net->n, x, layer->dy, dx);
        break;
    case TW_LRN:
        ref_lrn_back(l, net->n, x, layer->dy, dx);
        break;
    case TW_NORM:
        ck_assert_uint_le(2 * c, 512);
        ref_sums(l, net->n, x, layer->moments, layer->dy, sums);
        memcpy(layer->b.g, sums, c * sizeof(double));
        memcpy(layer->w.g, sums + c, c * sizeof(double));
        ref_norm_back(l, net->n, x, layer->moments, sums, layer->w.d, layer->dy, dx);
        break;
    case TW_ADD:
        ref_add_back(l, net_shape_of(net, l->input[1]), net->n, layer->dy, dx,
                     net_gradient_of(net, l->input[1]));
        break;
    case TW_CONCAT:
        join(net, layer, layer->dy);
        break;
    default:
        if (l->kind == TW_DROPOUT) {
            ref_dropout(l, net->n, pass, layer->dy);
        }
        for (size_t i = 0; i < count; i++) {
            dx[i] += layer->dy[i];
        }
        break;
    }
}

void net_ref_backward(net_t *net, const ref_pass_t *pass)
{
    for (size_t i = 0; i < net->layers; i++) {
        layer_t *layer = &net->layer[i];

        free(layer->dy);
        layer->dy = calloc(net->n * tw_shape_size(layer->l.out), sizeof(double));
        for (size_t k = 0; k < layer->w.count; k++) {
            layer->w.g[k] = 0.0;
        }
        for (size_t k = 0; k < layer->b.count; k++) {
            layer->b.g[k] = 0.0;
        }
    }
    memcpy(net->layer[net->layers - 1].dy, net->out.d, net->out.count * sizeof(double));
    for (size_t i = net->layers; i > 0; i--) {
        ref_backward_layer(net, &net->layer[i - 1], pass);
    }
}

/* Images and the output's gradient, drawn again while some unit is so near to 0 that float and
 * double may differ on its side of it. */
void net_draw_step(net_t *net, uint64_t step, const ref_pass_t *pass)
{
    const size_t size = tw_shape_size(net->layer[net->layers - 1].l.out);

    for (uint64_t again = 0; again < 200; again++) {
        net_numbers_free(&net->x);
        net_numbers_free(&net->out);
        net->x = net_draw(net->key + 100 + step + 1000 * again, net->n * tw_shape_size(net->input),
                          1.0f, 0.1f);
        for (size_t i = 0; net->grid > 0.0f && i < net->x.count; i++) {
            net->x.f[i] = roundf(net->x.f[i] / net->grid) * net->grid;
            net->x.d[i] = (double)net->x.f[i];
        }
        net->out = net_draw(net->key + 200 + step, net->n * size, 1.0f, 0.0f);
        net_ref_forward(net, pass);
        if (net->nearest > 5e-6) {
            return;
        }
    }
    ck_abort_msg("%s, n = %zu: always some unit near 0", net->name, net->n);
}
