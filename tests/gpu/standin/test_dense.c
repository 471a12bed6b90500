/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/test_dense.c - what dense layers and optimizers ask of a backend, on the
 * stand-in beside the processor: the same bits, but for products. A product of k terms is within (k
 * + 2) 2^-24 sum |terms| of the sum in double. Losses and whole heads are in
 * tests/train/test_loss.c and test_head.c.
 */
#include "config.h"

#include <math.h>

#include "tests/gpu/standin/standin.h"
#include "tests/suite.h"
#include "tests/train/dense_net.h"
#include "tests/train/on_backend.h"
#include "train/compute/dense.h"
#include "train/compute/update.h"
#include "train/base/random.h"

static void clean(void)
{
    ck_assert_msg(standin_findings() == 0, "%s", standin_finding());
    ck_assert_int_eq(standin_objects(), 0);
}

static tw_backend_t *processor(void)
{
    tw_problem_t  problem = {.set = 0};
    tw_backend_t *backend;

    on_backend_must(tw_backend_host(&backend, best_kernels(), 1, &problem), &problem);
    return backend;
}

static tw_dense_t *dense_of(tw_backend_t *backend, size_t rows)
{
    tw_problem_t problem = {.set = 0};
    tw_dense_t  *dense;

    on_backend_must(tw_backend_dense(backend, rows, &dense, &problem), &problem);
    return dense;
}

/* ---- bits ------------------------------------------------------------------------------------ */

enum { UNITS = 37, OUTS = 12 };

/* All loops over outputs on a backend: out[OUTS][UNITS * n]. */
static void run_loops(tw_backend_t *backend, size_t n, float *out)
{
    const size_t    count = UNITS * n, bytes = count * sizeof(float);
    tw_dense_t     *dense   = dense_of(backend, n);
    tw_problem_t    problem = {.set = 0};
    float          *host = dense_net_drawn(OUTS * count, 5), *bias = dense_net_drawn(UNITS, 6);
    uint64_t       *examples = calloc(n + 1, sizeof(*examples));
    float          *there    = on_backend_copy(backend, host, OUTS * bytes), *bias_there;
    tw_dense_drop_t drop[2]  = {{7, 8, 3, 0.4f, NULL}, {7, 8, 4, 0.25f, NULL}};
    float          *at[OUTS];

    for (size_t j = 0; j < n; j++) {
        examples[j] = 1000 + 13 * j;
    }
    drop[0].examples = drop[1].examples = on_backend_copy(backend, examples, n * sizeof(*examples));
    bias_there                          = on_backend_copy(backend, bias, sizeof(float) * UNITS);
    for (int k = 0; k < OUTS; k++) {
        at[k] = there + (size_t)k * count;
    }
    for (int a = 0; a < 3; a++) {
        dense->ops->activate(dense, at[a], a == 1 ? NULL : bias_there, UNITS, n, (tw_activation_t)a,
                             a == 2 ? NULL : &drop[0], 1000);
        dense->ops->deactivate(dense, at[3 + a], at[a], UNITS, n, (tw_activation_t)a, 1.5f);
    }
    dense->ops->mask(dense, at[6], UNITS, n, &drop[1], 5);
    dense->ops->sum(dense, at[7], at[8], UNITS, n, 0);
    dense->ops->sum(dense, at[7], at[6], UNITS, n, 1);
    dense->ops->drop(dense, at[8], at[8], n, UNITS, drop, 2);
    dense->ops->drop(dense, at[9], at[8], n, UNITS, drop, 1);
    dense->ops->view(dense, at[10], at[11], count, 0, 3);
    dense->ops->view(dense, at[10], at[11], count, 1, 3);
    dense->ops->view(dense, at[10], at[11], count, 2, 3);
    ck_assert_int_eq(dense->ops->check(dense, &problem), 0);
    on_backend_get(backend, out, there, OUTS * bytes);
    tw_backend_release(backend, there);
    tw_backend_release(backend, bias_there);
    tw_backend_release(backend, (void *)drop[0].examples);
    tw_dense_destroy(dense);
    free(host);
    free(bias);
    free(examples);
}

START_TEST(loops_have_the_bits)
{
    static const size_t counts[] = {1, 15, 16, 17, 33, 100};

    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        const size_t  count = OUTS * UNITS * counts[k];
        float        *want = dense_net_drawn(count, 1), *got = dense_net_drawn(count, 2);
        tw_backend_t *host = processor(), *device;

        standin_seed((uint64_t)_i + k);
        device = on_backend(NULL, 1);
        run_loops(host, counts[k], want);
        run_loops(device, counts[k], got);
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(memcmp(&got[i], &want[i], sizeof(float)) == 0,
                          "%zu examples, output %zu: %.9g, wanted %.9g", counts[k],
                          i / (UNITS * counts[k]), (double)got[i], (double)want[i]);
        }
        tw_backend_destroy(device);
        tw_backend_destroy(host);
        free(want);
        free(got);
        clean();
    }
}
END_TEST

/* ---- optimizers ------------------------------------------------------------------------------ */

/* Three steps of each rule and max_norm: out = w, v. */
static void run_update(tw_backend_t *backend, size_t units, size_t per_unit, float *out)
{
    const size_t        n = units * per_unit, bytes = n * sizeof(float);
    const tw_sgd_rule_t sgd     = {0.05f, 0.9f, 0.0005f, 0.125f};
    const tw_rms_rule_t rms     = {0.006f, 0.9f, 1e-8f, 0.001f, 0.25f};
    tw_problem_t        problem = {.set = 0};
    float              *w = dense_net_drawn(n, 1), *g = dense_net_drawn(n, 2);
    float              *w_there = on_backend_copy(backend, w, bytes);
    float              *v_there = on_backend_copy(backend, NULL, bytes);
    float              *m_there = on_backend_copy(backend, NULL, bytes);
    float              *g_there = on_backend_copy(backend, g, bytes);
    const float         most    = 0.55f * sqrtf((float)per_unit) + 1e-6f;

    for (int k = 0; k < 3; k++) {
        ck_assert(tw_backend_sgd(backend, w_there, v_there, g_there, n, &sgd, &problem) == 0 &&
                  tw_backend_rmsprop(backend, w_there, m_there, g_there, n, &rms, &problem) == 0);
    }
    ck_assert(tw_backend_max_norm(backend, w_there, units, per_unit, most, &problem) == 0);
    on_backend_get(backend, out, w_there, bytes);
    on_backend_get(backend, out + n, v_there, bytes);
    on_backend_get(backend, out + 2 * n, m_there, bytes);
    tw_backend_release(backend, w_there);
    tw_backend_release(backend, v_there);
    tw_backend_release(backend, m_there);
    tw_backend_release(backend, g_there);
    free(w);
    free(g);
}

START_TEST(optimizers_have_the_bits)
{
    static const size_t sizes[][2] = {{0, 3}, {1, 1}, {40, 15}, {17, 16}, {5, 533}, {33, 70}};
    size_t              shortened  = 0;

    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        const size_t  n    = sizes[k][0] * sizes[k][1];
        float        *want = dense_net_drawn(3 * n, 1), *got = dense_net_drawn(3 * n, 2);
        float        *before = dense_net_drawn(n, 1);
        tw_backend_t *host   = processor(), *device;

        standin_seed((uint64_t)_i + k);
        device = on_backend(NULL, 1);
        run_update(host, sizes[k][0], sizes[k][1], want);
        run_update(device, sizes[k][0], sizes[k][1], got);
        ck_assert_mem_eq(got, want, 3 * n * sizeof(float));
        for (size_t i = 0; i < n; i++) {
            shortened += fabsf(want[i]) < 0.9f * fabsf(before[i]) && fabsf(before[i]) > 0.5f;
        }
        tw_backend_destroy(device);
        tw_backend_destroy(host);
        free(want);
        free(got);
        free(before);
        clean();
    }
    ck_assert_msg(shortened > 0, "no row was too long");
}
END_TEST

/* ---- products -------------------------------------------------------------------------------- */

static void near(const char *what, const float *got, const double *want, const double *size,
                 size_t count, size_t k)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(fabs((double)got[i] - want[i]) <= ((double)k + 2.0) * 0x1p-24 * size[i],
                      "%s[%zu] is %.9g, wanted %.9g", what, i, (double)got[i], want[i]);
    }
}

typedef struct product {
    size_t  units, in, n;
    int     rows;
    float  *w, *x, *d; /* the host's */
    double *y, *y_size, *e, *e_size, *g, *g_size;
} product_t;

static double *numbers(size_t n)
{
    return calloc(n + 1, sizeof(double));
}

static void product_make(product_t *p)
{
    p->w      = dense_net_drawn(p->units * p->in, 1);
    p->x      = dense_net_drawn(p->n * p->in, 2);
    p->d      = dense_net_drawn(p->units * p->n, 3);
    p->y      = numbers(p->units * p->n);
    p->y_size = numbers(p->units * p->n);
    p->e      = numbers(p->in * p->n);
    p->e_size = numbers(p->in * p->n);
    p->g      = numbers(p->units * p->in);
    p->g_size = numbers(p->units * p->in);
    for (size_t u = 0; u < p->units; u++) {
        for (size_t i = 0; i < p->in; i++) {
            for (size_t j = 0; j < p->n; j++) {
                const size_t at = p->rows ? j * p->in + i : i * p->n + j;
                const double w = p->w[u * p->in + i], x = p->x[at], d = p->d[u * p->n + j];

                p->y[u * p->n + j] += w * x;
                p->y_size[u * p->n + j] += fabs(w * x);
                p->e[at] += w * d;
                p->e_size[at] += fabs(w * d);
                p->g[u * p->in + i] += d * x;
                p->g_size[u * p->in + i] += fabs(d * x);
            }
        }
    }
}

static void product_free(product_t *p)
{
    free(p->w);
    free(p->x);
    free(p->d);
    free(p->y);
    free(p->y_size);
    free(p->e);
    free(p->e_size);
    free(p->g);
    free(p->g_size);
}

static void product_check(product_t *p)
{
    const tw_product_size_t size = {p->units, p->in, p->n, p->rows};
    const size_t            uf = p->units * sizeof(float), xf = p->in * p->n * sizeof(float);
    tw_backend_t           *b       = on_backend(NULL, 1);
    tw_dense_t             *dense   = dense_of(b, p->n);
    tw_problem_t            problem = {.set = 0};
    float *w = on_backend_copy(b, p->w, uf * p->in), *x = on_backend_copy(b, p->x, xf);
    float *d = on_backend_copy(b, p->d, uf * p->n), *y = on_backend_copy(b, p->d, uf * p->n);
    float *e = on_backend_copy(b, p->x, xf), *g = on_backend_copy(b, p->w, uf * p->in);
    float *host = dense_net_drawn(p->units * p->n + p->n * p->in + p->units * p->in, 9);

    dense->ops->forward(dense, &size, y, w, x);
    dense->ops->backward(dense, &size, e, w, d, 0, p->in);
    dense->ops->gradient(dense, &size, g, d, x, 0);
    ck_assert_int_eq(dense->ops->check(dense, &problem), 0);
    on_backend_get(b, host, y, uf * p->n);
    near("y", host, p->y, p->y_size, p->units * p->n, p->in);
    on_backend_get(b, host, e, xf);
    near("e", host, p->e, p->e_size, p->in * p->n, p->units);
    on_backend_get(b, host, g, uf * p->in);
    near("g", host, p->g, p->g_size, p->units * p->in, p->n);
    dense->ops->gradient(dense, &size, g, d, x, 1);
    on_backend_get(b, host, g, uf * p->in);
    for (size_t i = 0; i < p->units * p->in; i++) {
        p->g[i] *= 2.0;
        p->g_size[i] *= 2.0;
    }
    near("g, twice", host, p->g, p->g_size, p->units * p->in, p->n);
    free(host);
    tw_backend_release(b, w);
    tw_backend_release(b, x);
    tw_backend_release(b, d);
    tw_backend_release(b, y);
    tw_backend_release(b, e);
    tw_backend_release(b, g);
    tw_dense_destroy(dense);
    tw_backend_destroy(b);
}

START_TEST(products_are_right)
{
    static const size_t sizes[][3] = {{1, 1, 1},   {0, 7, 3},   {5, 1, 9},
                                      {3, 20, 16}, {19, 33, 7}, {40, 12, 50}};

    for (size_t k = 0; k < 2 * sizeof(sizes) / sizeof(sizes[0]); k++) {
        product_t p = {
            .units = sizes[k / 2][0], .in = sizes[k / 2][1], .n = sizes[k / 2][2], .rows = k % 2};

        standin_seed(k);
        product_make(&p);
        product_check(&p);
        product_free(&p);
        clean();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/dense on a device");
    TCase *tcase = test_case_within(suite, "all", 240.0);

    tcase_add_loop_test(tcase, loops_have_the_bits, 0, 2);
    tcase_add_loop_test(tcase, optimizers_have_the_bits, 0, 2);
    tcase_add_test(tcase, products_are_right);
    return test_main(suite);
}
