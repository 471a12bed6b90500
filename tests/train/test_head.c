/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_head.c - dense layers on one rank against the same in double and against
 * differences, and what is refused. test_loss.c has losses at the edge, head.c the ranks.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/train/dense_net.h"
#include "tests/train/on_backend.h"

/* ---- whole heads ----------------------------------------------------------------------------- */

static const char *const texts[] = {
    "l10",
    "r70 l5",
    "d0.2 r37 d0.5 S23 d0.5 l19 d0.3 d0.1 l5",
    "d0.1 d0.2 s33 r20 d0.25 L9 R8 d0.5 s7 L40",
    "d0.2 r36/6 d0.5 S24/4 l120/2 d0.3 R66 l6/3",
    "d0.2 r37 d0.5 S23+ d0.5 l19+ d0.3 r9 L5+",
};
static const size_t counts[] = {1, 3, 16, 48, 61};

typedef struct fixture {
    tw_network_t   net;
    tw_backend_t  *backend;
    tw_params_t    params;
    tw_head_t     *head;
    tw_head_pass_t pass;
    float         *x, *gx, *got;       /* got: the gradients */
    float         *x_there, *gx_there; /* the backend's */
    uint32_t      *labels;
    uint64_t      *examples;
    double        *value, *gradient, *x2, *gx2;
} fixture_t;

static double *doubles(const float *x, size_t n)
{
    double *to = calloc(n + 1, sizeof(double));

    for (size_t i = 0; x != NULL && i < n; i++) {
        to[i] = (double)x[i];
    }
    return to;
}

static void fixture_make(fixture_t *f, const char *text, tw_loss_t loss, size_t n,
                         const tw_compute_kernels_t *kernels, int threads)
{
    const tw_head_how_t how     = {.comm = NULL};
    tw_problem_t        problem = {0};
    const size_t        x       = n * 30;
    float              *value;

    dense_net_make(&f->net, (tw_shape_t){5, 3, 2}, loss, text);
    f->backend = on_backend(kernels, threads);
    ck_assert_int_eq(tw_params_create(&f->params, &f->net, f->backend, 0, 1, 0, &problem), 0);
    value  = dense_net_drawn(f->params.total, 11);
    f->got = dense_net_drawn(f->params.total, 12);
    for (size_t i = 0; i < f->params.total; i++) {
        value[i] *= 0.5f;
    }
    on_backend_put(f->backend, f->params.value, value, f->params.total * sizeof(float));
    on_backend_put(f->backend, f->params.gradient, f->got, f->params.total * sizeof(float));
    ck_assert_int_eq(tw_head_create(&f->head, &f->net, &f->params, &how, n, &problem), 0);
    f->x        = dense_net_drawn(x, 13);
    f->gx       = dense_net_drawn(x, 14);
    f->x_there  = on_backend_copy(f->backend, f->x, x * sizeof(float));
    f->gx_there = on_backend_copy(f->backend, f->gx, x * sizeof(float));
    f->labels   = calloc(n, sizeof(*f->labels));
    f->examples = calloc(n, sizeof(*f->examples));
    dense_net_examples(n, f->net.classes, 15, f->labels, f->examples);
    f->value    = doubles(value, f->params.total);
    f->gradient = doubles(NULL, f->params.total);
    f->x2       = doubles(f->x, x);
    f->gx2      = doubles(NULL, x);
    f->pass     = (tw_head_pass_t){.n        = n,
                                   .x        = f->x_there,
                                   .examples = f->examples,
                                   .labels   = f->labels,
                                   .training = 1,
                                   .five     = 1,
                                   .seed     = 3,
                                   .step     = 17,
                                   .scale    = 1.0f / (float)n,
                                   .gx       = f->gx_there};
    free(value);
}

static void fixture_free(fixture_t *f)
{
    tw_head_destroy(f->head);
    tw_params_destroy(&f->params);
    tw_backend_release(f->backend, f->x_there);
    tw_backend_release(f->backend, f->gx_there);
    tw_backend_destroy(f->backend);
    dense_net_destroy(&f->net);
    free(f->x);
    free(f->gx);
    free(f->got);
    free(f->labels);
    free(f->examples);
    free(f->value);
    free(f->gradient);
    free(f->x2);
    free(f->gx2);
}

/* What a pass has left in the backend's memory. */
static void get(fixture_t *f)
{
    on_backend_get(f->backend, f->got, f->params.gradient, f->params.total * sizeof(float));
    on_backend_get(f->backend, f->gx, f->gx_there, f->pass.n * 30 * sizeof(float));
}

static double reference(fixture_t *f, tw_head_wrong_t *wrong_p)
{
    return dense_net_reference(&f->net, &f->params, &f->pass, f->value, f->x2, f->gradient, f->gx2,
                               wrong_p);
}

/* Relative to the largest. */
static void near(const float *got, const double *want, size_t n, double times, const char *what)
{
    double most = 0.0;

    for (size_t i = 0; i < n; i++) {
        most = fabs(want[i]) > most ? fabs(want[i]) : most;
    }
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(fabs((double)got[i] - times * want[i]) <= 1e-5 * times * most,
                      "%s[%zu] is %.9g, wanted %.9g", what, i, (double)got[i], times * want[i]);
    }
}

static void run(fixture_t *f, double *loss_p, tw_head_wrong_t *wrong_p)
{
    tw_problem_t problem = {0};

    f->pass.count = wrong_p != NULL;
    ck_assert_msg(tw_head_run(f->head, &f->pass, &problem) == 0 &&
                      tw_head_take(f->head, loss_p, wrong_p, &problem) == 0,
                  "%s", problem.text);
    get(f);
}

static void compare(fixture_t *f)
{
    double          loss, want;
    tw_head_wrong_t wrong, want_wrong;

    want = reference(f, &want_wrong);
    run(f, &loss, &wrong);
    ck_assert_double_eq_tol(loss, want, 1e-5 * want);
    ck_assert_uint_eq(wrong.one, want_wrong.one);
    ck_assert_uint_eq(wrong.five, want_wrong.five);
    near(f->got, f->gradient, f->params.total, 1.0, "gradient");
    near(f->gx, f->gx2, f->pass.n * 30, 1.0, "gx");
}

/* All instruction sets, losses, activations; with dropout, less of it, and without; added up over
 * two passes; evaluated. */
START_TEST(heads_match_the_reference)
{
    const tw_compute_kernels_t *kernels = kernels_at(_i % 3);
    const size_t                n       = counts[_i / 3 % 5];
    const char                 *text    = texts[_i / 15];

    for (int k = 0; kernels != NULL && (!ON_DEVICE || _i % 3 == 0) && k < 4; k++) {
        fixture_t f;
        double    loss, want;
        float    *kept;

        fixture_make(&f, text, k & 1 ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, n, kernels,
                     k & 2 ? 2 : 1);
        f.pass.training = !(k & 2);
        f.pass.less     = k & 1 ? 0.25f : 0.0f;
        compare(&f);
        f.pass.accumulate = 1;
        run(&f, &loss, NULL);
        near(f.got, f.gradient, f.params.total, 2.0, "sum of gradients");

        kept = dense_net_drawn(f.params.total, 1);
        memcpy(kept, f.got, f.params.total * sizeof(float));
        f.pass.training = 0;
        f.pass.gx       = NULL;
        want            = reference(&f, NULL);
        run(&f, &loss, NULL);
        ck_assert_double_eq_tol(loss, want, 1e-5 * want);
        ck_assert_mem_eq(kept, f.got, f.params.total * sizeof(float));
        free(kept);
        fixture_free(&f);
    }
}
END_TEST

/* Outputs of a linear layer are linear in its input: the mean over views is the output of the
 * mean. */
START_TEST(views_are_averaged)
{
    enum { VIEWS = 5, N = 19, FEATURES = 30 };
    static float junk[N * 12];

    for (int loss = 0; loss < 2; loss++) {
        fixture_t       f;
        float          *mean = dense_net_drawn(N * FEATURES, 2);
        double          got, want;
        tw_head_wrong_t wrong, want_wrong;

        fixture_make(&f, "l12", loss ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, N, best_kernels(), 1);
        ck_assert_uint_eq(tw_head_outputs(f.head), 12);
        f.pass.training = 0;
        f.pass.gx       = NULL;
        f.pass.views    = VIEWS;
        f.pass.outputs  = on_backend_copy(f.backend, NULL, N * 12 * sizeof(float));
        memset(junk, 0xff, sizeof(junk));
        on_backend_put(f.backend, f.pass.outputs, junk, sizeof(junk));
        memset(mean, 0, N * FEATURES * sizeof(*mean));
        for (f.pass.view = 0; f.pass.view < VIEWS; f.pass.view++) {
            float *x = dense_net_drawn(N * FEATURES, 20 + f.pass.view);

            on_backend_put(f.backend, f.x_there, x, N * FEATURES * sizeof(*x));
            for (size_t i = 0; i < N * FEATURES; i++) {
                mean[i] += x[i] / VIEWS;
            }
            free(x);
            run(&f, &got, &wrong);
            if (f.pass.view + 1 < VIEWS) {
                ck_assert(got == 0.0 && wrong.one == 0 && wrong.five == 0);
            }
        }
        for (size_t i = 0; i < N * FEATURES; i++) {
            f.x2[i] = (double)mean[i];
        }
        want = reference(&f, &want_wrong);
        ck_assert_double_eq_tol(got, want, 1e-5 * want);
        ck_assert_uint_eq(wrong.one, want_wrong.one);
        ck_assert_uint_eq(wrong.five, want_wrong.five);
        ck_assert(want_wrong.one > 0 && want_wrong.one < N);
        free(mean);
        tw_backend_release(f.backend, f.pass.outputs);
        fixture_free(&f);
    }
}
END_TEST

/* The derivative of the reference's loss by single parameters, without its backward pass. */
START_TEST(gradients_are_differences)
{
    for (int loss = 0; loss < 2; loss++) {
        fixture_t    f;
        const double step = 1e-5;
        double       got, most = 0.0;

        fixture_make(&f, texts[_i], loss ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, 7, best_kernels(),
                     1);
        run(&f, &got, NULL);
        for (size_t i = 0; i < f.params.total; i++) {
            most = fmax(most, fabs((double)f.got[i]));
        }
        for (size_t i = 0; i < f.params.total; i += 1 + f.params.total / 300) {
            const double at = f.value[i];
            double       above, below;

            f.value[i] = at + step;
            above =
                dense_net_reference(&f.net, &f.params, &f.pass, f.value, f.x2, NULL, NULL, NULL);
            f.value[i] = at - step;
            below =
                dense_net_reference(&f.net, &f.params, &f.pass, f.value, f.x2, NULL, NULL, NULL);
            f.value[i] = at;
            got        = (above - below) / (2.0 * step) * (double)f.pass.scale;
            ck_assert_msg(fabs(got - (double)f.got[i]) <= 2e-5 * most,
                          "parameter %zu: %.9g, by differences %.9g", i, (double)f.got[i], got);
        }
        fixture_free(&f);
    }
}
END_TEST

/* The hook is called, and what it slices is the same. */
static void count_calls(void *user)
{
    ++*(size_t *)user;
}

START_TEST(the_hook_is_called)
{
    const size_t shapes[][2] = {{60, 3}, {1500, 120}};

    for (int k = 0; k < (ON_DEVICE ? 1 : 2); k++) { /* which does not slice */
        const size_t        n     = shapes[k][1];
        size_t              calls = 0;
        char                text[32];
        const tw_head_how_t how     = {.between = count_calls, .user = &calls};
        tw_problem_t        problem = {0};
        tw_head_t          *sliced;
        fixture_t           f;
        double              loss[2];
        float              *kept;

        snprintf(text, sizeof(text), "r%zu r%zu l3", shapes[k][0], shapes[k][0]);
        fixture_make(&f, text, TW_LOSS_SOFTMAX, n, NULL, 1);
        ck_assert_int_eq(tw_head_create(&sliced, &f.net, &f.params, &how, n, &problem), 0);
        run(&f, &loss[0], NULL);
        kept = dense_net_drawn(f.params.total, 1);
        memcpy(kept, f.got, f.params.total * sizeof(float));
        ck_assert_int_eq(tw_head_run(sliced, &f.pass, &problem), 0);
        ck_assert_int_eq(tw_head_take(sliced, &loss[1], NULL, &problem), 0);
        get(&f);
        ck_assert_double_eq_tol(loss[0], loss[1], 1e-6 * loss[0]);
        for (size_t i = 0; i < f.params.total; i++) {
            ck_assert_float_eq_tol(kept[i], f.got[i], 1e-5f);
        }
        ck_assert_uint_ge(calls, k == 0 || ON_DEVICE ? 9 : 15);
        free(kept);
        tw_head_destroy(sliced);
        fixture_free(&f);
    }
}
END_TEST

/* A layer whose gradients are said to be final is not written any more: what the hook sees then is
 * what is there in the end, and each dense layer is named once, the last one first. */
typedef struct tw_head_seen {
    const tw_params_t *params;
    size_t             layers, layer[8];
    float             *kept; /* [total]: gradients as they were when their layer was named */
} tw_head_seen_t;

static void keep_layer(void *user, size_t layer)
{
    tw_head_seen_t *seen = user;

    seen->layer[seen->layers++] = layer;
    for (size_t i = 0; i < seen->params->count; i++) {
        const tw_param_t *p = &seen->params->param[i];

        if (p->layer == layer) {
            on_backend_get(seen->params->backend, seen->kept + p->first,
                           seen->params->gradient + p->first, p->count * sizeof(float));
        }
    }
}

START_TEST(ready_layers_are_final)
{
    fixture_t      f;
    tw_head_seen_t seen    = {.layers = 0};
    tw_head_how_t  how     = {.ready = keep_layer, .user = &seen};
    tw_problem_t   problem = {0};
    tw_head_t     *head;

    fixture_make(&f, "r60 r40 l3", TW_LOSS_SOFTMAX, _i == 0 ? 5 : 0, NULL, 1);
    seen.params = &f.params;
    seen.kept   = dense_net_drawn(f.params.total, 1);
    ck_assert_int_eq(tw_head_create(&head, &f.net, &f.params, &how, 5, &problem), 0);
    ck_assert_int_eq(tw_head_run(head, &f.pass, &problem), 0);
    ck_assert_uint_eq(seen.layers, 3);
    ck_assert_uint_gt(seen.layer[0], seen.layer[1]);
    ck_assert_uint_gt(seen.layer[1], seen.layer[2]);
    get(&f);
    ck_assert_mem_eq(seen.kept, f.got, f.params.total * sizeof(float));
    free(seen.kept);
    tw_head_destroy(head);
    fixture_free(&f);
}
END_TEST

/* ---- what is refused --------------------------------------------------------------------------
 */

static void expect_refusal(const char *text, size_t rows, const char *fragment)
{
    const tw_head_how_t how     = {.comm = NULL};
    tw_backend_t       *backend = on_backend(NULL, 1);
    tw_problem_t        problem = {0};
    tw_network_t        net;
    tw_params_t         params;
    tw_head_t          *head;

    dense_net_make(&net, (tw_shape_t){3, 1, 1}, TW_LOSS_SOFTMAX, text);
    ck_assert_int_eq(tw_params_create(&params, &net, backend, 0, 1, 0, &problem), 0);
    ck_assert_int_eq(tw_head_create(&head, &net, &params, &how, rows, &problem), -1);
    ck_assert_msg(strstr(problem.text, fragment) != NULL, "got '%s'", problem.text);
    tw_params_destroy(&params);
    tw_backend_destroy(backend);
    dense_net_destroy(&net);
}

START_TEST(bad_heads_are_refused)
{
    expect_refusal("l4 r3", 4, "the last layer must be dense and linear");
    expect_refusal("l4 d0.5", 4, "the last layer must be dense and linear");
    expect_refusal("l4", (size_t)1 << 31, "at most 2147483647");
#ifndef __SANITIZE_ADDRESS__ /* which ends the program instead */
    expect_refusal("l100000 l2", (size_t)2000000000,
                   "the outputs of the dense layers, passes of 2000000000 examples: ");
#endif
}
END_TEST

START_TEST(bad_passes_are_refused)
{
    tw_problem_t problem = {0};
    fixture_t    f;

    fixture_make(&f, "r8 l5", TW_LOSS_SOFTMAX, 4, best_kernels(), 1);
    f.labels[2] = 5;
    ck_assert_int_eq(tw_head_run(f.head, &f.pass, &problem), -1);
    ck_assert_msg(strstr(problem.text, "a label is 5; the network has 5 classes") != NULL, "%s",
                  problem.text);
    f.pass.n = 5;
    problem  = (tw_problem_t){0};
    ck_assert_int_eq(tw_head_run(f.head, &f.pass, &problem), -1);
    ck_assert_msg(strstr(problem.text, "were made for 4") != NULL, "%s", problem.text);
    fixture_free(&f);
}
END_TEST

START_TEST(no_examples)
{
    fixture_t       f;
    double          loss;
    tw_head_wrong_t wrong;

    fixture_make(&f, "d0.5 r8 d0.5 l5", TW_LOSS_LOGISTIC, 4, best_kernels(), 1);
    f.pass.n          = 0;
    f.pass.accumulate = 1;
    run(&f, &loss, &wrong);
    ck_assert(loss == 0.0 && wrong.one == 0 && wrong.five == 0 && f.got[0] != 0.0f);
    f.pass.accumulate = 0;
    run(&f, &loss, &wrong);
    for (size_t i = 0; i < f.params.total; i++) {
        ck_assert_float_eq(f.got[i], 0.0f);
    }
    ck_assert_uint_gt(tw_head_memory(f.head), 4 * 13 * sizeof(float));
    fixture_free(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/head");
    TCase *tcase;

    tcase = test_case_within(suite, "heads", 240.0);
    tcase_add_loop_test(tcase, heads_match_the_reference, 0, 75);
    tcase_add_test(tcase, views_are_averaged);
    tcase_add_loop_test(tcase, gradients_are_differences, 0, 4);
    tcase_add_test(tcase, the_hook_is_called);
    tcase_add_loop_test(tcase, ready_layers_are_final, 0, 2);
    tcase = test_case_within(suite, "refusals", 240.0);
    tcase_add_test(tcase, bad_heads_are_refused);
    tcase_add_test(tcase, bad_passes_are_refused);
    tcase_add_test(tcase, no_examples);
    return test_main(suite);
}
