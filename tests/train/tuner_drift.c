/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/tuner_drift.c - after a search for threads and transfer index: a drift is noticed,
 * noise is not taken for one; states that are adopted.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "tests/train/tuner_rig.h"

enum { WINDOW = 64 };

/* ---- drift --------------------------------------------------------------------------------- */

/* A machine whose network takes 1 s and hides all loading with 3 threads and all but one operation
 * by them. */
static machine_t plain_machine(uint64_t seed)
{
    machine_t machine = {.threads = 6, .operations = 4, .random = {seed}};

    for (int t = 1; t <= 6; t++) {
        for (int i = 0; i <= 4; i++) {
            machine.seconds[t - 1][i] =
                fmax(1 + 0.06 * (4 - i), (0.5 + 0.8 * i) / t) + 0.02 * (t - 1);
        }
    }
    find_best(&machine);
    return machine;
}

static tw_tuner_t *settled(machine_t *machine, int prune, double drift)
{
    tw_tuner_t *tuner = create(machine, 5, 1, prune, drift);

    settle(tuner, machine, NULL);
    return tuner;
}

/* Steps until another search begins; most: none did. */
static size_t until_search(tw_tuner_t *tuner, machine_t *machine, double slower, size_t most)
{
    const size_t searches = tw_tuner_searches(tuner);
    size_t       steps    = 0;

    while (steps < most && tw_tuner_searches(tuner) == searches) {
        step(tuner, machine, slower);
        steps++;
    }
    ck_assert_int_eq(tw_tuner_settled(tuner), steps == most);
    return steps;
}

static const struct {
    double slower;
    int    found;
} jumps[] = {{1.15, 1}, {0.85, 1}, {3, 1}, {0.1, 1}, {1.08, 0}, {0.92, 0}, {1, 0}};

START_TEST(a_jump_begins_a_search)
{
    machine_t   machine = plain_machine(test_seed());
    tw_tuner_t *tuner;

    machine.noise    = 0.02;
    machine.outliers = 0.01;
    tuner            = settled(&machine, _i % 2, 0.1);
    ck_assert_uint_eq(until_search(tuner, &machine, 1, 10 * WINDOW), 10 * WINDOW);
    if (jumps[_i].found) {
        size_t count;

        ck_assert_uint_le(until_search(tuner, &machine, jumps[_i].slower, 10000), 2 * WINDOW + 1);
        ck_assert_uint_eq(tw_tuner_searches(tuner), 2);
        for (size_t k = 0; k < states_of(&machine); k++) {
            ck_assert(tw_tuner_rows(tuner, &count)[k].median < 0);
        }
        settle(tuner, &machine, NULL);
        ck_assert(beyond_best(tuner, &machine) < 0.1); /* a full search only has 5 samples */
    } else {
        ck_assert_uint_eq(until_search(tuner, &machine, jumps[_i].slower, 10000), 10000);
    }
    tw_tuner_destroy(tuner);
}
END_TEST

/* The work moves: another state is best, and is found. */
START_TEST(the_new_best_is_found)
{
    for (int prune = 0; prune < 2; prune++) {
        machine_t   machine = plain_machine(1);
        tw_tuner_t *tuner   = settled(&machine, prune, 0.1);
        size_t      before;

        ck_assert(beyond_best(tuner, &machine) <= 0);
        until_search(tuner, &machine, 1, 5 * WINDOW);
        for (int t = 0; t < 6; t++) { /* a cheaper network, dearer images */
            for (int i = 0; i <= 4; i++) {
                machine.seconds[t][i] = fmax(0.3 + 0.1 * (4 - i), (0.5 + 2.0 * i) / (t + 1));
            }
        }
        find_best(&machine);
        ck_assert(beyond_best(tuner, &machine) > 0.1);
        ck_assert_uint_lt(until_search(tuner, &machine, 1, 1000), 3 * WINDOW);
        before = settle(tuner, &machine, NULL);
        ck_assert(prune || before == states_of(&machine) * 6);
        ck_assert(beyond_best(tuner, &machine) <= 0);
        ck_assert_uint_eq(until_search(tuner, &machine, 1, 10000), 10000);
        tw_tuner_destroy(tuner);
    }
}
END_TEST

/* 0.005 % per step, up or down: no window differs from the one before it. */
START_TEST(a_slow_drift_adds_up)
{
    for (int down = 0; down < 2; down++) {
        machine_t   machine = plain_machine(test_seed());
        tw_tuner_t *tuner;
        double      slower = 1;
        size_t      steps  = 0;

        machine.noise = 0.02;
        tuner         = settled(&machine, 1, 0.1);
        until_search(tuner, &machine, 1, 2 * WINDOW);
        for (; tw_tuner_searches(tuner) == 1 && steps < 3000; steps++) {
            slower *= down ? 1 - 5e-5 : 1 + 5e-5;
            step(tuner, &machine, slower);
        }
        ck_assert_uint_lt(steps, 3000);
        ck_assert_uint_gt(steps, 1500); /* 10 % after 1906, or 2107 */
        tw_tuner_destroy(tuner);
    }
}
END_TEST

START_TEST(outliers_are_no_drift)
{
    machine_t   machine = plain_machine(test_seed());
    tw_tuner_t *tuner   = settled(&machine, 1, 0.1);

    for (int k = 0; k < 50000; k++) {
        step(tuner, &machine, k % 3 == 0 ? 50 : k % 11 == 0 ? 0.01 : 1);
    }
    ck_assert(tw_tuner_settled(tuner));
    ck_assert_uint_eq(tw_tuner_searches(tuner), 1);
    tw_tuner_destroy(tuner);
}
END_TEST

static const double never[] = {0, -1, NAN, INFINITY};

START_TEST(without_drift_it_stays)
{
    machine_t   machine = plain_machine(1);
    tw_tuner_t *tuner   = settled(&machine, 0, never[_i]);

    ck_assert_uint_eq(until_search(tuner, &machine, 10, 1000), 1000);
    ck_assert_uint_eq(until_search(tuner, &machine, 0.1, 1000), 1000);
    tw_tuner_destroy(tuner);
}
END_TEST

/* Noise alone, of any size, is hardly ever taken for a drift. */
START_TEST(noise_is_no_drift)
{
    static const double noise[] = {0.03, 0.1, 0.3, 1};
    machine_t           machine = plain_machine(test_seed());
    tw_tuner_t         *tuner;

    machine.noise    = noise[_i];
    machine.outliers = 0.05;
    tuner            = settled(&machine, 1, 0.1);
    for (int k = 0; k < 100000; k++) {
        step(tuner, &machine, 1);
    }
    ck_assert_uint_le(tw_tuner_searches(tuner), 4);
    tw_tuner_destroy(tuner);
}
END_TEST

/* Steps after a change of state are shorter, as images were ready: all medians are too low. */
START_TEST(biased_medians_are_no_drift)
{
    machine_t   machine = plain_machine(1);
    tw_tuner_t *tuner   = create(&machine, 3, 0, 0, 0.1);

    while (!tw_tuner_settled(tuner)) {
        step(tuner, &machine, 0.5);
    }
    ck_assert_uint_eq(until_search(tuner, &machine, 1, 10000), 10000);
    tw_tuner_destroy(tuner);
}
END_TEST

/* A search that changes nothing: the next takes twice as many windows in a row. */
START_TEST(useless_searches_make_patient)
{
    machine_t   machine = plain_machine(1);
    tw_tuner_t *tuner   = settled(&machine, 1, 0.1);
    size_t      windows = 1;
    double      slower  = 1;

    for (int k = 0; k < 7; k++) {
        until_search(tuner, &machine, slower, WINDOW + 1); /* the reference */
        for (int twice = 0; twice < 2 && windows > 1; twice++) {
            const size_t few = (windows - 1) * WINDOW;

            ck_assert_uint_eq(until_search(tuner, &machine, slower * 1.5, few), few);
            ck_assert_uint_eq(until_search(tuner, &machine, slower, WINDOW), WINDOW);
        }
        slower *= 1.5;
        ck_assert_uint_eq(until_search(tuner, &machine, slower, 10000), windows * WINDOW);
        while (!tw_tuner_settled(tuner)) {
            step(tuner, &machine, slower);
        }
        windows = windows < 16 ? 2 * windows : 16;
    }
    tw_tuner_destroy(tuner);
}
END_TEST

/* A neighbour that comes and goes: after some searches that change nothing, few more. */
START_TEST(a_changing_machine_is_not_searched_all_the_time)
{
    machine_t   machine = plain_machine(1);
    tw_tuner_t *tuner   = settled(&machine, 1, 0.1);
    size_t      searches;

    for (int k = 0; k < 100000; k++) {
        step(tuner, &machine, k / 200 % 2 == 0 ? 1 : 1.4);
    }
    searches = tw_tuner_searches(tuner);
    printf("# a neighbour that comes and goes 250 times: %zu searches\n", searches);
    fflush(stdout);
    ck_assert_uint_ge(searches, 2);
    ck_assert_uint_le(searches, 20);
    tw_tuner_destroy(tuner);
}
END_TEST

/* ---- adopt --------------------------------------------------------------------------------- */

START_TEST(an_adopted_state_is_settled)
{
    const tw_tuner_state_t state   = {4, 3};
    machine_t              machine = plain_machine(1);
    const double           seconds = seconds_of(&machine, state);

    for (int k = 0; k < 4; k++) { /* from the start, or in the middle of a search */
        tw_tuner_t *tuner = create(&machine, 5, 1, k % 2, 0.1);

        for (int s = 0; s < 50 * k; s++) {
            step(tuner, &machine, 1);
        }
        ck_assert_int_eq(tw_tuner_adopt(tuner, state, seconds), 0);
        ck_assert(tw_tuner_settled(tuner));
        ck_assert_int_eq(tw_tuner_next(tuner).threads, 4);
        ck_assert_int_eq(tw_tuner_next(tuner).index, 3);
        ck_assert_uint_eq(tw_tuner_searches(tuner), 1);
        ck_assert_uint_eq(measured(tuner), 0);
        ck_assert_uint_eq(until_search(tuner, &machine, 1, 1000), 1000);
        ck_assert_uint_le(until_search(tuner, &machine, 1.2, 1000), 2 * WINDOW);
        settle(tuner, &machine, NULL);
        ck_assert(beyond_best(tuner, &machine) <= 0);
        tw_tuner_destroy(tuner);
    }
}
END_TEST

/* Its seconds are the reference: from the first window. */
START_TEST(adopted_seconds_are_compared)
{
    static const double    unknown[] = {0, -1, NAN, INFINITY};
    const tw_tuner_state_t state     = {4, 3};
    machine_t              machine   = plain_machine(1);
    tw_tuner_t            *tuner     = create(&machine, 5, 1, 1, 0.1);

    ck_assert_int_eq(tw_tuner_adopt(tuner, state, 2 * seconds_of(&machine, state)), 0);
    ck_assert_uint_eq(until_search(tuner, &machine, 1, 1000), WINDOW + 1);
    for (size_t k = 0; k < 4; k++) {
        ck_assert_int_eq(tw_tuner_adopt(tuner, state, unknown[k]), 0);
        ck_assert_uint_eq(until_search(tuner, &machine, 2, 1000), 1000);
        ck_assert_uint_le(until_search(tuner, &machine, 1, 1000), 2 * WINDOW);
    }
    tw_tuner_destroy(tuner);
}
END_TEST

static const tw_tuner_state_t nowhere[] = {{0, 0}, {-1, 2}, {7, 0}, {1, -1}, {1, 5}};

START_TEST(no_such_state_is_adopted)
{
    machine_t   machine = plain_machine(1);
    tw_tuner_t *tuner   = create(&machine, 5, 1, _i % 2, 0.1);

    for (int s = 0; s < 10; s++) {
        step(tuner, &machine, 1);
    }
    ck_assert_int_eq(tw_tuner_adopt(tuner, nowhere[_i], 1.0), -1);
    ck_assert(!tw_tuner_settled(tuner));
    ck_assert_uint_gt(measured(tuner), 0);
    settle(tuner, &machine, NULL);
    ck_assert(beyond_best(tuner, &machine) <= 0);
    tw_tuner_destroy(tuner);
}
END_TEST

/* Where one number is given by hand, the other one is searched. */
START_TEST(a_given_number_stays)
{
    const tw_tuner_config_t config = {1, 2, 3, 0, 0, 0};
    tw_tuner_t             *tuner  = tw_tuner_create(&config);
    const tw_tuner_row_t   *rows;
    size_t                  count;

    ck_assert_ptr_nonnull(tuner);
    tw_tuner_shift(tuner, (tw_tuner_state_t){4, 0});
    for (int steps = 0; !tw_tuner_settled(tuner); steps++) {
        const tw_tuner_state_t state = tw_tuner_next(tuner);

        ck_assert_int_lt(steps, 9);
        ck_assert_int_eq(state.threads, 5);
        tw_tuner_observe(tuner, state.index == 1 ? 1.0 : 2.0);
    }
    ck_assert_int_eq(tw_tuner_next(tuner).threads, 5);
    ck_assert_int_eq(tw_tuner_next(tuner).index, 1);
    rows = tw_tuner_rows(tuner, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(rows[2].state.threads, 5);
    ck_assert_int_eq(rows[2].state.index, 2);
    ck_assert_int_eq(tw_tuner_adopt(tuner, (tw_tuner_state_t){1, 2}, 1.0), -1);
    ck_assert_int_eq(tw_tuner_adopt(tuner, (tw_tuner_state_t){5, 2}, 1.0), 0);
    ck_assert_int_eq(tw_tuner_next(tuner).index, 2);
    tw_tuner_destroy(tuner);
}
END_TEST

void add_drift(Suite *suite)
{
    TCase *drift = test_case_within(suite, "drift", 60);

    TEST_EACH(drift, a_jump_begins_a_search, jumps);
    tcase_add_test(drift, the_new_best_is_found);
    tcase_add_test(drift, a_slow_drift_adds_up);
    tcase_add_test(drift, outliers_are_no_drift);
    TEST_EACH(drift, without_drift_it_stays, never);
    tcase_add_loop_test(drift, noise_is_no_drift, 0, 4);
    tcase_add_test(drift, biased_medians_are_no_drift);
    tcase_add_test(drift, useless_searches_make_patient);
    tcase_add_test(drift, a_changing_machine_is_not_searched_all_the_time);
}

void add_adopt(Suite *suite)
{
    TCase *adopt = test_case(suite, "adopt");

    tcase_add_test(adopt, an_adopted_state_is_settled);
    tcase_add_test(adopt, adopted_seconds_are_compared);
    TEST_EACH(adopt, no_such_state_is_adopted, nowhere);
    tcase_add_test(adopt, a_given_number_stays);
}
