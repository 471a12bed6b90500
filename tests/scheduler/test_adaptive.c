/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/test_adaptive.c - when batch statistics become global, and merging moments by
 * hand.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <thinwire/statistics.h>

#include "tests/suite.h"

static tw_adaptive_t adaptive(tw_statistics_mode_t mode, double tolerance, int patience)
{
    tw_adaptive_t a = {.mode = mode, .tolerance = tolerance, .patience = patience, .batch = 128};

    ck_assert_int_eq(tw_adaptive_init(&a), TW_OK);
    return a;
}

/* The observation, from 1, at which statistics become global; 0: never. Never back. */
static int switch_of(tw_adaptive_t *a, const double *accuracy, int n)
{
    int at = 0;

    for (int i = 0; i < n; i++) {
        const int before = tw_adaptive_global(a);
        int       switched;

        ck_assert_int_eq(tw_adaptive_observe(a, accuracy[i], &switched), TW_OK);
        ck_assert_int_eq(switched, tw_adaptive_global(a) - before);
        if (switched) {
            ck_assert_int_eq(at, 0);
            at = i + 1;
        }
    }
    return at;
}

#define SWITCH(a, ...)                                                                             \
    switch_of((a), (const double[]){__VA_ARGS__},                                                  \
              (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)))

START_TEST(it_switches_when_nothing_has_improved_for_a_while)
{
    tw_adaptive_t a = adaptive(TW_STATISTICS_ADAPTIVE, 0.01, 2);

    ck_assert(!tw_adaptive_global(&a));
    ck_assert_int_eq(SWITCH(&a, 0.3, 0.5, 0.7, 0.705, 0.706), 5);
    ck_assert(tw_adaptive_global(&a));
    ck_assert_int_eq(SWITCH(&a, 0.9, 0.95, 1.0), 0); /* and stays there */
    ck_assert(tw_adaptive_global(&a));
}
END_TEST

START_TEST(an_improvement_starts_the_wait_again)
{
    tw_adaptive_t a = adaptive(TW_STATISTICS_ADAPTIVE, 0.01, 3);

    ck_assert_int_eq(SWITCH(&a, 0.5, 0.5, 0.5, 0.52, 0.52, 0.52, 0.53, 0.53, 0.53, 0.53), 10);
}
END_TEST

/* Every epoch by less than the tolerance, but together by more: that is a rise. */
START_TEST(a_slow_rise_is_a_rise)
{
    tw_adaptive_t a = adaptive(TW_STATISTICS_ADAPTIVE, 0.01, 1);

    ck_assert_int_eq(SWITCH(&a, 0.5, 0.503, 0.506, 0.509, 0.512, 0.515, 0.518, 0.521), 2);
    a = adaptive(TW_STATISTICS_ADAPTIVE, 0.01, 2);
    ck_assert_int_eq(SWITCH(&a, 0.5, 0.503, 0.506, 0.509, 0.512, 0.515, 0.518, 0.521), 0);
}
END_TEST

START_TEST(a_fall_is_no_improvement)
{
    tw_adaptive_t a = adaptive(TW_STATISTICS_ADAPTIVE, 0.01, 2);

    ck_assert_int_eq(SWITCH(&a, 0.8, 0.6, 0.7), 3);
}
END_TEST

/* The bound itself is not above it. Numbers that binary fractions hold. */
START_TEST(the_bound_is_exact)
{
    tw_adaptive_t a = adaptive(TW_STATISTICS_ADAPTIVE, 0.25, 1);

    ck_assert_int_eq(SWITCH(&a, 0.5, 0.625), 2);
    a = adaptive(TW_STATISTICS_ADAPTIVE, 0.25, 1);
    ck_assert_int_eq(SWITCH(&a, 0.5, nextafter(0.625, 1.0), 0.7), 3);
    a = adaptive(TW_STATISTICS_ADAPTIVE, 0.0, 1);
    ck_assert_int_eq(SWITCH(&a, 0.0, 0.5, nextafter(0.5, 1.0), nextafter(0.5, 1.0)), 4);
    a = adaptive(TW_STATISTICS_ADAPTIVE, 0.5, 1);
    ck_assert_int_eq(SWITCH(&a, 0.0, 0.0), 2);
}
END_TEST

START_TEST(local_and_global_stay_what_they_are)
{
    tw_adaptive_t a = adaptive(TW_STATISTICS_LOCAL, 0.01, 1);

    ck_assert_int_eq(SWITCH(&a, 0.5, 0.5, 0.5), 0);
    ck_assert(!tw_adaptive_global(&a));
    a = adaptive(TW_STATISTICS_GLOBAL, 0.01, 1);
    ck_assert(tw_adaptive_global(&a));
    ck_assert_int_eq(SWITCH(&a, 0.5, 0.5, 0.5), 0);
    ck_assert(tw_adaptive_global(&a));
    ck_assert(!tw_adaptive_global(NULL));
}
END_TEST

/* From batch_max on: never, in any mode. The batch is that of all devices. */
START_TEST(large_batches_are_never_global)
{
    for (uint64_t most = 127; most <= 129; most++) {
        tw_adaptive_t a = adaptive(TW_STATISTICS_ADAPTIVE, 0.01, 1);
        tw_adaptive_t g = adaptive(TW_STATISTICS_GLOBAL, 0.01, 1);

        a.batch_max = g.batch_max = most;
        ck_assert_int_eq(SWITCH(&a, 0.5, 0.5, 0.5), most == 129 ? 2 : 0);
        ck_assert_int_eq(tw_adaptive_global(&a), most == 129);
        ck_assert_int_eq(tw_adaptive_global(&g), most == 129);
    }
}
END_TEST

/* Saved after any number of epochs and taken back, it decides as if it had gone on. */
START_TEST(it_goes_on_where_it_was_saved)
{
    static const double accuracy[] = {0.1, 0.3, 0.31, 0.3, 0.4, 0.4, 0.4, 0.401, 0.9, 0.2};

    for (int cut = 0; cut <= 10; cut++) {
        tw_adaptive_t a = adaptive(TW_STATISTICS_ADAPTIVE, 0.05, 3), b = a;
        double        numbers[TW_ADAPTIVE_NUMBERS];
        const int     first = switch_of(&a, accuracy, cut);

        tw_adaptive_save(&a, numbers);
        ck_assert_int_eq(tw_adaptive_restore(&b, numbers), TW_OK);
        ck_assert_int_eq(tw_adaptive_global(&b), first > 0);
        ck_assert_uint_eq(b.observed, (uint64_t)cut);
        ck_assert_int_eq(switch_of(&b, accuracy + cut, 10 - cut), first > 0 ? 0 : 8 - cut);
    }
}
END_TEST

START_TEST(numbers_that_no_epochs_give_are_refused)
{
    static const double bad[][TW_ADAPTIVE_NUMBERS] = {
        {-0.1, 3, 1, 0},  {1.1, 3, 1, 0},      {NAN, 3, 1, 0},     {0.5, -1, 0, 0},
        {0.5, 2.5, 1, 0}, {0.5, 1e300, 1, 0},  {0.5, 3, 3, 0},     {0.5, 3, -1, 0},
        {0.5, 3, NAN, 0}, {0.5, 3, 1, 2},      {0.5, 3, 1, 0.5},   {0.5, 0, 0, 0},
        {0, 0, 0, 1},     {0, INFINITY, 0, 0}, {0.5, 1e10, 3e9, 0}};
    tw_adaptive_t before = adaptive(TW_STATISTICS_ADAPTIVE, 0.05, 3);

    ck_assert_int_eq(SWITCH(&before, 0.5, 0.5), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tw_adaptive_t a = before;

        ck_assert_msg(tw_adaptive_restore(&a, bad[i]) == TW_ERR_FORMAT, "%zu", i);
        ck_assert(a.best == before.best && a.observed == before.observed &&
                  a.quiet == before.quiet);
    }
    ck_assert_int_eq(tw_adaptive_restore(NULL, bad[0]), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_adaptive_restore(&before, NULL), TW_ERR_INVALID_ARG);
}
END_TEST

START_TEST(wrong_settings_are_refused)
{
    static const tw_adaptive_t bad[] = {{.mode = (tw_statistics_mode_t)3, .patience = 1},
                                        {.patience = 0},
                                        {.patience = -1},
                                        {.patience = 1, .tolerance = -0.1},
                                        {.patience = 1, .tolerance = 1.1},
                                        {.patience = 1, .tolerance = NAN}};
    tw_adaptive_t              a     = adaptive(TW_STATISTICS_ADAPTIVE, 0.05, 1);
    int                        switched;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tw_adaptive_t b = bad[i];

        ck_assert_msg(tw_adaptive_init(&b) == TW_ERR_INVALID_ARG, "%zu", i);
    }
    ck_assert_int_eq(tw_adaptive_init(NULL), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_adaptive_observe(NULL, 0.5, &switched), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_adaptive_observe(&a, -0.5, &switched), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_adaptive_observe(&a, 1.5, &switched), TW_ERR_INVALID_ARG);
    ck_assert_int_eq(tw_adaptive_observe(&a, NAN, &switched), TW_ERR_INVALID_ARG);
    ck_assert_uint_eq(a.observed, 0);
    ck_assert_int_eq(tw_adaptive_observe(&a, 0.5, NULL), TW_OK);
    ck_assert_uint_eq(a.observed, 1);
}
END_TEST

/* {1, 3} and {5, 7, 9}: count 5, mean 5, M2 40. {2} and {2}: no deviation. */
START_TEST(moments_merge)
{
    double       a[5] = {2, 2, 2, 2, 0}, zero[5] = {0};
    const double b[5] = {3, 7, 2, 8, 0}, empty[5] = {0, NAN, INFINITY, NAN, -1};
    const double want[5] = {5, 5, 2, 40, 0};

    tw_moments_merge(a, b, 2);
    for (int i = 0; i < 5; i++) {
        ck_assert_double_eq_tol(a[i], want[i], 1e-14);
    }
    memcpy(a, want, sizeof(a));
    tw_moments_merge(a, empty, 2);
    ck_assert_mem_eq(a, want, sizeof(a));
    memcpy(a, empty, sizeof(a));
    tw_moments_merge(a, b, 2);
    ck_assert_mem_eq(a, b, sizeof(a));
    memcpy(a, empty, sizeof(a));
    tw_moments_merge(a, empty, 2);
    ck_assert_mem_eq(a, zero, sizeof(a));
    a[0] = 2;
    tw_moments_merge(a, b, 0); /* no channels: the count alone */
    ck_assert_double_eq(a[0], 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("adaptive");
    TCase *tcase = test_case(suite, "rule");

    tcase_add_test(tcase, it_switches_when_nothing_has_improved_for_a_while);
    tcase_add_test(tcase, an_improvement_starts_the_wait_again);
    tcase_add_test(tcase, a_slow_rise_is_a_rise);
    tcase_add_test(tcase, a_fall_is_no_improvement);
    tcase_add_test(tcase, the_bound_is_exact);
    tcase_add_test(tcase, local_and_global_stay_what_they_are);
    tcase_add_test(tcase, large_batches_are_never_global);
    tcase_add_test(tcase, it_goes_on_where_it_was_saved);
    tcase_add_test(tcase, numbers_that_no_epochs_give_are_refused);
    tcase_add_test(tcase, wrong_settings_are_refused);
    tcase_add_test(tcase, moments_merge);
    return test_main(suite);
}
