/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_compute.c - kernels against plain loops and across instruction sets, dropout;
 * the update is in test_update.c, gradients are in test_head.c and test_backend.c.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "thinwire/thinwire.h"
#include "train/compute/kernels.h"
#include "train/random.h"

enum { N_MAX = 300, GUARD = 16 };

static const char *const levels[]  = {"scalar", "avx2", "avx512"};
static const size_t      lengths[] = {0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 127, 300};

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

static void fill(float *x, size_t n, uint64_t key, float range)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = range * (2.0f * tw_random_uniform(key, i) - 1.0f);
    }
}

START_TEST(exp_is_close)
{
    for (double x = -87.0; x <= 87.0; x += 0.001) {
        const double want = exp((double)(float)x);

        ck_assert_double_le(fabs(tw_kernels_exp((float)x) - want) / want, 3e-7);
    }
    ck_assert_float_eq(tw_kernels_exp(0.0f), 1.0f);
    ck_assert(tw_kernels_exp(-1000.0f) > 0.0f && tw_kernels_exp(-1000.0f) < 1e-37f);
    ck_assert(isfinite(tw_kernels_exp(1000.0f)));
    ck_assert(isnan(tw_kernels_exp(NAN)));
}
END_TEST

/* All kernels one after another on the same input; out collects what they wrote. */
static void run_all(const tw_kernels_t *k, size_t n, const tw_drop_t *drop, float out[8][N_MAX])
{
    const tw_rmsprop_t how = {0.006f, 0.9f, 1e-8f};
    uint8_t            pixels[N_MAX];
    float              bias[N_MAX], g[N_MAX];

    for (int i = 0; i < 8; i++) {
        fill(out[i], N_MAX, (uint64_t)i, 3.0f);
    }
    fill(bias, N_MAX, 20, 1.0f);
    fill(g, N_MAX, 21, 1e-3f);
    for (size_t i = 0; i < N_MAX; i++) {
        pixels[i] = (uint8_t)tw_random_bits(22, i);
        out[7][i] = fabsf(out[7][i]);
    }
    k->pixels(out[0], pixels, n, drop);
    k->logistic(out[1], bias, n, drop);
    k->logistic_back(out[2], out[1], n, 0.5f);
    k->add(out[3], g, n);
    k->add_squares(out[4], g, n);
    k->multiply(out[5], bias, n);
    k->rmsprop(out[6], out[7], g, n, &how);
}

START_TEST(kernels_agree)
{
    const tw_kernels_t *kernels = kernels_at(_i % 3);
    const size_t        n       = lengths[_i / 3];
    const tw_drop_t     drops[] = {tw_drop_make(0, 0.0f), tw_drop_make(77, 0.5f)};
    static float        want[8][N_MAX], got[8][N_MAX];

    for (int k = 0; kernels != NULL && k < 2; k++) {
        run_all(&tw_kernels_scalar, n, &drops[k], want);
        run_all(kernels, n, &drops[k], got);
        ck_assert_mem_eq(got, want, sizeof(want)); /* what lies behind n is untouched too */
    }
}
END_TEST

START_TEST(kernels_match_formulas)
{
    const tw_drop_t none = tw_drop_make(0, 0.0f);
    static float    out[8][N_MAX], in[8][N_MAX];
    float           bias[N_MAX], g[N_MAX];

    run_all(&tw_kernels_scalar, 0, &none, in);
    run_all(&tw_kernels_scalar, N_MAX, &none, out);
    fill(bias, N_MAX, 20, 1.0f);
    fill(g, N_MAX, 21, 1e-3f);
    for (size_t i = 0; i < N_MAX; i++) {
        const double y = 1.0 / (1.0 + exp(-((double)in[1][i] + bias[i])));
        const double m = 0.9 * in[7][i] + 0.1 * ((double)g[i] * g[i]);

        ck_assert_float_eq_tol(out[0][i], (float)(uint8_t)tw_random_bits(22, i) / 255.0f, 1e-6);
        ck_assert_double_eq_tol(out[1][i], y, 3e-7);
        ck_assert_double_eq_tol(out[2][i], in[2][i] * out[1][i] * (1.0 - 0.5 * out[1][i]), 1e-6);
        ck_assert_float_eq(out[3][i], in[3][i] + g[i]);
        ck_assert_double_eq_tol(out[4][i], in[4][i] + (double)g[i] * g[i], 1e-6);
        ck_assert_float_eq(out[5][i], in[5][i] * bias[i]);
        ck_assert_double_eq_tol(out[7][i], m, 1e-6 * m);
        ck_assert_double_eq_tol(out[6][i], in[6][i] - 0.006 * g[i] / (sqrt(m) + 1e-8), 1e-6);
    }
}
END_TEST

/* ---- dropout ------------------------------------------------------------------------------- */

START_TEST(dropout_has_its_rate)
{
    static const float rates[] = {0.2f, 0.5f, 0.8f};
    enum { ROWS = 400, UNITS = 1024 };
    static uint8_t full[UNITS];
    static float   y[UNITS];
    const float    rate = rates[_i];
    double         kept = 0.0, twice = 0.0;
    float          before = 0.0f;

    memset(full, 255, sizeof(full));
    for (uint64_t row = 0; row < ROWS; row++) {
        const tw_drop_t drop = tw_drop_make(tw_random_key(1, TW_RANDOM_DROPOUT, 3, row), rate);

        tw_kernels_scalar.pixels(y, full, UNITS, &drop);
        for (size_t i = 0; i < UNITS; i++) {
            ck_assert(y[i] == 0.0f || fabsf(y[i] - 1.0f / (1.0f - rate)) < 1e-6f);
            kept += y[i] != 0.0f;
            twice += y[i] != 0.0f && before != 0.0f; /* neighbours are independent */
            before = y[i];
        }
    }
    ck_assert_double_eq_tol(kept / (ROWS * UNITS), 1.0 - rate, 0.003);
    ck_assert_double_eq_tol(twice / (ROWS * UNITS), (1.0 - rate) * (1.0 - rate), 0.004);
}
END_TEST

int main(void)
{
    Suite   *suite  = suite_create("train/compute");
    TCase   *tcase  = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int      failed;

    tcase_add_test(tcase, exp_is_close);
    tcase_add_loop_test(tcase, kernels_agree, 0, 3 * sizeof(lengths) / sizeof(lengths[0]));
    tcase_add_test(tcase, kernels_match_formulas);
    tcase_add_loop_test(tcase, dropout_has_its_rate, 0, 3);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
