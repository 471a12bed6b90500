/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_quantiles.c - numbers drawn from a table of quantiles are distributed as those
 * that it was made of.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "command/quantiles.h"
#include "tests/suite.h"

#define N 100000

/* Magnitudes e^-12 .. e^17, most in the middle: number i of N in rising order. */
static double magnitude(size_t i)
{
    const double p = ((double)i + 0.5) / N;

    return exp(log(p / (1.0 - p)) + 5.0 * p);
}

/* 20000 zeros, and every fourth of the others negative, in an order of its own. */
static float *numbers(void)
{
    float *x = calloc(N + 20000, sizeof(*x));

    for (size_t i = 0; i < N; i++) {
        x[i * 7919 % N] = (float)(i % 4 == 0 ? -magnitude(i) : magnitude(i));
    }
    return x;
}

START_TEST(draws_are_distributed_as_the_numbers)
{
    float         *x = numbers();
    tw_quantiles_t table;

    tw_quantiles_make(&table, "x", x, N + 20000);
    ck_assert_str_eq(table.name, "x");
    ck_assert_uint_eq(table.count, N + 20000);
    ck_assert_double_eq_tol(table.zero, 1.0 / 6.0, 1e-12);
    ck_assert_double_eq_tol(table.negative, 0.25, 1e-12);
    for (size_t i = 0; i < N; i += i < 100 || i >= N - 100 ? 1 : 97) {
        const double p = ((double)i + 0.5) / N, want = log(magnitude(i));

        ck_assert_double_eq_tol(log((double)tw_quantiles_draw(&table, 1.0, 1.0, p)), want, 0.02);
        ck_assert_float_lt(tw_quantiles_draw(&table, 1.0, 0.25, p), 0.0f);
    }
    ck_assert_float_eq(tw_quantiles_draw(&table, 1.0 / 6.0, 1.0, 0.5), 0.0f);
    ck_assert_float_eq(tw_quantiles_draw(&table, 1.0, 1.0, 1.0), (float)magnitude(N - 1));
    ck_assert_float_eq(tw_quantiles_draw(&table, 1.0, 1.0, 0x1p-53), (float)magnitude(0));
    free(x);
}
END_TEST

START_TEST(few_numbers_are_enough)
{
    float          zeros[3] = {0.0f, -0.0f, 0.0f}, one[1] = {-2.5f};
    tw_quantiles_t table;

    tw_quantiles_make(&table, "zeros", zeros, 3);
    ck_assert_float_eq(tw_quantiles_draw(&table, 1.0, 1.0, 0.5), 0.0f);
    tw_quantiles_make(&table, "one", one, 1);
    for (double p = 0x1p-53; p <= 1.0; p *= 2.0) {
        ck_assert_float_eq(tw_quantiles_draw(&table, p, 1.0, p), -2.5f);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantiles");
    TCase *tcase = test_case(suite, "quantiles");

    tcase_add_test(tcase, draws_are_distributed_as_the_numbers);
    tcase_add_test(tcase, few_numbers_are_enough);
    return test_main(suite);
}
