/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_layers.c - every layer by itself, forward and backward, number by number against
 * plain double, within a bound that follows from what is computed: u = 2^-24 for each operation in
 * float on the largest path, times the sum of the absolute values that meet in a number.
 *
 *   convolution        (terms + 2) u sum |w x|; backward the same with the terms of a gradient. Not
 *                      where it is taken by a transform, which only test_backend.c lets a device do
 *   maximum            0; backward (windows + 1) u sum |dy|
 *   mean of windows    (cells + 2) u sum |x|; backward (windows + 2) u sum |dy|
 *   responses          (4 size + 40) u |y|; backward (4 size + 60) u of the terms' absolute values
 *   normalisation      8 u (|mean| scale + |x - mean| scale + |beta|); backward 16 u of the terms',
 *                      the sums over the batch by their absolute values
 *   addition           2 u (|a| + |b|); backward u |dy|
 *   concatenation      0; backward u |dy| for each time that the input is joined
 *   logistic           4e-7; backward |dy| (8 u + 4e-7). Rectification: 0
 *   dropout            2 u |x| / keep, the masks being those of random.h; backward likewise
 *
 * The layer stands behind a convolution that changes nothing, so that there is a gradient by its
 * input.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/train/backend_net.h"

static const double U = 0x1p-24;

/* For each number of a layer's result, of the gradient by its input, of those of its parameters. */
typedef struct bounds {
    double *y, *dx, *dw, *db;
} bounds_t;

static double *zeros(size_t count)
{
    double *p = calloc(count + 1, sizeof(*p));

    ck_assert_ptr_nonnull(p);
    return p;
}

static double *absolutes(const double *x, size_t count)
{
    double *a = zeros(count);

    for (size_t i = 0; i < count; i++) {
        a[i] = fabs(x[i]);
    }
    return a;
}

static void times(double *x, size_t count, double by)
{
    for (size_t i = 0; i < count; i++) {
        x[i] *= by;
    }
}

/* ---- bounds of each kind; dy is the gradient before the activation ---- */

static void bound_conv(const net_t *net, const layer_t *layer, const double *x, const double *dy,
                       bounds_t *b)
{
    const tw_network_layer_t *l    = &layer->l;
    const size_t              fan  = l->in.c * l->kernel[0] * l->kernel[1] / l->groups;
    const size_t              back = l->out.c * l->kernel[0] * l->kernel[1] / l->groups;
    const size_t              all  = net->n * l->out.h * l->out.w;
    double *w = absolutes(layer->w.d, layer->w.count), *c = absolutes(layer->b.d, layer->b.count);

    ref_conv(l, net->n, x, w, l->bias ? c : NULL, b->y);
    ref_conv_back(l, net->n, x, w, dy, b->dx, b->dw, l->bias ? b->db : NULL);
    times(b->y, net->n * tw_shape_size(l->out), (double)(fan + 2) * U);
    times(b->dx, net->n * tw_shape_size(l->in), (double)(back + 2) * U);
    times(b->dw, layer->w.count, (double)(all + 2) * U);
    times(b->db, layer->b.count, (double)(all + 2) * U);
    free(w);
    free(c);
}

static void bound_pool(const net_t *net, const layer_t *layer, const double *x, const double *dy,
                       bounds_t *b)
{
    const tw_network_layer_t *l        = &layer->l;
    const double              cells    = (double)(l->kernel[0] * l->kernel[1]);
    const double             *signed_x = net_value_of(net, 0); /* which of them is the largest */

    ref_pool(l, net->n, x, b->y);
    ref_pool_back(l, net->n, signed_x, dy, b->dx);
    times(b->y, net->n * tw_shape_size(l->out), l->pooling == TW_POOL_MAX ? 0.0 : (cells + 2) * U);
    times(b->dx, net->n * tw_shape_size(l->in), (cells + 2) * U);
}

static void bound_lrn(const net_t *net, const layer_t *layer, const double *x, const double *dy,
                      bounds_t *b)
{
    const tw_network_layer_t *l = &layer->l;
    const size_t              n = net->n * tw_shape_size(l->out);

    ref_lrn(l, net->n, x, b->y);
    ref_lrn_back(l, net->n, x, dy, b->dx); /* of positive numbers: first terms less all others */
    for (size_t i = 0; i < n; i++) {
        const double first = x[i] > 0.0 ? dy[i] * b->y[i] / x[i] : dy[i];

        b->dx[i] = (2.0 * first - b->dx[i]) * (double)(4 * l->lrn_size + 60) * U;
        b->y[i] *= (double)(4 * l->lrn_size + 40) * U;
    }
}

static void bound_norm(const net_t *net, const layer_t *layer, const double *dy, bounds_t *b)
{
    const tw_network_layer_t *l    = &layer->l;
    const size_t              rows = l->in.h * l->in.w, c = l->in.c, n = net->n * rows * c;
    const double             *x = net_value_of(net, 0), count = (double)(net->n * rows);
    double                   *sums = zeros(2 * c);

    for (size_t i = 0; i < n; i++) {
        const size_t k       = i / rows % c;
        const double m       = layer->moments[1 + k];
        const double inverse = 1.0 / sqrt(layer->moments[1 + c + k] / count + (double)l->epsilon);
        const double gamma = fabs(layer->w.d[k]), a = fabs(x[i] - m);

        b->y[i] = 8 * U * (gamma * inverse * (fabs(m) + a) + fabs(layer->b.d[k]));
        sums[k] += dy[i];
        sums[c + k] += dy[i] * (a + fabs(m)) * inverse;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t k       = i / rows % c;
        const double inverse = 1.0 / sqrt(layer->moments[1 + c + k] / count + (double)l->epsilon);
        const double xhat =
            (fabs(x[i] - layer->moments[1 + k]) + fabs(layer->moments[1 + k])) * inverse;

        b->dx[i] = 16 * U * fabs(layer->w.d[k]) * inverse *
                   (dy[i] + sums[k] / count + xhat * sums[c + k] / count);
    }
    for (size_t k = 0; k < c; k++) {
        b->db[k] = 16 * U * sums[k];
        b->dw[k] = 16 * U * sums[c + k];
    }
    free(sums);
}

static void bound_add(const net_t *net, const layer_t *layer, const double *x, const double *dy,
                      bounds_t *b)
{
    const tw_network_layer_t *l    = &layer->l;
    const tw_shape_t          from = net_shape_of(net, l->input[1]);

    ref_add(l, from, net->n, x, x, b->y);
    ref_add_back(l, from, net->n, dy, b->dx, b->dx);
    times(b->y, net->n * tw_shape_size(l->out), 2 * U);
    times(b->dx, net->n * tw_shape_size(l->in), 2 * U);
}

static void bound_concat(const net_t *net, const layer_t *layer, const double *dy, bounds_t *b)
{
    const tw_network_layer_t *l      = &layer->l;
    const size_t              inputs = tw_layer_inputs(l);

    for (size_t i = 0; i < inputs; i++) {
        ref_concat_back(l, i * l->in.c, l->in.c, net->n, dy, b->dx);
    }
    times(b->dx, net->n * tw_shape_size(l->in), (double)(inputs - 1) * U);
}

static void bound_units(const net_t *net, const layer_t *layer, const double *x, const double *dy,
                        bounds_t *b)
{
    const size_t n = net->n * tw_shape_size(layer->l.out);

    for (size_t i = 0; i < n; i++) {
        if (layer->l.kind == TW_DROPOUT) {
            const double by = 2 * U / (1.0 - (double)layer->l.rate);

            b->y[i]  = by * x[i];
            b->dx[i] = by * dy[i];
        } else if (layer->l.activation == TW_LOGISTIC) {
            b->y[i]  = 4e-7;
            b->dx[i] = dy[i] * (8 * U + 4e-7);
        }
    }
}

static bounds_t bounds_of(const net_t *net, const layer_t *layer)
{
    const tw_network_layer_t *l = &layer->l;
    const size_t in = net->n * tw_shape_size(l->in), out = net->n * tw_shape_size(l->out);
    double      *x  = absolutes(net_value_of(net, l->input[0]), in);
    double      *dy = absolutes(net->out.d, out);
    bounds_t     b  = {zeros(out), zeros(in), zeros(layer->w.count), zeros(layer->b.count)};

    switch (l->kind) {
    case TW_CONV:
        bound_conv(net, layer, x, dy, &b);
        break;
    case TW_POOL:
        bound_pool(net, layer, x, dy, &b);
        break;
    case TW_LRN:
        bound_lrn(net, layer, x, dy, &b);
        break;
    case TW_NORM:
        bound_norm(net, layer, dy, &b);
        break;
    case TW_ADD:
        bound_add(net, layer, x, dy, &b);
        break;
    case TW_CONCAT:
        bound_concat(net, layer, dy, &b);
        break;
    default:
        bound_units(net, layer, x, dy, &b);
        break;
    }
    free(x);
    free(dy);
    return b;
}

/* ---- comparing ---- */

static void within(const net_t *net, const char *what, const float *got, const double *want,
                   const double *bound, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* and what is stored is rounded once more */
        const double most = bound[i] + U * fabs(want[i]) + 1e-37;

        ck_assert_msg(fabs((double)got[i] - want[i]) <= most,
                      "%s, n = %zu, %s[%zu]: %.9g, not %.9g -+ %.3g; seed %llu", net->name, net->n,
                      what, i, (double)got[i], want[i], most, (unsigned long long)net_seed());
    }
}

/* The gradient by what the first layer gives, in the plain layout. */
static void get_dx(const net_t *net, built_t *built, float *dx)
{
    const tw_tensor_t *t    = net->layer[0].tensor;
    const size_t       c    = t->shape.c;
    float             *laid = calloc(t->count, sizeof(*laid));

    net_get(built, laid, tw_gradient_settled(net->layer[0].op), t->count * sizeof(*laid));
    for (size_t i = 0; i < net->n * c * t->rows; i++) {
        const size_t k = i / t->rows % c, run = i / t->rows / c * t->runs + k / t->width;

        dx[i] = laid[(run * t->rows + i % t->rows) * t->width + k % t->width];
    }
    free(laid);
}

/* What fills up the last block of channels, in host memory, is 0. */
static void filling_is_zero(const net_t *net, const tw_tensor_t *t, const float *x)
{
    const size_t used = t->shape.c % t->width;

    for (size_t i = 0; used > 0 && i < t->count; i++) {
        const size_t lane = i % t->width, run = i / t->width / t->rows % t->runs;

        ck_assert_msg(run + 1 < t->runs || lane < used || x[i] == 0.0f, "%s: %g behind channel %zu",
                      net->name, (double)x[i], t->shape.c);
    }
}

/* Of the result and of the gradient by the input, whatever was in the memory before. */
static void check_filling(net_t *net, built_t *built, const tw_op_pass_t *pass)
{
#ifndef TW_ON_STANDIN
    const tw_tensor_t *x = net->layer[0].tensor, *y = net->layer[1].tensor;

    memset(y->value, 0xff, y->count * sizeof(float));
    net_forward(net, built, pass);
    filling_is_zero(net, y, y->value);
    memset(x->grad, 0xff, x->count * sizeof(float));
    net_backward_to(net, built, 1);
    filling_is_zero(net, x, tw_gradient_settled(net->layer[0].op));
#else
    (void)net, (void)built, (void)pass, (void)filling_is_zero;
#endif
}

/* The layer is net->layer[1]. */
static void check_layer(net_t *net, int threads, const tw_compute_kernels_t *kernels)
{
    const ref_pass_t   ref   = {.training = 1, .seed = 5, .step = 1, .examples = net->examples};
    const tw_op_pass_t pass  = {.training = 1, .seed = 5, .step = 1, .examples = net->examples};
    layer_t           *layer = &net->layer[1], *before = &net->layer[0];
    const size_t       in = net->n * tw_shape_size(layer->l.in);
    float             *dx = calloc(in, sizeof(*dx));
    bounds_t           b;
    built_t            built;

    for (size_t i = 0; i < before->w.count; i++) {
        before->w.f[i] = before->w.d[i] = i % (net->input.c + 1) == 0;
    }
    net_draw_step(net, 1, &ref);
    net_ref_backward(net, &ref);
    b           = bounds_of(net, layer);
    net->direct = 1;
    net_build(net, &built, kernels, threads, 1);
    net_forward(net, &built, &pass);
    within(net, "result", built.got, layer->y, b.y, net->out.count);
    net_backward_to(net, &built, 1);
    get_dx(net, &built, dx);
    within(net, "gradient by the input", dx, before->dy, b.dx, in);
    within(net, "gradient of weights", layer->w.got, layer->w.g, b.dw, layer->w.count);
    within(net, "gradient of biases", layer->b.got, layer->b.g, b.db, layer->b.count);
    check_filling(net, &built, &pass);
    net_built_end(net, &built);
    free(b.y);
    free(b.dx);
    free(b.dw);
    free(b.db);
    free(dx);
}

/* ---- the layers ---- */

static void conv_of(net_t *net, size_t k, size_t s, size_t p, int bias, tw_activation_t f)
{
    (void)net_conv(net, 0, 9, k, k, s, p, bias, f);
}

static void make_conv(net_t *net)
{
    conv_of(net, 3, 1, 1, 1, TW_LINEAR);
}
static void make_conv_strided(net_t *net)
{
    conv_of(net, 5, 2, 2, 1, TW_RELU);
}
static void make_conv_plain(net_t *net)
{
    conv_of(net, 1, 1, 0, 0, TW_RELU);
}
#ifndef TW_ON_STANDIN
static void make_conv_groups(net_t *net)
{
    (void)net_conv_groups(net, 0, 15, 3, 1, 5);
}
#endif
static void make_max(net_t *net)
{
    (void)net_pool(net, 0, TW_POOL_MAX, 3, 2, 1, 0, 0);
}
static void make_max_up(net_t *net)
{
    (void)net_pool(net, 0, TW_POOL_MAX, 3, 2, 0, 1, 0);
}
/* Several of a window are the largest: the gradient is the first one's. */
static void make_max_ties(net_t *net)
{
    make_max(net);
    net->grid = 0.5f;
}
static void make_max_up_ties(net_t *net)
{
    make_max_up(net);
    net->grid = 0.5f;
}
static void make_mean(net_t *net)
{
    (void)net_pool(net, 0, TW_POOL_AVERAGE, 3, 1, 1, 0, 0);
}
static void make_mean_up(net_t *net)
{
    (void)net_pool(net, 0, TW_POOL_AVERAGE, 3, 2, 1, 1, 0);
}
static void make_mean_padded(net_t *net)
{
    (void)net_pool(net, 0, TW_POOL_AVERAGE, 3, 2, 1, 0, 1);
}
static void make_mean_padded_up(net_t *net)
{
    (void)net_pool(net, 0, TW_POOL_AVERAGE, 3, 2, 1, 1, 1);
}
static void make_lrn(net_t *net)
{
    (void)net_lrn(net, 0, 5);
}
static void make_norm(net_t *net)
{
    (void)net_norm(net, 0, TW_LINEAR);
}
static void make_norm_relu(net_t *net)
{
    (void)net_norm(net, 0, TW_RELU);
}
static void make_add(net_t *net)
{
    (void)net_add(net, 0, 0, TW_LINEAR);
}
#ifndef TW_ON_STANDIN
static void make_concat(net_t *net)
{
    (void)net_concat(net, (const int[]){0, 0, 0}, 3);
}
#endif
static void make_relu(net_t *net)
{
    (void)net_activation(net, 0, TW_RELU);
}
static void make_logistic(net_t *net)
{
    (void)net_activation(net, 0, TW_LOGISTIC);
}
static void make_dropout(net_t *net)
{
    (void)net_dropout(net, 0, 0.4f);
}

static const struct {
    const char *name;
    void (*make)(net_t *net);
} layers[] = {{"convolution", make_conv},
              {"convolution by strides", make_conv_strided},
              {"convolution without a bias", make_conv_plain},
#ifndef TW_ON_STANDIN
              {"convolution by groups", make_conv_groups},
#endif
              {"maximum", make_max},
              {"maximum, rounded up", make_max_up},
              {"maximum with ties", make_max_ties},
              {"maximum with ties, rounded up", make_max_up_ties},
              {"mean", make_mean},
              {"mean, rounded up", make_mean_up},
              {"mean with the border", make_mean_padded},
              {"mean with the border, rounded up", make_mean_padded_up},
              {"responses", make_lrn},
              {"normalisation", make_norm},
              {"normalisation, rectified", make_norm_relu},
              {"addition", make_add},
#ifndef TW_ON_STANDIN
              {"concatenation", make_concat},
#endif
              {"rectification", make_relu},
              {"logistic", make_logistic},
              {"dropout", make_dropout}};

enum { KINDS = sizeof(layers) / sizeof(layers[0]) };

START_TEST(layer_is_within_its_bound)
{
    static const size_t         examples[] = {1, 4};
    const tw_compute_kernels_t *kernels    = kernels_at(_i % BACKEND_LEVELS);

    for (size_t i = 0; i < 2 && kernels != NULL; i++) {
        net_t net;

        net_begin(&net, layers[_i / BACKEND_LEVELS].name, examples[i], (tw_shape_t){5, 10, 11});
        (void)net_conv(&net, -1, 5, 1, 1, 1, 0, 0, TW_LINEAR);
        layers[_i / BACKEND_LEVELS].make(&net);
        check_layer(&net, 1, kernels);
        net_end(&net);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layers on " BACKEND_HERE);
    TCase *tc    = test_case_within(suite, "bounds", 120);

    printf("seed %llu\n", (unsigned long long)net_seed());
    tcase_add_loop_test(tc, layer_is_within_its_bound, 0, KINDS * BACKEND_LEVELS);
    return test_main(suite);
}
