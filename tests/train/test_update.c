/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_update.c - the optimizers against scalar loops and against their formulas, and
 * the same bits at every instruction set.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "thinwire/thinwire.h"
#include "tests/suite.h"
#include "tests/train/levels.h"
#include "train/compute/kernels.h"
#include "train/compute/update.h"
#include "train/base/random.h"

enum { N_MAX = 300 };

static const size_t lengths[] = {0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 127, 300};

/* NULL where this processor or build does not have the level. */
static const tw_update_t *update_at(int k)
{
    const tw_compute_kernels_t *kernels = kernels_at(k);

    return kernels != NULL ? TW_KERNELS_OF(kernels, tw_update) : NULL;
}

static void fill(float *x, size_t n, uint64_t key, float range)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = range * (2.0f * tw_random_uniform(key, i) - 1.0f);
    }
}

/* The rule as it is written, one number at a time. */
START_TEST(sgd_is_its_formula)
{
    const tw_update_t  *update = update_at(_i % LEVELS);
    const size_t        n      = lengths[_i / LEVELS];
    const tw_sgd_rule_t rule   = {0.05f, 0.9f, 0.0005f, 0.125f};
    float               w[N_MAX], v[N_MAX], g[N_MAX], want_w[N_MAX], want_v[N_MAX];

    fill(w, N_MAX, 1, 1.0f);
    fill(v, N_MAX, 2, 0.1f);
    fill(g, N_MAX, 3, 2.0f);
    memcpy(want_w, w, sizeof(w));
    memcpy(want_v, v, sizeof(v));
    for (size_t i = 0; i < n; i++) {
        const double step =
            0.9 * (double)want_v[i] + 0.05 * (0.125 * (double)g[i] + 0.0005 * (double)want_w[i]);
        const float decayed = rule.scale * g[i] + rule.decay * want_w[i];

        want_v[i] = rule.momentum * want_v[i] + rule.rate * decayed;
        want_w[i] = want_w[i] - want_v[i];
        ck_assert_double_eq_tol(want_v[i], step, 1e-7);
    }
    if (update != NULL) {
        update->sgd(w, v, g, n, &rule);
        ck_assert_mem_eq(w, want_w, sizeof(w)); /* what lies behind n is untouched too */
        ck_assert_mem_eq(v, want_v, sizeof(v));
    }
}
END_TEST

START_TEST(rmsprop_is_its_formula)
{
    const tw_update_t  *update = update_at(_i % LEVELS);
    const size_t        n      = lengths[_i / LEVELS];
    const tw_rms_rule_t rule   = {0.006f, 0.9f, 1e-8f, 0.001f, 0.25f};
    float               w[N_MAX], m[N_MAX], g[N_MAX], want_w[N_MAX], want_m[N_MAX];

    fill(w, N_MAX, 1, 1.0f);
    fill(m, N_MAX, 2, 0.1f);
    fill(g, N_MAX, 3, 2.0f);
    for (size_t i = 0; i < N_MAX; i++) {
        m[i] = fabsf(m[i]);
    }
    memcpy(want_w, w, sizeof(w));
    memcpy(want_m, m, sizeof(m));
    for (size_t i = 0; i < n; i++) {
        const float d = rule.scale * g[i] + rule.decay * want_w[i];

        want_m[i] = rule.rms_decay * want_m[i] + (1.0f - rule.rms_decay) * (d * d);
        want_w[i] -= rule.rate * d / (sqrtf(want_m[i]) + rule.epsilon);
    }
    if (update != NULL) {
        update->rmsprop(w, m, g, n, &rule);
        ck_assert_mem_eq(w, want_w, sizeof(w));
        ck_assert_mem_eq(m, want_m, sizeof(m));
    }
}
END_TEST

/* A gradient that is the mean already, no decay: the rule as it is published. */
START_TEST(rmsprop_is_the_rule)
{
    const tw_rms_rule_t rule = {0.006f, 0.9f, 1e-8f, 0.0f, 1.0f};
    float               w[N_MAX], m[N_MAX] = {0.0f}, g[N_MAX], before[N_MAX];

    fill(g, N_MAX, 3, 2.0f);
    fill(w, N_MAX, 1, 1.0f);
    memcpy(before, w, sizeof(w));
    tw_update_scalar.rmsprop(w, m, g, N_MAX, &rule);
    for (size_t i = 0; i < N_MAX; i++) {
        const double mean = 0.1 * ((double)g[i] * g[i]);

        ck_assert_double_eq_tol(m[i], mean, 1e-6 * mean);
        ck_assert_double_eq_tol(w[i], before[i] - 0.006 * g[i] / (sqrt(mean) + 1e-8), 1e-6);
    }
}
END_TEST

static double length_of(const float *w, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += (double)w[i] * (double)w[i];
    }
    return sqrt(sum);
}

/* Rows of growing length, about half of them too long. */
START_TEST(max_norm_shortens_the_long)
{
    const tw_update_t *update = update_at(_i % LEVELS);
    const size_t       n      = lengths[_i / LEVELS];
    const float        most   = 0.5f * sqrtf((float)n) + 1e-6f;
    enum { UNITS = 6 };
    static float before[UNITS * N_MAX], w[UNITS * N_MAX], same[UNITS * N_MAX];
    size_t       shortened = 0;

    for (size_t u = 0; u < UNITS; u++) {
        fill(before + u * n, n, 10 + u, 0.3f * (float)(u + 1));
    }
    memcpy(w, before, sizeof(w));
    memcpy(same, before, sizeof(same));
    if (update == NULL) {
        return;
    }
    update->max_norm(w, UNITS, n, most);
    tw_update_scalar.max_norm(same, UNITS, n, most);
    ck_assert_mem_eq(w, same, sizeof(w));
    for (size_t u = 0; u < UNITS; u++) {
        const double length = length_of(before + u * n, n);
        const double factor = length > (double)most ? (double)most / length : 1.0;

        shortened += factor < 1.0;
        for (size_t i = 0; i < n; i++) {
            ck_assert_double_eq_tol(w[u * n + i], (double)before[u * n + i] * factor, 3e-7);
        }
    }
    ck_assert(n < 7 || (shortened > 0 && shortened < UNITS));
}
END_TEST

int main(void)
{
    const int cases = LEVELS * (int)(sizeof(lengths) / sizeof(lengths[0]));
    Suite    *suite = suite_create("update");
    TCase    *tcase = tcase_create("all");

    tcase_add_loop_test(tcase, sgd_is_its_formula, 0, cases);
    tcase_add_loop_test(tcase, rmsprop_is_its_formula, 0, cases);
    tcase_add_test(tcase, rmsprop_is_the_rule);
    tcase_add_loop_test(tcase, max_norm_shortens_the_long, 0, cases);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
