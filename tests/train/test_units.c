/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_units.c - products of dense layers and the loops over their outputs: against
 * plain ones and across instruction sets.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "tests/train/dense_net.h"
#include "tests/train/levels.h"
#include "train/compute/product.h"
#include "train/base/random.h"

/* ---- products ------------------------------------------------------------------------------- */

typedef struct operands {
    size_t units, in, n;
    float *w, *x, *d, *y, *e, *g; /* x, e: rows */
} operands_t;

static operands_t operands_make(size_t units, size_t in, size_t n)
{
    return (operands_t){units,
                        in,
                        n,
                        dense_net_drawn(units * in, 1),
                        dense_net_drawn(n * in, 2),
                        dense_net_drawn(units * n, 3),
                        dense_net_drawn(units * n, 4),
                        dense_net_drawn(n * in, 5),
                        dense_net_drawn(units * in, 6)};
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
    float *x = dense_net_drawn(o->n * o->in, 7), *e = dense_net_drawn(o->n * o->in, 8);

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
    const tw_compute_kernels_t *kernels = kernels_at(_i % 3);
    const size_t               *size    = sizes[_i / 3];

    for (int k = 0; kernels != NULL && k < 8; k++) {
        const tw_product_t product = tw_product_make(kernels, k & 4 ? 3 : 1);
        operands_t         o       = operands_make(size[0], size[1], size[2]);
        float             *before  = dense_net_drawn(size[0] * size[1], 6);

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
    const tw_compute_kernels_t *kernels = kernels_at(_i);

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
        float *from = dense_net_drawn(rows * columns, 1), *to = dense_net_drawn(rows * columns, 2);

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

enum { UNITS = 21, MOST = 70, OUTS = 13, CELLS = UNITS * MOST + 64 };

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
    loops->tops(out[12], out[9], UNITS, n);
    memcpy(out[10], top, n * sizeof(float));
    loops->exponentials(out[9], top, out[10] + MOST, UNITS, n);
    loops->scale(out[9], top, UNITS, n);
    loops->logistic_loss(out[11], loss, UNITS, n, 0.25f);
}

/* What lies behind the last value is untouched, too. */
START_TEST(loops_agree)
{
    static const size_t         counts[] = {0, 1, 2, 7, 15, 16, 17, 33, 70};
    static float                want[OUTS][CELLS], got[OUTS][CELLS];
    static double               want_loss[MOST], got_loss[MOST];
    const tw_compute_kernels_t *kernels = kernels_at(_i % 3);
    const size_t                n       = counts[_i / 3];

    if (kernels != NULL) {
        run_loops(&tw_unit_loops_scalar, n, want, want_loss);
        run_loops(TW_KERNELS_OF(kernels, tw_unit_loops), n, got, got_loss);
        for (int k = 0; k < OUTS; k++) {
            ck_assert_msg(memcmp(got[k], want[k], sizeof(want[k])) == 0, "output %d differs", k);
        }
        ck_assert_mem_eq(got_loss, want_loss, sizeof(want_loss));
    }
}
END_TEST

/* Found among few units and many, equal ones included; a NaN is not among them. */
START_TEST(the_largest_are_found)
{
    enum { N = 19 };
    const tw_compute_kernels_t *kernels = kernels_at(_i);
    float                       z[UNITS * N], top[TW_TOPS * N];

    for (size_t i = 0; i < UNITS * N; i++) {
        z[i] = (float)tw_random_below(8, i, 12) - 6.0f;
        z[i] = z[i] == 5.0f ? NAN : z[i];
    }
    for (size_t units = 0; kernels != NULL && units <= UNITS; units++) {
        TW_KERNELS_OF(kernels, tw_unit_loops)->tops(top, z, units, N);
        for (size_t j = 0; j < N; j++) {
            for (size_t k = 0; k < TW_TOPS; k++) {
                size_t greater = 0, least = 0, valid = 0;

                for (size_t u = 0; u < units; u++) {
                    greater += z[u * N + j] > top[k * N + j];
                    least += z[u * N + j] >= top[k * N + j];
                    valid += !isnan(z[u * N + j]);
                }
                ck_assert_msg(k < valid ? greater <= k && least > k : top[k * N + j] == -INFINITY,
                              "%zu units, example %zu, place %zu: %g", units, j, k,
                              (double)top[k * N + j]);
            }
        }
    }
}
END_TEST

/* Masks [unit][example] are those of rows of units. */
START_TEST(masks_are_those_of_rows)
{
    const tw_unit_loops_t *loops = TW_KERNELS_OF(best_kernels(), tw_unit_loops);
    uint32_t               low[MOST], high[MOST];
    float                  y[UNITS * MOST], row[UNITS + 1000];
    tw_drop_t              drop  = tw_drop_make(0, 0.4f);
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

int main(void)
{
    Suite *suite = suite_create("train/units");
    TCase *tcase;

    tcase = test_case_within(suite, "products", 240.0);
    tcase_add_loop_test(tcase, products_are_right, 0, 3 * (int)(sizeof(sizes) / sizeof(sizes[0])));
    tcase_add_loop_test(tcase, large_gradients_are_right, 0, 3);
    tcase_add_test(tcase, transpositions_are_right);
    tcase = test_case_within(suite, "loops", 240.0);
    tcase_add_loop_test(tcase, loops_agree, 0, 27);
    tcase_add_loop_test(tcase, the_largest_are_found, 0, 3);
    tcase_add_test(tcase, masks_are_those_of_rows);
    return test_main(suite);
}
