/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_head.c - dense layers on one rank against the same in double, loops and products
 * against plain ones and across instruction sets, what is refused. tests/train/head.c has the ranks.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/train/dense_net.h"
#include "train/compute/product.h"
#include "train/random.h"

static const char *const levels[] = {"scalar", "avx2", "avx512"};

/* The level, or NULL where this processor or build does not have it. */
static const tw_kernels_t *kernels_at(int k)
{
    static const char *const order   = "scalar avx2 avx512";
    const tw_kernels_t      *kernels = tw_kernels_for(levels[k]);
    tw_context_t            *ctx;
    const char              *best;

    ck_assert_int_eq(tw_context_create(&ctx), TW_OK);
    best = tw_cpu_level(ctx);
    tw_context_destroy(ctx);
    return strstr(order, levels[k]) > strstr(order, best) || strcmp(kernels->isa, levels[k]) != 0
               ? NULL
               : kernels;
}

static const tw_kernels_t *best_kernels(void)
{
    const tw_kernels_t *best = NULL;

    for (int k = 0; k < 3; k++) {
        best = kernels_at(k) == NULL ? best : kernels_at(k);
    }
    return best;
}

/* ---- products ------------------------------------------------------------------------------- */

typedef struct operands {
    size_t units, in, n;
    float *w, *x, *d, *y, *e, *g; /* x, e: rows */
} operands_t;

static float *drawn(size_t n, uint64_t key)
{
    float *x = aligned_alloc(64, (n * sizeof(float) + 64 + 63) / 64 * 64);

    dense_net_fill(x, n, key, 1.0f);
    return x;
}

static operands_t operands_make(size_t units, size_t in, size_t n)
{
    return (operands_t){units,
                        in,
                        n,
                        drawn(units * in, 1),
                        drawn(n * in, 2),
                        drawn(units * n, 3),
                        drawn(units * n, 4),
                        drawn(n * in, 5),
                        drawn(units * in, 6)};
}

static void operands_free(operands_t *o)
{
    free(o->w);
    free(o->x);
    free(o->d);
    free(o->y);
    free(o->e);
    free(o->g);
}

static void close_to(double got, double want, double size, const char *what, size_t i)
{
    ck_assert_msg(fabs(got - want) <= 2e-6 * size, "%s[%zu] is %g, wanted %g", what, i, got, want);
}

static void check_products(const operands_t *o, const float *g_before)
{
    const double size = sqrt((double)(o->in + o->units + o->n)) + 1.0;

    for (size_t u = 0; u < o->units; u++) {
        for (size_t j = 0; j < o->n; j++) {
            double sum = 0.0;

            for (size_t i = 0; i < o->in; i++) {
                sum += (double)o->w[u * o->in + i] * o->x[j * o->in + i];
            }
            close_to(o->y[u * o->n + j], sum, size, "y", u * o->n + j);
        }
        for (size_t i = 0; i < o->in; i++) {
            double sum = g_before == NULL ? 0.0 : g_before[u * o->in + i];

            for (size_t j = 0; j < o->n; j++) {
                sum += (double)o->d[u * o->n + j] * o->x[j * o->in + i];
            }
            close_to(o->g[u * o->in + i], sum, size, "g", u * o->in + i);
        }
    }
    for (size_t k = 0; k < o->n * o->in; k++) {
        double sum = 0.0;

        for (size_t u = 0; u < o->units; u++) {
            sum += (double)o->d[u * o->n + k / o->in] * o->w[u * o->in + k % o->in];
        }
        close_to(o->e[k], sum, size, "e", k);
    }
}

/* All three products, of rows or by way of columns. */
static void multiply(const tw_product_t *product, operands_t *o, int rows, int add)
{
    const tw_product_size_t size = {o->units, o->in, o->n, rows};
    float *x = drawn(o->n * o->in, 7), *e = drawn(o->n * o->in, 8);

    if (rows) {
        memcpy(x, o->x, o->n * o->in * sizeof(float));
    } else {
        tw_transpose(x, o->x, o->n, o->in, product->threads);
    }
    tw_product_forward(product, &size, o->y, o->w, x);
    tw_product_backward(product, &size, e, o->w, o->d, 0, o->in / 3);
    tw_product_backward(product, &size, e, o->w, o->d, o->in / 3, o->in);
    tw_product_gradient(product, &size, o->g, o->d, x, add);
    if (rows) {
        memcpy(o->e, e, o->n * o->in * sizeof(float));
    } else {
        tw_transpose(o->e, e, o->in, o->n, product->threads);
    }
    free(x);
    free(e);
}

static const size_t sizes[][3] = {{1, 1, 1},    {6, 64, 4},    {7, 65, 5},   {13, 33, 16},
                                  {33, 200, 3}, {100, 700, 8}, {5, 3, 17},   {0, 40, 6},
                                  {40, 80, 49}, {65, 130, 90}, {12, 513, 2}, {37, 1100, 48}};

START_TEST(products_are_right)
{
    const tw_kernels_t *kernels = kernels_at(_i % 3);
    const size_t       *size    = sizes[_i / 3];

    for (int k = 0; kernels != NULL && k < 8; k++) {
        const tw_product_t product = tw_product_make(kernels, k & 4 ? 3 : 1);
        operands_t         o       = operands_make(size[0], size[1], size[2]);
        float             *before  = drawn(size[0] * size[1], 6);

        if ((k & 1) || !tw_product_rows(&product, size[2])) {
            multiply(&product, &o, k & 1, k & 2);
            check_products(&o, k & 2 ? before : NULL);
        }
        operands_free(&o);
        free(before);
    }
}
END_TEST

/* Gradients that are stored past the caches: 8 MiB and more. */
START_TEST(large_gradients_are_right)
{
    const tw_kernels_t *kernels = kernels_at(_i);

    if (kernels != NULL) {
        const tw_product_t product = tw_product_make(kernels, 1);
        operands_t         o       = operands_make(2053, 1024, 3);

        multiply(&product, &o, 1, 0);
        check_products(&o, NULL);
        operands_free(&o);
    }
}
END_TEST

START_TEST(transpositions_are_right)
{
    static const size_t shapes[][2] = {{1, 1}, {1, 40}, {40, 1}, {16, 16}, {17, 33}, {100, 7}};

    for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
        const size_t rows = shapes[k][0], columns = shapes[k][1];
        float       *from = drawn(rows * columns, 1), *to = drawn(rows * columns, 2);

        tw_transpose(to, from, rows, columns, 1 + (int)(k % 2));
        for (size_t i = 0; i < rows * columns; i++) {
            ck_assert_float_eq(to[i % columns * rows + i / columns], from[i]);
        }
        free(from);
        free(to);
    }
}
END_TEST

/* ---- loops over units ------------------------------------------------------------------------ */

enum { UNITS = 21, MOST = 70, OUTS = 12, CELLS = UNITS * MOST + 64 };

static void run_loops(const tw_unit_loops_t *loops, size_t n, float out[OUTS][CELLS],
                      double loss[MOST])
{
    uint32_t         low[MOST], high[MOST];
    const tw_masks_t masks = {tw_drop_make(0, 0.4f).threshold, tw_drop_make(0, 0.4f).scale, low,
                              high};
    const tw_drop_t  drop  = tw_drop_make(99, 0.3f);
    float            bias[UNITS], top[MOST];

    dense_net_fill(bias, UNITS, 50, 1.0f);
    for (size_t j = 0; j < MOST; j++) {
        low[j]  = (uint32_t)tw_random_bits(51, j);
        high[j] = (uint32_t)tw_random_bits(52, j);
        loss[j] = (double)j;
    }
    for (int k = 0; k < OUTS; k++) {
        dense_net_fill(out[k], CELLS, (uint64_t)k, 4.0f);
    }
    for (int a = 0; a < 3; a++) {
        loops->forward(out[a], a == 1 ? NULL : bias, UNITS, n, (tw_activation_t)a,
                       a == 2 ? NULL : &masks, 1000);
        loops->backward(out[3 + a], out[a], UNITS, n, (tw_activation_t)a, 1.5f);
    }
    loops->mask(out[6], UNITS, n, &masks, 1000);
    loops->sums(out[7], out[8], UNITS, n, 0);
    loops->sums(out[7] + 32, out[8], UNITS, n, 1);
    loops->drop(out[8], out[8], UNITS * n, &drop);
    loops->top(top, out[9], UNITS, n);
    memcpy(out[10], top, n * sizeof(float));
    loops->exponentials(out[9], top, out[10] + MOST, UNITS, n);
    loops->scale(out[9], top, UNITS, n);
    loops->logistic_loss(out[11], loss, UNITS, n, 0.25f);
}

/* What lies behind the last value is untouched, too. */
START_TEST(loops_agree)
{
    static const size_t counts[] = {0, 1, 2, 7, 15, 16, 17, 33, 70};
    static float        want[OUTS][CELLS], got[OUTS][CELLS];
    static double       want_loss[MOST], got_loss[MOST];
    const tw_kernels_t *kernels = kernels_at(_i % 3);
    const size_t        n       = counts[_i / 3];

    if (kernels != NULL) {
        run_loops(&tw_unit_loops_scalar, n, want, want_loss);
        run_loops(tw_unit_loops_for(kernels), n, got, got_loss);
        for (int k = 0; k < OUTS; k++) {
            ck_assert_msg(memcmp(got[k], want[k], sizeof(want[k])) == 0, "output %d differs", k);
        }
        ck_assert_mem_eq(got_loss, want_loss, sizeof(want_loss));
    }
}
END_TEST

/* Masks [unit][example] are those of rows of units. */
START_TEST(masks_are_those_of_rows)
{
    const tw_unit_loops_t *loops = tw_unit_loops_for(best_kernels());
    uint32_t               low[MOST], high[MOST];
    float                  y[UNITS * MOST], row[UNITS + 1000];
    tw_drop_t              drop = tw_drop_make(0, 0.4f);
    const tw_masks_t       masks = {drop.threshold, drop.scale, low, high};

    for (size_t j = 0; j < MOST; j++) {
        const uint64_t key = tw_random_bits(5, j);

        low[j]  = (uint32_t)key;
        high[j] = (uint32_t)(key >> 32);
    }
    for (size_t i = 0; i < UNITS * MOST; i++) {
        y[i] = 1.0f;
    }
    loops->mask(y, UNITS, MOST, &masks, 1000);
    for (size_t j = 0; j < MOST; j++) {
        for (size_t i = 0; i < UNITS + 1000; i++) {
            row[i] = 1.0f;
        }
        drop.key = tw_random_bits(5, j);
        loops->drop(row, row, UNITS + 1000, &drop);
        for (size_t u = 0; u < UNITS; u++) {
            ck_assert_float_eq(y[u * MOST + j], row[1000 + u]);
        }
    }
}
END_TEST

/* ---- whole heads ----------------------------------------------------------------------------- */

static const char *const texts[] = {
    "l10",
    "r70 l5",
    "d0.2 r37 d0.5 S23 d0.5 l19 d0.3 d0.1 l5",
    "d0.1 d0.2 s33 r20 d0.25 L9 R8 d0.5 s7 L40",
};
static const size_t counts[] = {1, 3, 16, 48, 61};

typedef struct fixture {
    tw_network_t   net;
    tw_params_t    params;
    tw_head_t     *head;
    tw_head_pass_t pass;
    float         *x, *gx;
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
                         const tw_kernels_t *kernels, int threads)
{
    const tw_head_how_t how     = {.threads = threads, .kernels = kernels};
    tw_problem_t        problem = {0};
    const size_t        x       = n * 30;

    dense_net_make(&f->net, (tw_shape_t){5, 3, 2}, loss, text);
    ck_assert_int_eq(tw_params_create(&f->params, &f->net, 0, 1, 0, &problem), 0);
    dense_net_fill(f->params.value, f->params.total, 11, 0.5f);
    dense_net_fill(f->params.gradient, f->params.total, 12, 1.0f);
    ck_assert_int_eq(tw_head_create(&f->head, &f->net, &f->params, &how, n, &problem), 0);
    f->x        = drawn(x, 13);
    f->gx       = drawn(x, 14);
    f->labels   = calloc(n, sizeof(*f->labels));
    f->examples = calloc(n, sizeof(*f->examples));
    dense_net_examples(n, f->net.classes, 15, f->labels, f->examples);
    f->value    = doubles(f->params.value, f->params.total);
    f->gradient = doubles(NULL, f->params.total);
    f->x2       = doubles(f->x, x);
    f->gx2      = doubles(NULL, x);
    f->pass     = (tw_head_pass_t){.n        = n,
                                   .x        = f->x,
                                   .examples = f->examples,
                                   .labels   = f->labels,
                                   .training = 1,
                                   .seed     = 3,
                                   .step     = 17,
                                   .scale    = 1.0f / (float)n,
                                   .gx       = f->gx};
}

static void fixture_free(fixture_t *f)
{
    tw_head_destroy(f->head);
    tw_params_destroy(&f->params);
    dense_net_destroy(&f->net);
    free(f->x);
    free(f->gx);
    free(f->labels);
    free(f->examples);
    free(f->value);
    free(f->gradient);
    free(f->x2);
    free(f->gx2);
}

static double reference(fixture_t *f, size_t *wrong_p)
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

static void run(fixture_t *f, double *loss_p, size_t *wrong_p)
{
    tw_problem_t problem = {0};

    ck_assert_msg(tw_head_run(f->head, &f->pass, loss_p, wrong_p, &problem) == 0, "%s",
                  problem.text);
}

static void compare(fixture_t *f)
{
    double loss, want;
    size_t wrong, want_wrong;

    want = reference(f, &want_wrong);
    run(f, &loss, &wrong);
    ck_assert_double_eq_tol(loss, want, 1e-5 * want);
    ck_assert_uint_eq(wrong, want_wrong);
    near(f->params.gradient, f->gradient, f->params.total, 1.0, "gradient");
    near(f->gx, f->gx2, f->pass.n * 30, 1.0, "gx");
}

/* All instruction sets, losses, activations; with dropout and without; added up over two passes; evaluated. */
START_TEST(heads_match_the_reference)
{
    const tw_kernels_t *kernels = kernels_at(_i % 3);
    const size_t        n       = counts[_i / 3 % 5];
    const char         *text    = texts[_i / 15];

    for (int k = 0; kernels != NULL && k < 4; k++) {
        fixture_t f;
        double    loss, want;
        float    *kept;

        fixture_make(&f, text, k & 1 ? TW_LOSS_LOGISTIC : TW_LOSS_SOFTMAX, n, kernels,
                     k & 2 ? 2 : 1);
        f.pass.training = !(k & 2);
        compare(&f);
        f.pass.accumulate = 1;
        run(&f, &loss, NULL);
        near(f.params.gradient, f.gradient, f.params.total, 2.0, "sum of gradients");

        kept = drawn(f.params.total, 1);
        memcpy(kept, f.params.gradient, f.params.total * sizeof(float));
        f.pass.training = 0;
        f.pass.gx       = NULL;
        want            = reference(&f, NULL);
        run(&f, &loss, NULL);
        ck_assert_double_eq_tol(loss, want, 1e-5 * want);
        ck_assert_mem_eq(kept, f.params.gradient, f.params.total * sizeof(float));
        free(kept);
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
            most = fmax(most, fabs((double)f.params.gradient[i]));
        }
        for (size_t i = 0; i < f.params.total; i += 1 + f.params.total / 300) {
            const double at = f.value[i];
            double       above, below;

            f.value[i] = at + step;
            above = dense_net_reference(&f.net, &f.params, &f.pass, f.value, f.x2, NULL, NULL, NULL);
            f.value[i] = at - step;
            below = dense_net_reference(&f.net, &f.params, &f.pass, f.value, f.x2, NULL, NULL, NULL);
            f.value[i] = at;
            got        = (above - below) / (2.0 * step) * (double)f.pass.scale;
            ck_assert_msg(fabs(got - (double)f.params.gradient[i]) <= 2e-5 * most,
                          "parameter %zu: %.9g, by differences %.9g", i,
                          (double)f.params.gradient[i], got);
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

    for (int k = 0; k < 2; k++) {
        const size_t        n = shapes[k][1];
        size_t              calls = 0;
        char                text[32];
        const tw_head_how_t how = {.threads = 1,
                                   .kernels = best_kernels(),
                                   .between = count_calls,
                                   .user    = &calls};
        tw_problem_t        problem = {0};
        tw_head_t          *sliced;
        fixture_t           f;
        double              loss[2];
        float              *kept;

        snprintf(text, sizeof(text), "r%zu r%zu l3", shapes[k][0], shapes[k][0]);
        fixture_make(&f, text, TW_LOSS_SOFTMAX, n, how.kernels, 1);
        ck_assert_int_eq(tw_head_create(&sliced, &f.net, &f.params, &how, n, &problem), 0);
        run(&f, &loss[0], NULL);
        kept = drawn(f.params.total, 1);
        memcpy(kept, f.params.gradient, f.params.total * sizeof(float));
        ck_assert_int_eq(tw_head_run(sliced, &f.pass, &loss[1], NULL, &problem), 0);
        ck_assert_double_eq_tol(loss[0], loss[1], 1e-6 * loss[0]);
        for (size_t i = 0; i < f.params.total; i++) {
            ck_assert_float_eq_tol(kept[i], f.params.gradient[i], 1e-5f);
        }
        ck_assert_uint_ge(calls, k == 0 ? 9 : 15);
        free(kept);
        tw_head_destroy(sliced);
        fixture_free(&f);
    }
}
END_TEST

/* ---- numbers at the edge ---------------------------------------------------------------------- */

/* One dense layer of one input: the outputs are the weights. */
static double loss_of(tw_loss_t loss, const float *outputs, size_t classes, uint32_t label,
                      float *gradient, size_t *wrong_p)
{
    const tw_head_how_t  how     = {.threads = 1, .kernels = best_kernels()};
    const float          one     = 1.0f;
    const uint64_t       example = 0;
    const tw_head_pass_t pass    = {.n        = 1,
                                    .x        = &one,
                                    .examples = &example,
                                    .labels   = &label,
                                    .training = 1,
                                    .scale    = 1.0f};
    char                 text[16];
    tw_problem_t         problem = {0};
    tw_network_t         net;
    tw_params_t          params;
    tw_head_t           *head;
    double               result;

    snprintf(text, sizeof(text), "L%zu", classes);
    dense_net_make(&net, (tw_shape_t){1, 1, 1}, loss, text);
    ck_assert_int_eq(tw_params_create(&params, &net, 0, 1, 0, &problem), 0);
    memcpy(params.value, outputs, classes * sizeof(float));
    ck_assert_int_eq(tw_head_create(&head, &net, &params, &how, 1, &problem), 0);
    ck_assert_int_eq(tw_head_run(head, &pass, &result, wrong_p, &problem), 0);
    memcpy(gradient, params.gradient, classes * sizeof(float));
    tw_head_destroy(head);
    tw_params_destroy(&params);
    dense_net_destroy(&net);
    return result;
}

START_TEST(losses_are_safe)
{
    const float large[3] = {3000.0f, -3000.0f, 2990.0f}, equal[3] = {-7.0f, -7.0f, -7.0f};
    float       g[3];
    size_t      wrong;

    ck_assert_double_eq_tol(loss_of(TW_LOSS_SOFTMAX, large, 3, 1, g, &wrong), 6000.0, 1e-3);
    ck_assert(wrong == 1 && fabsf(g[1] + 1.0f) < 1e-6f && fabsf(g[0] - 1.0f) < 1e-4f);
    ck_assert_double_eq_tol(loss_of(TW_LOSS_SOFTMAX, large, 3, 0, g, &wrong), 4.54e-5, 1e-6);
    ck_assert(wrong == 0);
    ck_assert_double_eq_tol(loss_of(TW_LOSS_SOFTMAX, equal, 3, 2, g, &wrong), log(3.0), 1e-6);
    ck_assert_msg(wrong == 0, "nothing is greater");
    ck_assert_double_eq_tol(loss_of(TW_LOSS_LOGISTIC, large, 3, 1, g, &wrong), 8990.0, 1e-3);
    ck_assert(wrong == 1 && g[0] == 1.0f && g[1] == -1.0f && g[2] == 1.0f);
    ck_assert_double_eq_tol(loss_of(TW_LOSS_LOGISTIC, large, 3, 0, g, &wrong), 2990.0, 1e-3);
    ck_assert(wrong == 0);
}
END_TEST

START_TEST(bad_numbers_are_shown)
{
    const tw_loss_t kinds[] = {TW_LOSS_SOFTMAX, TW_LOSS_LOGISTIC};

    for (int k = 0; k < 2; k++) {
        for (size_t at = 0; at < 3; at++) {
            float  outputs[3] = {1.0f, 2.0f, 3.0f}, g[3];
            size_t wrong;

            outputs[at] = NAN;
            ck_assert(isnan(loss_of(kinds[k], outputs, 3, 1, g, &wrong)));
            ck_assert(at != 1 || wrong == 1);
            outputs[at] = INFINITY;
            ck_assert(!isfinite(loss_of(kinds[k], outputs, 3, at == 1 ? 0 : 1, g, &wrong)));
        }
    }
}
END_TEST

/* Many classes: more factors than fit one product. */
START_TEST(many_classes)
{
    static float outputs[5000], g[5000];
    double       want = 0.0;

    dense_net_fill(outputs, 5000, 9, 6.0f);
    for (size_t c = 0; c < 5000; c++) {
        want += log1p(exp((double)outputs[c])) - (c == 4321 ? (double)outputs[c] : 0.0);
    }
    ck_assert_double_eq_tol(loss_of(TW_LOSS_LOGISTIC, outputs, 5000, 4321, g, NULL), want,
                            1e-6 * want);
}
END_TEST

/* ---- what is refused -------------------------------------------------------------------------- */

static void expect_refusal(const char *text, size_t rows, const char *fragment)
{
    const tw_head_how_t how     = {.threads = 1, .kernels = best_kernels()};
    tw_problem_t        problem = {0};
    tw_network_t        net;
    tw_params_t         params;
    tw_head_t          *head;

    dense_net_make(&net, (tw_shape_t){3, 1, 1}, TW_LOSS_SOFTMAX, text);
    ck_assert_int_eq(tw_params_create(&params, &net, 0, 1, 0, &problem), 0);
    ck_assert_int_eq(tw_head_create(&head, &net, &params, &how, rows, &problem), -1);
    ck_assert_msg(strstr(problem.text, fragment) != NULL, "got '%s'", problem.text);
    tw_params_destroy(&params);
    dense_net_destroy(&net);
}

START_TEST(bad_heads_are_refused)
{
    expect_refusal("l4 r3", 4, "the last layer must be dense and linear");
    expect_refusal("l4 d0.5", 4, "the last layer must be dense and linear");
    expect_refusal("l4", (size_t)1 << 31, "at most 2147483647");
    expect_refusal("l100000 l2", (size_t)2000000000, "out of memory");
}
END_TEST

START_TEST(bad_passes_are_refused)
{
    tw_problem_t problem = {0};
    fixture_t    f;
    double       loss;

    fixture_make(&f, "r8 l5", TW_LOSS_SOFTMAX, 4, best_kernels(), 1);
    f.labels[2] = 5;
    ck_assert_int_eq(tw_head_run(f.head, &f.pass, &loss, NULL, &problem), -1);
    ck_assert_msg(strstr(problem.text, "a label is 5; the network has 5 classes") != NULL, "%s",
                  problem.text);
    f.pass.n = 5;
    problem  = (tw_problem_t){0};
    ck_assert_int_eq(tw_head_run(f.head, &f.pass, &loss, NULL, &problem), -1);
    ck_assert_msg(strstr(problem.text, "were made for 4") != NULL, "%s", problem.text);
    fixture_free(&f);
}
END_TEST

START_TEST(no_examples)
{
    fixture_t f;
    double    loss;
    size_t    wrong;

    fixture_make(&f, "d0.5 r8 d0.5 l5", TW_LOSS_LOGISTIC, 4, best_kernels(), 1);
    f.pass.n          = 0;
    f.pass.accumulate = 1;
    run(&f, &loss, &wrong);
    ck_assert(loss == 0.0 && wrong == 0 && f.params.gradient[0] != 0.0f);
    f.pass.accumulate = 0;
    run(&f, &loss, &wrong);
    for (size_t i = 0; i < f.params.total; i++) {
        ck_assert_float_eq(f.params.gradient[i], 0.0f);
    }
    ck_assert_uint_gt(tw_head_memory(f.head), 4 * 13 * sizeof(float));
    fixture_free(&f);
}
END_TEST

static TCase *add_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 240.0);
    suite_add_tcase(suite, tcase);
    return tcase;
}

int main(void)
{
    Suite   *suite = suite_create("train/head");
    TCase   *tcase;
    SRunner *runner;
    int      failed;

    tcase = add_case(suite, "products");
    tcase_add_loop_test(tcase, products_are_right, 0, 3 * (int)(sizeof(sizes) / sizeof(sizes[0])));
    tcase_add_loop_test(tcase, large_gradients_are_right, 0, 3);
    tcase_add_test(tcase, transpositions_are_right);
    tcase = add_case(suite, "loops");
    tcase_add_loop_test(tcase, loops_agree, 0, 27);
    tcase_add_test(tcase, masks_are_those_of_rows);
    tcase = add_case(suite, "heads");
    tcase_add_loop_test(tcase, heads_match_the_reference, 0, 60);
    tcase_add_loop_test(tcase, gradients_are_differences, 0, 4);
    tcase_add_test(tcase, the_hook_is_called);
    tcase = add_case(suite, "edges");
    tcase_add_test(tcase, losses_are_safe);
    tcase_add_test(tcase, bad_numbers_are_shown);
    tcase_add_test(tcase, many_classes);
    tcase_add_test(tcase, bad_heads_are_refused);
    tcase_add_test(tcase, bad_passes_are_refused);
    tcase_add_test(tcase, no_examples);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
