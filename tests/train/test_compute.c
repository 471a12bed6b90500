/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_compute.c - what the loops call for each value: e^x and dropout. The loops are
 * in test_units.c, the update is in test_update.c, gradients are in test_head.c and test_backend.c.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/suite.h"
#include "train/compute/kernels.h"
#include "train/compute/units.h"
#include "train/base/random.h"

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

/* ---- dropout ------------------------------------------------------------------------------- */

START_TEST(dropout_has_its_rate)
{
    static const float rates[] = {0.2f, 0.5f, 0.8f};
    enum { ROWS = 400, UNITS = 1024 };
    const tw_unit_loops_t *loops = &tw_unit_loops_scalar;
    static float           full[UNITS], y[UNITS];
    const float            rate = rates[_i];
    double                 kept = 0.0, twice = 0.0;
    float                  before = 0.0f;

    for (size_t i = 0; i < UNITS; i++) {
        full[i] = 1.0f;
    }
    for (uint64_t row = 0; row < ROWS; row++) {
        const tw_drop_t drop = tw_drop_make(tw_random_key(1, TW_RANDOM_DROPOUT, 3, row), rate);

        loops->drop(y, full, UNITS, &drop);
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
    Suite *suite = suite_create("train/compute");
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, exp_is_close);
    tcase_add_loop_test(tcase, dropout_has_its_rate, 0, 3);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
