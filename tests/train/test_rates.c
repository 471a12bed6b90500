/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_rates.c - learning rates: the papers' numbers, schedules from text, and text
 * that is no schedule.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/suite.h"
#include "train/rates.h"

#include "tests/suite.h"

#define NEAR(got, want, bound) ck_assert_double_eq_tol((got), (want), (bound))

/* ---- batch size ----------------------------------------------------------------------------- */

static const char *const rules[] = {"linear", "sqrt", "sqrt-approximate"};

static void scale(const char *rule, double k, double *rate, double *decay)
{
    tw_problem_t problem = {0};

    ck_assert_msg(tw_rate_scale(rule, k, rate, decay, &problem) == 0, "%s", problem.text);
}

/* S4's example: from 128 to 1024 examples, eps 0.01, omega 0.0005. */
START_TEST(the_example_of_the_paper)
{
    double rate = 0.01, decay = 0.0005;

    scale("sqrt", 8, &rate, &decay);
    NEAR(rate, 0.0282843, 5e-8);
    NEAR(decay, 0.00141419, 5e-9);
    rate  = 0.01;
    decay = 0.0005;
    scale("sqrt-approximate", 8, &rate, &decay);
    NEAR(rate, 0.0282843, 5e-8);
    NEAR(decay, 0.00141421, 5e-9);
    rate  = 0.01;
    decay = 0.0005;
    scale("linear", 8, &rate, &decay);
    NEAR(rate, 0.08, 1e-16);
    ck_assert_double_eq(decay, 0.0005);
}
END_TEST

/* One step of the new decay takes as much as k of the old. */
START_TEST(exact_decay_is_that_of_k_steps)
{
    for (int k = 1; k <= 512; k *= 2) {
        double rate = 0.3, decay = 0.01, left = 1.0;

        for (int i = 0; i < k; i++) {
            left *= 1.0 - rate * decay;
        }
        scale("sqrt", k, &rate, &decay);
        NEAR(1.0 - rate * decay, left, 1e-13);
        NEAR(rate, 0.3 * sqrt(k), 1e-14);
    }
}
END_TEST

/* A smaller batch is as good: there and back again, and no change by 1. */
START_TEST(scaling_can_be_undone)
{
    static const double factors[] = {0.125, 0.3, 1.0, 1.5, 64.0};

    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
        for (int kind = 0; kind < 3; kind++) {
            double rate = 0.01, decay = 1e-12;

            scale(rules[kind], factors[i], &rate, &decay);
            if (factors[i] == 1.0) {
                ck_assert_double_eq(rate, 0.01);
                NEAR(decay, 1e-12, 1e-27);
            }
            scale(rules[kind], 1.0 / factors[i], &rate, &decay);
            NEAR(rate, 0.01, 1e-16);
            NEAR(decay, 1e-12, 1e-25);
        }
    }
}
END_TEST

START_TEST(numbers_that_cannot_be_are_refused)
{
    static const struct {
        double k, rate, decay;
    } bad[] = {{0, .1, .1},  {-1, .1, .1},     {NAN, .1, .1}, {INFINITY, .1, .1},
               {2, 0, .1},   {2, -.1, .1},     {2, NAN, .1},  {2, .1, -.1},
               {2, .1, NAN}, {2, INFINITY, 0}, {2, 10, .1},   {2, .1, INFINITY}};
    tw_problem_t problem;
    double       rate, decay;

    for (size_t i = 0; i < 3 * sizeof(bad) / sizeof(bad[0]); i++) {
        problem = (tw_problem_t){0};
        rate    = bad[i / 3].rate;
        decay   = bad[i / 3].decay;
        ck_assert_int_eq(tw_rate_scale(rules[i % 3], bad[i / 3].k, &rate, &decay, &problem), -1);
        ck_assert(strstr(problem.text, rules[i % 3]) != NULL);
        ck_assert(memcmp(&rate, &bad[i / 3].rate, sizeof(rate)) == 0);
        ck_assert(memcmp(&decay, &bad[i / 3].decay, sizeof(decay)) == 0);
        scale("none", bad[i / 3].k, &rate, &decay);
    }
    rate  = 1e300;
    decay = 0.0;
    ck_assert_int_eq(tw_rate_scale("linear", 1e300, &rate, &decay, &problem), -1);
    rate = 1.0;
    scale("sqrt", 4, &rate, &decay);
    ck_assert_double_eq(rate, 2.0);
    ck_assert_double_eq(decay, 0.0);
}
END_TEST

/* ---- schedules ------------------------------------------------------------------------------ */

static double at(const char *text, double epoch, double epochs)
{
    tw_schedule_t schedule;
    tw_problem_t  problem = {0};

    ck_assert_msg(tw_schedule_parse(text, &schedule, &problem) == 0, "%s: %s", text, problem.text);
    return tw_schedule_rate(&schedule, 0.5, epoch, epochs);
}

START_TEST(constant_stays)
{
    static const tw_schedule_t zeros;

    for (double epoch = -1.0; epoch < 100.0; epoch += 0.5) {
        ck_assert_double_eq(at("", epoch, 50), 0.5);
        ck_assert_double_eq(at("constant", epoch, 50), 0.5);
        ck_assert_double_eq(tw_schedule_rate(&zeros, 0.5, epoch, 50), 0.5);
    }
}
END_TEST

START_TEST(exp_multiplies_after_every_epoch)
{
    double want = 0.5;

    for (int epoch = 0; epoch < 75; epoch++) {
        NEAR(at("exp:0.99", epoch, 75), want, 1e-14);
        NEAR(at("exp:0.99", epoch + 0.999, 75), want, 1e-14);
        want *= 0.99;
    }
    ck_assert_double_eq(at("exp:2", -3.0, 75), 0.5);
}
END_TEST

/* S1's code: times 0.99 per epoch, from epoch 60 on times 0.85; multiplied epoch by epoch here. */
START_TEST(exp_changes_its_factor_once)
{
    double want = 0.5;

    for (int epoch = 0; epoch < 75; epoch++) {
        NEAR(at("exp:0.99:60:0.85", epoch, 75), want, 1e-14);
        NEAR(at("exp:0.99:60:0.85", epoch + 0.999, 75), want, 1e-14);
        want *= epoch < 60 ? 0.99 : 0.85;
    }
    for (int epoch = 0; epoch <= 60; epoch++) { /* until then with the same bits as without */
        ck_assert_double_eq(at("exp:0.99:60:0.85", epoch, 75), at("exp:0.99", epoch, 75));
    }
    ck_assert_double_eq(at("exp:1:60:0.5", 60, 75), 0.5);
    ck_assert_double_eq(at("exp:1:60:0.5", 61, 75), 0.25);
    ck_assert_double_eq(at("exp:0.5:1.5:0.25", 2, 75), 0.0625);
}
END_TEST

START_TEST(steps_multiply_at_their_epochs)
{
    for (int epoch = 0; epoch < 50; epoch++) {
        NEAR(at("steps:25,37:0.1", epoch, 50), epoch < 25 ? 0.5 : epoch < 37 ? 0.05 : 0.005, 1e-16);
    }
    ck_assert_double_eq(at("steps:0.5:0.25", 0.49, 50), 0.5);
    ck_assert_double_eq(at("steps:0.5:0.25", 0.5, 50), 0.125);
}
END_TEST

/* S4: times 250^(-1/3) at 25, 50 and 75 % of 90 epochs; base / 250 at the end. */
START_TEST(dexp_is_the_one_of_the_paper)
{
    const double part = 1.0 / 6.299605249474366; /* 250^(-1/3) */

    for (double epoch = 0.0; epoch < 91.0; epoch += 0.25) {
        const int quarter = epoch < 22.5 ? 0 : epoch < 45.0 ? 1 : epoch < 67.5 ? 2 : 3;

        NEAR(at("dexp:250:4", epoch, 90), 0.5 * pow(part, quarter), 1e-15);
    }
    ck_assert_double_eq(at("dexp:250:4", 67.5, 90), 0.5 / 250);
    ck_assert_double_eq(at("dexp:250:4", 1e9, 90), 0.5 / 250);
    ck_assert_double_eq(at("dexp:10:2", 44, 90), 0.5);
    ck_assert_double_eq(at("dexp:10:2", 45, 90), 0.05);
    ck_assert_double_eq(at("dexp:250:4", 30, 0), 0.5);
    for (int quarter = 1; quarter < 200; quarter++) { /* epochs that divide are met exactly */
        NEAR(at("dexp:8:4", quarter, 4.0 * quarter), 0.25, 1e-16);
        ck_assert_double_eq(at("dexp:8:4", quarter - 1, 4.0 * quarter), 0.5);
        ck_assert_double_eq(at("dexp:8:4", 3.0 * quarter, 4.0 * quarter), 0.0625);
    }
}
END_TEST

START_TEST(stairs_multiply_every_so_many_epochs)
{
    for (int epoch = 0; epoch < 100; epoch++) {
        NEAR(at("stairs:30:0.16", epoch, 100), 0.5 * pow(0.16, epoch / 30), 1e-16);
    }
}
END_TEST

static const struct {
    const char *text, *named;
} bad_texts[] = {
    {"linear",
     "there is no 'linear'; accepted: constant, exp:F[:E:F], steps:E,E:F, dexp:F:N, stairs:E:F"},
    {"Exp:0.9", "'Exp'"},
    {":", "there is no ''"},
    {"constant:1", "1 fields after the name, not 0"},
    {"exp", "0 fields after the name, not 1"},
    {"exp:", "factor ''"},
    {"exp:0", "factor '0'"},
    {"exp:-1", "factor '-1'"},
    {"exp:nan", "factor 'nan'"},
    {"exp:inf", "factor 'inf'"},
    {"exp: 0.9", "factor ' 0.9'"},
    {"exp:0x1p-1", "factor '0x1p-1'"},
    {"exp:0.9x", "factor '0.9x'"},
    {"exp:0,9", "factor '0,9'"},
    {"exp:0.9:1", "2 fields"},
    {"exp:0.9:1:0.8:1", "4 fields"},
    {"exp:0.9:0:0.8", "epoch '0'"},
    {"exp:0.9:60:", "factor ''"},
    {"exp:0.9:60:0", "factor '0'"},
    {"exp:0.9:60,70:0.8", "epoch '60,70'"},
    {"steps:25", "1 fields"},
    {"steps:25:0.1:3", "3 fields"},
    {"steps::0.1", "epoch ''"},
    {"steps:25,:0.1", "epoch ''"},
    {"steps:25,25:0.1", "epoch 25 does not come after 25"},
    {"steps:37,25:0.1", "epoch 25 does not come after 37"},
    {"steps:0:0.1", "epoch '0'"},
    {"steps:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"
     "33:0.1",
     "more than 32 epochs"},
    {"dexp:250", "1 fields"},
    {"dexp:250:1", "'1' is not a number of pieces, 2..1e+06"},
    {"dexp:250:2.5", "'2.5'"},
    {"dexp:250:1e7", "'1e7'"},
    {"dexp:0:4", "factor '0'"},
    {"stairs:0:0.16", "epoch '0'"},
    {"stairs:30:", "factor ''"}};

START_TEST(bad_text_is_refused_with_a_reason)
{
    tw_schedule_t schedule = {.factor = 77.0};
    tw_problem_t  problem  = {0};

    ck_assert_int_eq(tw_schedule_parse(bad_texts[_i].text, &schedule, &problem), -1);
    ck_assert_msg(strstr(problem.text, bad_texts[_i].named) != NULL &&
                      strstr(problem.text, "; accepted: ") != NULL &&
                      strchr(problem.text, '\n') == NULL,
                  "%s", problem.text);
    ck_assert_double_eq(schedule.factor, 77.0);
}
END_TEST

START_TEST(text_that_is_too_long_is_refused)
{
    tw_schedule_t schedule;
    tw_problem_t  problem = {0};
    char          text[400];

    memset(text, '1', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text, "exp:", 4);
    ck_assert_int_eq(tw_schedule_parse(text, &schedule, &problem), -1);
    ck_assert(strstr(problem.text, "longer than 255 characters") != NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rates");
    TCase *batch = test_case(suite, "batch size");
    TCase *text  = test_case(suite, "schedules");

    tcase_add_test(batch, the_example_of_the_paper);
    tcase_add_test(batch, exact_decay_is_that_of_k_steps);
    tcase_add_test(batch, scaling_can_be_undone);
    tcase_add_test(batch, numbers_that_cannot_be_are_refused);
    tcase_add_test(text, constant_stays);
    tcase_add_test(text, exp_multiplies_after_every_epoch);
    tcase_add_test(text, exp_changes_its_factor_once);
    tcase_add_test(text, steps_multiply_at_their_epochs);
    tcase_add_test(text, dexp_is_the_one_of_the_paper);
    tcase_add_test(text, stairs_multiply_every_so_many_epochs);
    TEST_EACH(text, bad_text_is_refused_with_a_reason, bad_texts);
    tcase_add_test(text, text_that_is_too_long_is_refused);
    return test_main(suite);
}
