/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_backend.c - a backend against layers in plain double (reference.h): small
 * networks of every operation, forward, backward and evaluated. On the host at every instruction set,
 * with one and two threads; on the stand-in for CUDA with other orders of execution. TW_SEED=N draws
 * other numbers.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thinwire/thinwire.h"
#include "tests/suite.h"
#include "tests/train/backend_here.h"
#include "tests/train/reference.h"
#include "train/random.h"

enum { LAYERS_MAX = 24 };

static uint64_t seed_of(void)
{
    const char    *text = getenv("TW_SEED");
    const uint64_t seed = text == NULL ? 20 : strtoull(text, NULL, 10);

    return seed;
}

/* ---- networks ---- */

/* Numbers in float, as the backend has them, and in double, as the reference computes. */
typedef struct numbers {
    size_t  count;
    float  *f, *got;       /* got: gradients by the backend      */
    double *d, *g;         /* g: gradients by the reference      */
    float  *on, *gradient; /* f and got in memory of the backend */
} numbers_t;

typedef struct layer {
    tw_network_layer_t l;
    numbers_t          w, b;
    double            *y, *dy, *moments;
    tw_tensor_t       *tensor;
    tw_op_t           *op;
} layer_t;

typedef struct net {
    const char *name;
    size_t      n, layers;
    tw_shape_t  input;
    uint64_t    key;
    layer_t     layer[LAYERS_MAX];
    numbers_t   x, out; /* image; output's gradient */
    uint64_t   *examples;
    double      nearest; /* to 0, of what the reference rectified and was not 0 */
} net_t;

static numbers_t draw(uint64_t key, size_t count, float scale, float middle)
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

static tw_shape_t shape_of(const net_t *net, int index)
{
    return index < 0 ? net->input : net->layer[index].l.out;
}

static void net_begin(net_t *net, const char *name, size_t n, tw_shape_t input)
{
    memset(net, 0, sizeof(*net));
    net->name     = name;
    net->n        = n;
    net->input    = input;
    net->key      = tw_random_key(seed_of(), TW_RANDOM_WEIGHTS, n, input.c);
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
    l->kind      = kind;
    l->input[0]  = from;
    l->input[1]  = -2;
    l->in        = shape_of(net, from);
    l->out       = l->in;
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

static int conv(net_t *net, int from, size_t c, size_t kh, size_t kw, size_t s, size_t p, int bias,
                tw_activation_t f)
{
    layer_t            *layer = &net->layer[net->layers];
    tw_network_layer_t *l     = next(net, TW_CONV, from);
    const size_t        fan   = l->in.c * kh * kw;

    l->bias       = bias;
    l->activation = f;
    l->out.c      = c;
    set_windows(l, kh, kw, s, p);
    layer->w = draw(net->key + net->layers, c * fan, 2.0f / sqrtf((float)fan), 0.0f);
    layer->b = draw(net->key - net->layers, bias ? c : 0, 0.5f, 0.0f);
    return (int)net->layers - 1;
}

static int pool(net_t *net, int from, tw_pooling_t how, size_t k, size_t s, size_t p, int up,
                int count_pad)
{
    tw_network_layer_t *l = next(net, TW_POOL, from);

    l->pooling   = how;
    l->ceil      = up;
    l->count_pad = count_pad;
    set_windows(l, k, k, s, p);
    return (int)net->layers - 1;
}

static int lrn(net_t *net, int from, size_t size)
{
    tw_network_layer_t *l = next(net, TW_LRN, from);

    l->lrn_size  = size;
    l->lrn_scale = 0.05f;
    l->lrn_power = 0.75f;
    l->lrn_k     = 1.5f;
    return (int)net->layers - 1;
}

static int norm(net_t *net, int from, tw_activation_t f)
{
    layer_t            *layer = &net->layer[net->layers];
    tw_network_layer_t *l     = next(net, TW_NORM, from);

    l->epsilon    = 1e-5f;
    l->activation = f;
    layer->w      = draw(net->key + net->layers, l->in.c, 0.5f, 1.0f);
    layer->b      = draw(net->key - net->layers, l->in.c, 0.5f, 0.0f);
    return (int)net->layers - 1;
}

static int add(net_t *net, int first, int second, tw_activation_t f)
{
    tw_network_layer_t *l = next(net, TW_ADD, first);

    l->input[1]   = second;
    l->activation = f;
    l->stride[0] = l->stride[1] = (shape_of(net, second).h + l->out.h - 1) / l->out.h;
    return (int)net->layers - 1;
}

static int activation(net_t *net, int from, tw_activation_t f)
{
    next(net, TW_ACTIVATION, from)->activation = f;
    return (int)net->layers - 1;
}

static int dropout(net_t *net, int from, float rate)
{
    tw_network_layer_t *l = next(net, TW_DROPOUT, from);

    l->rate = rate;
    l->drop = net->layers % 64;
    return (int)net->layers - 1;
}

static void numbers_free(numbers_t *v)
{
    free(v->f);
    free(v->got);
    free(v->d);
    free(v->g);
}

static void net_end(net_t *net)
{
    for (size_t i = 0; i < net->layers; i++) {
        numbers_free(&net->layer[i].w);
        numbers_free(&net->layer[i].b);
        free(net->layer[i].y);
        free(net->layer[i].dy);
        free(net->layer[i].moments);
    }
    numbers_free(&net->x);
    numbers_free(&net->out);
    free(net->examples);
}

/* ---- the reference ---- */

static const double *value_of(const net_t *net, int index)
{
    return index < 0 ? net->x.d : net->layer[index].y;
}

static double *gradient_of(net_t *net, int index)
{
    return index < 0 ? net->x.g : net->layer[index].dy;
}

/* Running statistics that no batch has: so evaluation must use them. */
static float fixed_mean(size_t c)
{
    return 0.1f * (float)(c % 5) - 0.2f;
}

static float fixed_var(size_t c)
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
        layer->moments[1 + i]     = (double)fixed_mean(i);
        layer->moments[1 + c + i] = (double)fixed_var(i);
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

static void ref_forward(net_t *net, const ref_pass_t *pass)
{
    net->nearest = 1.0;
    for (size_t i = 0; i < net->layers; i++) {
        layer_t                  *layer = &net->layer[i];
        const tw_network_layer_t *l     = &layer->l;
        const double             *x     = value_of(net, l->input[0]);
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
            ref_add(l, shape_of(net, l->input[1]), net->n, x, value_of(net, l->input[1]), layer->y);
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
    const double             *x  = value_of(net, l->input[0]);
    double                   *dx = gradient_of(net, l->input[0]);
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
        ref_add_back(l, shape_of(net, l->input[1]), net->n, layer->dy, dx,
                     gradient_of(net, l->input[1]));
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

static void ref_backward(net_t *net, const ref_pass_t *pass)
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

/* ---- the backend ---- */

typedef struct built {
    tw_backend_t *backend;
    tw_graph_t   *graph;
    tw_problem_t  problem;
    float        *input, *gradient;
    const float  *output;
    float        *got;            /* the output, for the host to read       */
    size_t        count;          /* of its numbers                         */
    double       *moments, *sums; /* [513], [512]: of one layer after another */
    float        *fixed;          /* [2][256]                               */
    tw_op_t      *end;
} built_t;

static void *room(built_t *b, size_t bytes)
{
    void *p;

    ck_assert_msg(tw_backend_allocate(b->backend, bytes, &p, &b->problem) == 0, "%s",
                  b->problem.text);
    return p;
}

static void put(built_t *b, void *to, const void *from, size_t bytes)
{
    ck_assert_int_eq(tw_backend_put(b->backend, to, from, bytes, &b->problem), 0);
}

static void get(built_t *b, void *to, const void *from, size_t bytes)
{
    ck_assert_msg(tw_backend_get(b->backend, to, from, bytes, &b->problem) == 0, "%s",
                  b->problem.text);
}

static void lend(built_t *b, numbers_t *v)
{
    v->on       = room(b, v->count * sizeof(float));
    v->gradient = room(b, v->count * sizeof(float));
    put(b, v->on, v->f, v->count * sizeof(float));
}

static void take_back(built_t *b, numbers_t *v)
{
    tw_backend_release(b->backend, v->on);
    tw_backend_release(b->backend, v->gradient);
    v->on = v->gradient = NULL;
}

static tw_tensor_t *tensor_of(net_t *net, tw_tensor_t *image, int index)
{
    return index < 0 ? image : net->layer[index].tensor;
}

static int build_layer(net_t *net, built_t *b, tw_tensor_t *image, layer_t *layer, int gradients)
{
    const tw_network_layer_t *l      = &layer->l;
    tw_tensor_t              *x      = tensor_of(net, image, l->input[0]);
    tw_op_params_t            params = {.w = NULL};

    lend(b, &layer->w);
    lend(b, &layer->b);
    params.w  = layer->w.on;
    params.b  = layer->b.count > 0 ? layer->b.on : NULL;
    params.gw = gradients ? layer->w.gradient : NULL;
    params.gb = gradients && layer->b.count > 0 ? layer->b.gradient : NULL;
    switch (l->kind) {
    case TW_CONV:
        return tw_graph_conv(b->graph, l, params, x, &layer->tensor, &layer->op, &b->problem);
    case TW_POOL:
        return tw_graph_pool(b->graph, l, x, &layer->tensor, &layer->op, &b->problem);
    case TW_LRN:
        return tw_graph_lrn(b->graph, l, x, &layer->tensor, &layer->op, &b->problem);
    case TW_NORM:
        return tw_graph_norm(b->graph, l, params, x, &layer->tensor, &layer->op, &b->problem);
    case TW_ADD:
        return tw_graph_add(b->graph, l, x, tensor_of(net, image, l->input[1]), &layer->tensor,
                            &layer->op, &b->problem);
    case TW_ACTIVATION:
        return tw_graph_activation(b->graph, l, x, &layer->tensor, &layer->op, &b->problem);
    default:
        return tw_graph_dropout(b->graph, l, x, &layer->tensor, &layer->op, &b->problem);
    }
}

static void build(net_t *net, built_t *b, const tw_compute_kernels_t *kernels, int threads,
                  int gradients)
{
    tw_tensor_t *image;

    memset(b, 0, sizeof(*b));
    ck_assert_msg(backend_here(&b->backend, kernels, threads, &b->problem) == 0, "%s",
                  b->problem.text);
    b->moments = room(b, 513 * sizeof(double));
    b->sums    = room(b, 512 * sizeof(double));
    b->fixed   = room(b, 512 * sizeof(float));
    b->count   = net->n * tw_shape_size(net->layer[net->layers - 1].l.out);
    b->got     = calloc(b->count, sizeof(float));
    ck_assert_int_eq(tw_graph_create(b->backend, net->n, &b->graph, &b->problem), 0);
    ck_assert_int_eq(tw_graph_input(b->graph, net->input, &image, &b->input, &b->problem), 0);
    for (size_t i = 0; i < net->layers; i++) {
        ck_assert_msg(build_layer(net, b, image, &net->layer[i], gradients) == 0, "%s: %s",
                      net->name, b->problem.text);
    }
    ck_assert_int_eq(tw_graph_output(b->graph, net->layer[net->layers - 1].tensor, &b->output,
                                     &b->gradient, &b->end, &b->problem),
                     0);
}

static void built_end(net_t *net, built_t *b)
{
    tw_graph_destroy(b->graph);
    for (size_t i = 0; i < net->layers; i++) {
        take_back(b, &net->layer[i].w);
        take_back(b, &net->layer[i].b);
    }
    tw_backend_release(b->backend, b->moments);
    tw_backend_release(b->backend, b->sums);
    tw_backend_release(b->backend, b->fixed);
    ck_assert_uint_eq(tw_backend_memory_used(b->backend), backend_keeps(b->backend));
    tw_backend_destroy(b->backend);
    free(b->got);
}

static void run_forward(net_t *net, built_t *b, const tw_op_pass_t *pass)
{
    put(b, b->input, net->x.f, net->x.count * sizeof(float));
    for (size_t i = 0; i < net->layers; i++) {
        layer_t     *layer = &net->layer[i];
        const size_t c     = layer->l.in.c;

        if (layer->l.kind == TW_NORM && pass->training) {
            tw_op_norm_moments(layer->op, b->moments);
            tw_op_norm_set(layer->op, b->moments);
        } else if (layer->l.kind == TW_NORM) {
            float mean[256], var[256];

            for (size_t k = 0; k < c; k++) {
                mean[k] = fixed_mean(k);
                var[k]  = fixed_var(k);
            }
            put(b, b->fixed, mean, c * sizeof(float));
            put(b, b->fixed + c, var, c * sizeof(float));
            tw_op_norm_fixed(layer->op, b->fixed, b->fixed + c);
        }
        tw_op_forward(layer->op, pass);
    }
    tw_op_forward(b->end, pass);
    get(b, b->got, b->output, b->count * sizeof(float));
}

static void run_backward(net_t *net, built_t *b)
{
    put(b, b->gradient, net->out.f, net->out.count * sizeof(float));
    ck_assert_msg(tw_graph_backward_begin(b->graph, &b->problem) == 0, "%s", b->problem.text);
    tw_op_backward_params(b->end);
    tw_op_backward_data(b->end);
    for (size_t i = net->layers; i > 0; i--) {
        layer_t *layer = &net->layer[i - 1];

        if (layer->l.kind == TW_NORM) {
            const double count = (double)net->n * (double)(layer->l.in.h * layer->l.in.w);

            put(b, b->moments, &count, sizeof(count));
            tw_op_norm_sums(layer->op, b->sums);
            tw_op_norm_set_sums(layer->op, b->sums, b->moments);
        }
        tw_op_backward_params(layer->op);
        tw_op_backward_data(layer->op);
    }
    ck_assert_msg(tw_graph_finish(b->graph, &b->problem) == 0, "%s", b->problem.text);
    for (size_t i = 0; i < net->layers; i++) {
        layer_t *layer = &net->layer[i];

        get(b, layer->w.got, layer->w.gradient, layer->w.count * sizeof(float));
        get(b, layer->b.got, layer->b.gradient, layer->b.count * sizeof(float));
    }
}

/* ---- comparing ---- */

static void close_to(const net_t *net, const char *what, const float *got, const double *want,
                     size_t count)
{
    double most = 0.0;

    for (size_t i = 0; i < count; i++) {
        most = fabs(want[i]) > most ? fabs(want[i]) : most;
    }
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(fabs((double)got[i] - want[i]) <= 3e-5 * most + 1e-6,
                      "%s, n = %zu, %s[%zu]: %.9g, not %.9g (largest %.3g); seed %llu", net->name,
                      net->n, what, i, (double)got[i], want[i], most,
                      (unsigned long long)seed_of());
    }
}

static void check_gradients(net_t *net)
{
    char what[64];

    for (size_t i = net->layers; i > 0; i--) {
        const layer_t *layer = &net->layer[i - 1];

        (void)snprintf(what, sizeof(what), "gradient of %s's weights", layer->l.name);
        close_to(net, what, layer->w.got, layer->w.g, layer->w.count);
        (void)snprintf(what, sizeof(what), "gradient of %s's biases", layer->l.name);
        close_to(net, what, layer->b.got, layer->b.g, layer->b.count);
    }
}

/* Images and the output's gradient, drawn again while some unit is so near to 0 that float and
 * double may differ on its side of it. */
static void draw_step(net_t *net, uint64_t step, const ref_pass_t *pass)
{
    const size_t size = tw_shape_size(net->layer[net->layers - 1].l.out);

    for (uint64_t again = 0; again < 200; again++) {
        numbers_free(&net->x);
        numbers_free(&net->out);
        net->x   = draw(net->key + 100 + step + 1000 * again, net->n * tw_shape_size(net->input),
                        1.0f, 0.1f);
        net->out = draw(net->key + 200 + step, net->n * size, 1.0f, 0.0f);
        ref_forward(net, pass);
        if (net->nearest > 5e-6) {
            return;
        }
    }
    ck_abort_msg("%s, n = %zu: always some unit near 0", net->name, net->n);
}

/* Two training steps with different inputs, so that nothing of the first may stay; then an
 * evaluation by a graph of its own. */
static void check_net(net_t *net, const tw_compute_kernels_t *kernels, int threads)
{
    const size_t last = net->layers - 1;
    built_t      b;

    build(net, &b, kernels, threads, 1);
    for (uint64_t step = 0; step < 3; step++) {
        const int        training = step < 2;
        const ref_pass_t ref      = {
                 .training = training, .seed = 5, .step = step, .examples = net->examples};
        const tw_op_pass_t pass = {
            .training = training, .seed = 5, .step = step, .examples = net->examples};

        if (!training) {
            built_end(net, &b);
            build(net, &b, kernels, threads, 0);
        }
        draw_step(net, step, &ref);
        run_forward(net, &b, &pass);
        close_to(net, training ? "output" : "output of evaluation", b.got, net->layer[last].y,
                 net->out.count);
        if (training) {
            ref_backward(net, &ref);
            run_backward(net, &b);
            check_gradients(net);
        }
    }
    ck_assert_int_eq(tw_graph_backward_begin(b.graph, &b.problem), -1);
    built_end(net, &b);
}

/* ---- the networks ---- */

static void convolutions(net_t *net, size_t n)
{
    int l;

    net_begin(net, "convolutions", n, (tw_shape_t){3, 11, 13});
    l = conv(net, -1, 20, 5, 3, 2, 2, 1, TW_RELU);
    l = conv(net, l, 16, 3, 3, 1, 1, 0, TW_LINEAR);
    l = conv(net, l, 33, 1, 1, 1, 0, 1, TW_LOGISTIC);
    l = conv(net, l, 32, 3, 1, 1, 0, 1, TW_RELU);
    (void)conv(net, l, 7, 2, 3, 2, 1, 1, TW_LINEAR);
}

static void one_channel(net_t *net, size_t n)
{
    int l;

    net_begin(net, "one channel", n, (tw_shape_t){1, 12, 12});
    l = conv(net, -1, 6, 5, 5, 1, 0, 1, TW_RELU);
    l = pool(net, l, TW_POOL_MAX, 2, 2, 0, 0, 0);
    l = conv(net, l, 10, 3, 3, 1, 1, 1, TW_RELU);
    (void)pool(net, l, TW_POOL_AVERAGE, 4, 4, 0, 0, 0);
}

static void poolings(net_t *net, size_t n)
{
    int l;

    net_begin(net, "poolings", n, (tw_shape_t){3, 19, 17});
    l = conv(net, -1, 18, 1, 1, 1, 0, 0, TW_LINEAR);
    l = pool(net, l, TW_POOL_MAX, 3, 2, 0, 1, 0);
    l = pool(net, l, TW_POOL_AVERAGE, 3, 1, 1, 0, 0);
    l = pool(net, l, TW_POOL_AVERAGE, 3, 2, 1, 0, 1);
    l = pool(net, l, TW_POOL_MAX, 3, 1, 1, 0, 0);
    (void)pool(net, l, TW_POOL_AVERAGE, 2, 2, 0, 1, 0);
}

static void responses(net_t *net, size_t n)
{
    int l;

    net_begin(net, "responses", n, (tw_shape_t){3, 9, 8});
    l = conv(net, -1, 32, 3, 3, 1, 1, 1, TW_RELU);
    l = lrn(net, l, 5);
    l = pool(net, l, TW_POOL_MAX, 3, 2, 0, 0, 0);
    l = conv(net, l, 19, 3, 3, 1, 1, 1, TW_RELU);
    (void)lrn(net, l, 3);
}

static void units(net_t *net, size_t n)
{
    int l;

    net_begin(net, "units", n, (tw_shape_t){3, 6, 7});
    l = conv(net, -1, 21, 3, 3, 1, 1, 1, TW_LINEAR);
    l = activation(net, l, TW_LOGISTIC);
    l = dropout(net, l, 0.4f);
    l = conv(net, l, 32, 1, 1, 1, 0, 1, TW_LINEAR);
    l = activation(net, l, TW_RELU);
    (void)dropout(net, l, 0.25f);
}

/* Blocks as in networks for CIFAR-10: an identity, one that halves the image and doubles the
 * channels by option A, one with a convolution in the shortcut. */
static void residuals(net_t *net, size_t n)
{
    int l, s;

    net_begin(net, "residuals", n, (tw_shape_t){3, 9, 10});
    l = conv(net, -1, 16, 3, 3, 1, 1, 0, TW_LINEAR);
    s = norm(net, l, TW_RELU);
    l = norm(net, conv(net, s, 16, 3, 3, 1, 1, 0, TW_LINEAR), TW_RELU);
    l = norm(net, conv(net, l, 16, 3, 3, 1, 1, 0, TW_LINEAR), TW_LINEAR);
    s = add(net, l, s, TW_RELU);
    l = norm(net, conv(net, s, 32, 3, 3, 2, 1, 0, TW_LINEAR), TW_RELU);
    l = norm(net, conv(net, l, 32, 3, 3, 1, 1, 0, TW_LINEAR), TW_LINEAR);
    s = add(net, l, s, TW_RELU);
    l = norm(net, conv(net, s, 40, 3, 3, 1, 1, 0, TW_LINEAR), TW_LINEAR);
    s = norm(net, conv(net, s, 40, 1, 1, 1, 0, 1, TW_LINEAR), TW_LINEAR);
    l = add(net, l, s, TW_RELU);
    (void)pool(net, l, TW_POOL_AVERAGE, 5, 5, 0, 0, 0);
}

/* Tensors with three consumers, sums of sums, a sum of one tensor with itself, activations between;
 * normalisation of odd channels, of the image itself, with a logistic. */
static void consumers(net_t *net, size_t n)
{
    int a, b, c, d;

    net_begin(net, "consumers", n, (tw_shape_t){3, 5, 5});
    a = conv(net, norm(net, -1, TW_LINEAR), 13, 3, 3, 1, 1, 1, TW_RELU);
    b = conv(net, a, 13, 3, 3, 1, 1, 1, TW_RELU);
    c = norm(net, a, TW_LOGISTIC);
    d = add(net, b, a, TW_LINEAR);
    d = add(net, d, c, TW_RELU);
    d = add(net, d, c, TW_LINEAR);
    d = add(net, d, d, TW_LINEAR);
    d = norm(net, d, TW_RELU);
    c = dropout(net, d, 0.3f);
    c = add(net, c, activation(net, d, TW_LOGISTIC), TW_LINEAR);
    (void)add(net, c, d, TW_RELU);
}

/* Shortcuts between layouts: a normalised image is plain, a convolution's result need not be. */
static void plain_shortcut(net_t *net, size_t n)
{
    int l, s;

    net_begin(net, "plain shortcut", n, (tw_shape_t){16, 8, 8});
    s = norm(net, -1, TW_LINEAR);
    l = add(net, conv(net, s, 16, 3, 3, 1, 1, 1, TW_LINEAR), s, TW_RELU);
    l = conv(net, l, 32, 3, 3, 2, 1, 1, TW_LINEAR);
    (void)add(net, l, s, TW_RELU);
}

/* A shortcut of another shape, before and after other consumers of the same tensor. */
static void late_shortcut(net_t *net, size_t n)
{
    int a, b, c;

    net_begin(net, "late shortcut", n, (tw_shape_t){3, 7, 8});
    a = conv(net, -1, 16, 3, 3, 1, 1, 1, TW_RELU);
    b = conv(net, a, 24, 3, 3, 2, 1, 1, TW_LINEAR);
    b = add(net, b, a, TW_RELU);
    c = conv(net, a, 24, 3, 3, 2, 1, 1, TW_RELU);
    (void)add(net, b, c, TW_LINEAR);
}

typedef void (*network_fn)(net_t *net, size_t n);

static const network_fn networks[] = {convolutions, one_channel,    poolings,
                                      responses,    units,          residuals,
                                      consumers,    plain_shortcut, late_shortcut};

enum { NETWORKS = sizeof(networks) / sizeof(networks[0]) };

START_TEST(networks_agree)
{
    static const size_t         examples[] = {1, 2, 5};
    const tw_compute_kernels_t *kernels    = kernels_at(_i % BACKEND_LEVELS);

    if (kernels == NULL) {
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        net_t net;

        networks[_i / BACKEND_LEVELS](&net, examples[i]);
        check_net(&net, kernels, i == 1 ? 2 : 1);
        net_end(&net);
    }
}
END_TEST

/* ---- batch statistics ---- */

/* x through a convolution that only changes the layout, or not at all. */
static void moments_of(const tw_compute_kernels_t *kernels, int threads, size_t n, tw_shape_t shape,
                       int through, const float *x, double *moments)
{
    net_t   net;
    built_t b;
    int     l = -1;

    net_begin(&net, "moments", n, shape);
    if (through) {
        l = conv(&net, -1, shape.c, 1, 1, 1, 0, 0, TW_LINEAR);
        for (size_t i = 0; i < shape.c * shape.c; i++) {
            net.layer[l].w.f[i] = i % (shape.c + 1) == 0;
        }
    }
    l = norm(&net, l, TW_LINEAR);
    build(&net, &b, kernels, threads, 1);
    put(&b, b.input, x, n * tw_shape_size(shape) * sizeof(float));
    if (through) {
        tw_op_forward(net.layer[0].op, &(tw_op_pass_t){.training = 1});
    }
    tw_op_norm_moments(net.layer[l].op, b.moments);
    get(&b, moments, b.moments, (1 + 2 * shape.c) * sizeof(double));
    built_end(&net, &b);
    net_end(&net);
}

/* A mean a million deviations away costs the variance nothing but the input's own rounding; any
 * number of threads gives the same bits. */
START_TEST(moments_are_accurate)
{
    static const tw_shape_t     shapes[] = {{5, 3, 3}, {16, 16, 20}, {24, 1, 1}, {3, 40, 40}};
    const tw_compute_kernels_t *kernels  = kernels_at(_i % BACKEND_LEVELS);
    const tw_shape_t            shape    = shapes[_i / BACKEND_LEVELS / 2];
    const int                   through  = _i / BACKEND_LEVELS % 2;
    const tw_network_layer_t    layer    = {.in = shape, .out = shape};
    const size_t                n = 7, c = shape.c;
    numbers_t                   x = draw(3, n * tw_shape_size(shape), 0.01f, 10000.0f);
    double                      got[64], twice[64], want[64];

    if (kernels != NULL) {
        moments_of(kernels, 1, n, shape, through, x.f, got);
        moments_of(kernels, 2, n, shape, through, x.f, twice);
        ref_moments(&layer, n, x.d, want);
        ck_assert_mem_eq(got, twice, (1 + 2 * c) * sizeof(double));
        ck_assert_double_eq(got[0], want[0]);
        for (size_t i = 0; i < c; i++) {
            ck_assert_double_eq_tol(got[1 + i], want[1 + i], 1e-7 * want[1 + i]);
            ck_assert_double_eq_tol(got[1 + c + i], want[1 + c + i], 1e-5 * want[1 + c + i]);
        }
    }
    numbers_free(&x);
}
END_TEST

/* ---- refusals ---- */

START_TEST(wrong_shapes_are_refused)
{
    tw_backend_t       *backend;
    tw_graph_t         *graph;
    tw_tensor_t        *x, *y;
    tw_op_t            *op;
    float              *plain, w[64] = {0};
    tw_problem_t        problem[3];
    net_t               net;
    tw_network_layer_t *l;

    memset(problem, 0, sizeof(problem));
    net_begin(&net, "refused", 1, (tw_shape_t){2, 4, 4});
    (void)conv(&net, -1, 2, 3, 3, 1, 1, 0, TW_LINEAR);
    l = &net.layer[0].l;
    ck_assert_int_eq(backend_here(&backend, tw_kernels_for("scalar"), 1, &problem[0]), 0);
    ck_assert_int_eq(tw_graph_create(backend, 1, &graph, &problem[0]), 0);
    ck_assert_int_eq(tw_graph_input(graph, (tw_shape_t){3, 4, 4}, &x, &plain, &problem[0]), 0);
    ck_assert_int_eq(tw_graph_conv(graph, l, (tw_op_params_t){.w = w}, x, &y, &op, &problem[0]),
                     -1);
    ck_assert_str_eq(problem[0].text, "layer conv0 takes 2 x 4 x 4, not 3 x 4 x 4");
    l->in = l->out = (tw_shape_t){3, 4, 4};
    l->lrn_size    = 4;
    ck_assert_int_eq(tw_graph_lrn(graph, l, x, &y, &op, &problem[1]), -1);
    ck_assert_str_eq(problem[1].text, "layer conv0: a window of 4 channels; it must be odd");
    ck_assert_int_eq(tw_graph_backward_begin(graph, &problem[2]), -1);
    tw_graph_destroy(graph);
    tw_backend_destroy(backend);
    net_end(&net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backend");
    TCase *tc    = test_case_within(suite, BACKEND_HERE, 300);

    printf("seed %llu\n", (unsigned long long)seed_of());
    tcase_add_loop_test(tc, networks_agree, 0, NETWORKS * BACKEND_LEVELS);
    tcase_add_loop_test(tc, moments_are_accurate, 0, 4 * 2 * BACKEND_LEVELS);
    tcase_add_test(tc, wrong_shapes_are_refused);
    return test_main(suite);
}
