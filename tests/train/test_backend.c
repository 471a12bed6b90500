/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_backend.c - a backend against layers in plain double (reference.h): small
 * networks of every operation, forward, backward and evaluated. On the host at every instruction
 * set, with one and two threads; on the stand-in for CUDA with other orders of execution. TW_SEED=N
 * draws other numbers.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thinwire/thinwire.h"
#include "tests/suite.h"
#include "tests/train/backend_net.h"
#include "train/base/random.h"

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
                      (unsigned long long)net_seed());
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

/* Two training steps with different inputs and rates of dropout, so that nothing of the first
 * may stay; then an evaluation by a graph of its own. */
static void check_net(net_t *net, const tw_compute_kernels_t *kernels, int threads)
{
    const size_t last = net->layers - 1;
    built_t      b;

    net_build(net, &b, kernels, threads, 1);
    for (uint64_t step = 0; step < 3; step++) {
        const int          training = step < 2;
        const ref_pass_t   ref      = {.training = training,
                                       .seed     = 5,
                                       .step     = step,
                                       .examples = net->examples,
                                       .less     = 0.5f * (float)step};
        const tw_op_pass_t pass     = {.training = training,
                                       .seed     = 5,
                                       .step     = step,
                                       .examples = net->examples,
                                       .less     = ref.less};

        if (!training) {
            net_built_end(net, &b);
            net_build(net, &b, kernels, threads, 0);
        }
        net_draw_step(net, step, &ref);
        net_forward(net, &b, &pass);
        close_to(net, training ? "output" : "output of evaluation", b.got, net->layer[last].y,
                 net->out.count);
        if (training) {
            net_ref_backward(net, &ref);
            net_backward(net, &b);
            check_gradients(net);
        }
    }
    ck_assert_int_eq(tw_graph_backward_begin(b.graph, &b.problem), -1);
    net_built_end(net, &b);
}

/* ---- the networks ---- */

static void convolutions(net_t *net, size_t n)
{
    int l;

    net_begin(net, "convolutions", n, (tw_shape_t){3, 11, 13});
    l = net_conv(net, -1, 20, 5, 3, 2, 2, 1, TW_RELU);
    l = net_conv(net, l, 16, 3, 3, 1, 1, 0, TW_LINEAR);
    l = net_conv(net, l, 33, 1, 1, 1, 0, 1, TW_LOGISTIC);
    l = net_conv(net, l, 32, 3, 1, 1, 0, 1, TW_RELU);
    (void)net_conv(net, l, 7, 2, 3, 2, 1, 1, TW_LINEAR);
}

static void one_channel(net_t *net, size_t n)
{
    int l;

    net_begin(net, "one channel", n, (tw_shape_t){1, 12, 12});
    l = net_conv(net, -1, 6, 5, 5, 1, 0, 1, TW_RELU);
    l = net_pool(net, l, TW_POOL_MAX, 2, 2, 0, 0, 0);
    l = net_conv(net, l, 10, 3, 3, 1, 1, 1, TW_RELU);
    (void)net_pool(net, l, TW_POOL_AVERAGE, 4, 4, 0, 0, 0);
}

static void poolings(net_t *net, size_t n)
{
    int l;

    net_begin(net, "poolings", n, (tw_shape_t){3, 19, 17});
    l = net_conv(net, -1, 18, 1, 1, 1, 0, 0, TW_LINEAR);
    l = net_pool(net, l, TW_POOL_MAX, 3, 2, 0, 1, 0);
    l = net_pool(net, l, TW_POOL_AVERAGE, 3, 1, 1, 0, 0);
    l = net_pool(net, l, TW_POOL_AVERAGE, 3, 2, 1, 0, 1);
    l = net_pool(net, l, TW_POOL_MAX, 3, 1, 1, 0, 0);
    (void)net_pool(net, l, TW_POOL_AVERAGE, 2, 2, 0, 1, 0);
}

static void responses(net_t *net, size_t n)
{
    int l;

    net_begin(net, "responses", n, (tw_shape_t){3, 9, 8});
    l = net_conv(net, -1, 32, 3, 3, 1, 1, 1, TW_RELU);
    l = net_lrn(net, l, 5);
    l = net_pool(net, l, TW_POOL_MAX, 3, 2, 0, 0, 0);
    l = net_conv(net, l, 19, 3, 3, 1, 1, 1, TW_RELU);
    (void)net_lrn(net, l, 3);
}

static void units(net_t *net, size_t n)
{
    int l;

    net_begin(net, "units", n, (tw_shape_t){3, 6, 7});
    l = net_conv(net, -1, 21, 3, 3, 1, 1, 1, TW_LINEAR);
    l = net_activation(net, l, TW_LOGISTIC);
    l = net_dropout(net, l, 0.4f);
    l = net_conv(net, l, 32, 1, 1, 1, 0, 1, TW_LINEAR);
    l = net_activation(net, l, TW_RELU);
    (void)net_dropout(net, l, 0.25f);
}

/* Blocks as in networks for CIFAR-10: an identity, one that halves the image and doubles the
 * channels by option A, one with a convolution in the shortcut. */
static void residuals(net_t *net, size_t n)
{
    int l, s;

    net_begin(net, "residuals", n, (tw_shape_t){3, 9, 10});
    l = net_conv(net, -1, 16, 3, 3, 1, 1, 0, TW_LINEAR);
    s = net_norm(net, l, TW_RELU);
    l = net_norm(net, net_conv(net, s, 16, 3, 3, 1, 1, 0, TW_LINEAR), TW_RELU);
    l = net_norm(net, net_conv(net, l, 16, 3, 3, 1, 1, 0, TW_LINEAR), TW_LINEAR);
    s = net_add(net, l, s, TW_RELU);
    l = net_norm(net, net_conv(net, s, 32, 3, 3, 2, 1, 0, TW_LINEAR), TW_RELU);
    l = net_norm(net, net_conv(net, l, 32, 3, 3, 1, 1, 0, TW_LINEAR), TW_LINEAR);
    s = net_add(net, l, s, TW_RELU);
    l = net_norm(net, net_conv(net, s, 40, 3, 3, 1, 1, 0, TW_LINEAR), TW_LINEAR);
    s = net_norm(net, net_conv(net, s, 40, 1, 1, 1, 0, 1, TW_LINEAR), TW_LINEAR);
    l = net_add(net, l, s, TW_RELU);
    (void)net_pool(net, l, TW_POOL_AVERAGE, 5, 5, 0, 0, 0);
}

/* Tensors with three consumers, sums of sums, a sum of one tensor with itself, activations between;
 * normalisation of odd channels, of the image itself, with a logistic. */
static void consumers(net_t *net, size_t n)
{
    int a, b, c, d;

    net_begin(net, "consumers", n, (tw_shape_t){3, 5, 5});
    a = net_conv(net, net_norm(net, -1, TW_LINEAR), 13, 3, 3, 1, 1, 1, TW_RELU);
    b = net_conv(net, a, 13, 3, 3, 1, 1, 1, TW_RELU);
    c = net_norm(net, a, TW_LOGISTIC);
    d = net_add(net, b, a, TW_LINEAR);
    d = net_add(net, d, c, TW_RELU);
    d = net_add(net, d, c, TW_LINEAR);
    d = net_add(net, d, d, TW_LINEAR);
    d = net_norm(net, d, TW_RELU);
    c = net_dropout(net, d, 0.3f);
    c = net_add(net, c, net_activation(net, d, TW_LOGISTIC), TW_LINEAR);
    (void)net_add(net, c, d, TW_RELU);
}

/* Shortcuts between layouts: a normalised image is plain, a convolution's result need not be. */
static void plain_shortcut(net_t *net, size_t n)
{
    int l, s;

    net_begin(net, "plain shortcut", n, (tw_shape_t){16, 8, 8});
    s = net_norm(net, -1, TW_LINEAR);
    l = net_add(net, net_conv(net, s, 16, 3, 3, 1, 1, 1, TW_LINEAR), s, TW_RELU);
    l = net_conv(net, l, 32, 3, 3, 2, 1, 1, TW_LINEAR);
    (void)net_add(net, l, s, TW_RELU);
}

/* A shortcut of another shape, before and after other consumers of the same tensor. */
static void late_shortcut(net_t *net, size_t n)
{
    int a, b, c;

    net_begin(net, "late shortcut", n, (tw_shape_t){3, 7, 8});
    a = net_conv(net, -1, 16, 3, 3, 1, 1, 1, TW_RELU);
    b = net_conv(net, a, 24, 3, 3, 2, 1, 1, TW_LINEAR);
    b = net_add(net, b, a, TW_RELU);
    c = net_conv(net, a, 24, 3, 3, 2, 1, 1, TW_RELU);
    (void)net_add(net, b, c, TW_LINEAR);
}

/* Groups that fill blocks of channels, that do not, of one channel each, of the image's. */
static void grouped(net_t *net, size_t n)
{
    int l;

    net_begin(net, "grouped", n, (tw_shape_t){4, 9, 10});
    l = net_conv_groups(net, -1, 32, 3, 1, 2);
    l = net_conv_groups(net, l, 64, 5, 1, 2);
    l = net_conv_groups(net, l, 18, 3, 2, 2);
    l = net_conv_groups(net, l, 27, 3, 1, 9);
    l = net_conv_groups(net, l, 27, 3, 1, 27);
    (void)net_conv_groups(net, l, 6, 1, 1, 3);
}

/* Joined branches: blocks of channels that are full and that are not, one that is plain, the same
 * tensor twice, and a tensor with other consumers before and after. */
static void branches(net_t *net, size_t n)
{
    int a, b, c, d, image;

    net_begin(net, "branches", n, (tw_shape_t){3, 8, 9});
    image = net_norm(net, -1, TW_LINEAR);
    a     = net_conv(net, image, 32, 3, 3, 1, 1, 1, TW_RELU);
    b     = net_conv(net, a, 21, 1, 1, 1, 0, 1, TW_RELU);
    c = net_conv(net, net_pool(net, a, TW_POOL_MAX, 3, 1, 1, 0, 0), 16, 3, 3, 1, 1, 1, TW_LOGISTIC);
    d = net_concat(net, (const int[]){c, b, image, a}, 4);
    d = net_norm(net, d, TW_RELU);
    c = net_concat(net, (const int[]){d, d}, 2);
    d = net_concat(net, (const int[]){b, c, d}, 3);
    (void)net_conv(net, d, 8, 1, 1, 1, 0, 1, TW_LINEAR);
}

typedef void (*network_fn)(net_t *net, size_t n);

static const network_fn networks[] = {convolutions,  one_channel, poolings,  responses,
                                      units,         residuals,   consumers, plain_shortcut,
                                      late_shortcut, branches,    grouped};

#ifdef TW_ON_STANDIN /* the last two are refused there */
enum { NETWORKS = sizeof(networks) / sizeof(networks[0]) - 2 };
#else
enum { NETWORKS = sizeof(networks) / sizeof(networks[0]) };
#endif

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
        l = net_conv(&net, -1, shape.c, 1, 1, 1, 0, 0, TW_LINEAR);
        for (size_t i = 0; i < shape.c * shape.c; i++) {
            net.layer[l].w.f[i] = i % (shape.c + 1) == 0;
        }
    }
    l = net_norm(&net, l, TW_LINEAR);
    net_build(&net, &b, kernels, threads, 1);
    net_put(&b, b.input, x, n * tw_shape_size(shape) * sizeof(float));
    if (through) {
        tw_op_forward(net.layer[0].op, &(tw_op_pass_t){.training = 1});
    }
    tw_op_norm_moments(net.layer[l].op, b.moments);
    net_get(&b, moments, b.moments, (1 + 2 * shape.c) * sizeof(double));
    net_built_end(&net, &b);
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
    numbers_t                   x = net_draw(3, n * tw_shape_size(shape), 0.01f, 10000.0f);
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
    net_numbers_free(&x);
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
    (void)net_conv(&net, -1, 2, 3, 3, 1, 1, 0, TW_LINEAR);
    l = &net.layer[0].l;
    ck_assert_int_eq(backend_here(&backend, tw_kernels_for("scalar"), 1, &problem[0]), 0);
    ck_assert_int_eq(tw_graph_create(backend, 1, &graph, &problem[0]), 0);
    ck_assert_int_eq(tw_graph_input(graph, (tw_shape_t){3, 4, 4}, &x, &plain, &problem[0]), 0);
    ck_assert_int_eq(
        tw_graph_layer(graph, l, (tw_op_params_t){.w = w}, &x, 1, &y, &op, &problem[0]), -1);
    ck_assert_str_eq(problem[0].text, "layer conv0 takes 2 x 4 x 4, not 3 x 4 x 4");
    l->in = l->out = (tw_shape_t){3, 4, 4};
    l->kind        = TW_LRN;
    l->lrn_size    = 4;
    ck_assert_int_eq(
        tw_graph_layer(graph, l, (tw_op_params_t){.w = NULL}, &x, 1, &y, &op, &problem[1]), -1);
    ck_assert_str_eq(problem[1].text, "layer conv0: a window of 4 channels; it must be odd");
    ck_assert_int_eq(tw_graph_backward_begin(graph, &problem[2]), -1);
    tw_graph_destroy(graph);
    tw_backend_destroy(backend);
    net_end(&net);
}
END_TEST

/* A slot of the table may be empty. */
START_TEST(layers_may_be_unsupported)
{
    tw_problem_t            problem = {.set = 0};
    tw_network_layer_t      layer   = {.name = "lrn7", .kind = TW_LRN, .in = {3, 4, 4}};
    const tw_backend_ops_t *whole;
    tw_backend_ops_t        less;
    const tw_op_class_t    *layers[TW_LAYER_KINDS];
    tw_backend_t           *backend;
    tw_graph_t             *graph;
    tw_tensor_t            *x, *y;
    tw_op_t                *op;
    float                  *plain;
    char                    want[200];

    ck_assert_int_eq(backend_here(&backend, tw_kernels_for("scalar"), 1, &problem), 0);
    whole = backend->ops;
    less  = *whole;
    memcpy(layers, whole->layers, sizeof(layers));
    layers[TW_LRN] = NULL;
    less.layers    = layers;
    backend->ops   = &less;
    ck_assert_int_eq(tw_graph_create(backend, 1, &graph, &problem), 0);
    ck_assert_int_eq(tw_graph_input(graph, layer.in, &x, &plain, &problem), 0);
    ck_assert_int_eq(
        tw_graph_layer(graph, &layer, (tw_op_params_t){.w = NULL}, &x, 1, &y, &op, &problem), -1);
    (void)snprintf(want, sizeof(want), "layer lrn7: lrn is unsupported by %s",
                   tw_backend_name(backend));
    ck_assert_str_eq(problem.text, want);
#ifdef TW_ON_STANDIN
    problem.set    = 0;
    backend->ops   = whole;
    layer.out      = layer.in;
    layer.lrn_size = 17;
    ck_assert_int_eq(
        tw_graph_layer(graph, &layer, (tw_op_params_t){.w = NULL}, &x, 1, &y, &op, &problem), -1);
    ck_assert_str_eq(problem.text, "layer lrn7: lrn is unsupported by cuDNN with more than 16 "
                                   "channels, a power below 0.01 or k below 1e-05");
    problem.set = 0;
    layer.kind  = TW_CONCAT;
    ck_assert_int_eq(tw_graph_layer(graph, &layer, (tw_op_params_t){.w = NULL},
                                    (tw_tensor_t *[]){x, x}, 2, &y, &op, &problem),
                     -1);
    (void)snprintf(want, sizeof(want), "layer lrn7: concat is unsupported by %s",
                   tw_backend_name(backend));
    ck_assert_str_eq(problem.text, want);
    problem.set  = 0;
    layer.kind   = TW_CONV;
    layer.groups = 3;
    ck_assert_int_eq(
        tw_graph_layer(graph, &layer, (tw_op_params_t){.w = NULL}, &x, 1, &y, &op, &problem), -1);
    (void)snprintf(want, sizeof(want), "layer lrn7: conv with groups is unsupported by %s",
                   tw_backend_name(backend));
    ck_assert_str_eq(problem.text, want);
#endif
    tw_graph_destroy(graph);
    tw_backend_destroy(backend);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backend");
    TCase *tc    = test_case_within(suite, BACKEND_HERE, 300);

    printf("seed %llu\n", (unsigned long long)net_seed());
    tcase_add_loop_test(tc, networks_agree, 0, NETWORKS * BACKEND_LEVELS);
    tcase_add_loop_test(tc, moments_are_accurate, 0, 4 * 2 * BACKEND_LEVELS);
    tcase_add_test(tc, wrong_shapes_are_refused);
    tcase_add_test(tc, layers_may_be_unsupported);
    return test_main(suite);
}
