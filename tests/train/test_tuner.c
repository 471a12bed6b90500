/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_tuner.c - the search for threads and transfer index on simulated machines: the
 * best state is found, without noise exactly, and what is measured for it. What comes after a
 * search: tuner_drift.c.
 */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/train/tuner_rig.h"

enum { MODELS = 400, SMOOTH = 4 };

static void search(machine_t *machine, size_t samples, int prune, totals_t *totals)
{
    tw_tuner_t  *tuner = create(machine, samples, 2, prune, 0);
    const size_t steps = settle(tuner, machine, totals);
    double       beyond;

    totals->steps += steps;
    totals->states += measured(tuner);
    if (!prune) {
        ck_assert_uint_eq(steps, states_of(machine) * (2 + samples));
        ck_assert_uint_eq(measured(tuner), states_of(machine));
    }
    beyond        = beyond_best(tuner, machine);
    totals->worst = fmax(totals->worst, beyond);
    totals->beyond += beyond > 0.03;
    for (int k = 0; k < 300; k++) { /* it stays */
        step(tuner, machine, 1 + (k > 100));
    }
    ck_assert(tw_tuner_settled(tuner));
    ck_assert_uint_eq(tw_tuner_searches(tuner), 1);
    tw_tuner_destroy(tuner);
}

static void print_totals(const char *name, const totals_t *totals)
{
    printf(
        "# %s: %zu states, %zu steps, %.0f steps' time lost; worst pick %.2f %% beyond the best, "
        "%zu of %d beyond 3 %%\n",
        name, totals->states, totals->steps, totals->lost, 100 * totals->worst, totals->beyond,
        MODELS);
    fflush(stdout);
}

/* ---- the best state ------------------------------------------------------------------------ */

START_TEST(the_best_is_found_exactly)
{
    totals_t all = {0}, pruned = {0};

    for (int k = 0; k < MODELS; k++) {
        machine_t machine;

        draw_machine(&machine, k % SMOOTH, test_seed() + (uint64_t)k);
        search(&machine, 4, 0, &all);
        ck_assert_msg(all.worst <= 0, "model %d: the full search is off", k);
        search(&machine, 4, 1, &pruned);
        ck_assert_msg(pruned.worst <= 0, "model %d: the pruned search is off", k);
    }
    print_totals("no noise, all states", &all);
    print_totals("no noise, pruned", &pruned);
    ck_assert_uint_lt(2 * pruned.states, all.states);
    ck_assert_uint_lt(2 * pruned.steps, all.steps);
    ck_assert(pruned.lost < all.lost);
}
END_TEST

/* Noise of 3 % and outliers: of 2,400,000 picks of pruned searches 48 were more than 3 % beyond the
 * best, the worst 11 %. */
START_TEST(noise_misleads_little)
{
    static const size_t samples[] = {4, 8, 16};
    totals_t            all = {0}, pruned = {0};
    char                name[64];

    for (int k = 0; k < MODELS; k++) {
        machine_t machine;

        draw_machine(&machine, k % SMOOTH, test_seed() + (uint64_t)k);
        machine.noise    = 0.03;
        machine.outliers = 0.02;
        search(&machine, samples[_i], 0, &all);
        search(&machine, samples[_i], 1, &pruned);
    }
    snprintf(name, sizeof(name), "3 %% noise, %zu samples, all states", samples[_i]);
    print_totals(name, &all);
    snprintf(name, sizeof(name), "3 %% noise, %zu samples, pruned", samples[_i]);
    print_totals(name, &pruned);
    ck_assert_uint_le(pruned.beyond, MODELS / 100);
    ck_assert(pruned.worst < 0.25);
    ck_assert_uint_lt(2 * pruned.states, all.states);
    ck_assert(pruned.lost < all.lost);
}
END_TEST

/* Whole images per thread: more threads help in steps only. With many images per thread the pick
 * stays near the best. */
START_TEST(steps_of_whole_images_are_climbed)
{
    double worst = 0;

    for (int k = 0; k < MODELS; k++) {
        machine_t     machine;
        test_random_t random = {test_seed() + (uint64_t)k};
        int           images;
        tw_tuner_t   *tuner;

        draw_machine(&machine, 0, test_seed() + (uint64_t)k);
        images = machine.threads * (1 + test_below(&random, 8));
        for (int i = 0; i <= machine.operations; i++) {
            const double host = draw_cost(&random) * 4, device = draw_cost(&random);

            for (int t = 1; t <= machine.threads; t++) {
                const int rounds = (images - 1) / t + 1;

                machine.seconds[t - 1][i] = fmax(device, host * rounds / images) + 0.001 * t;
            }
        }
        find_best(&machine);
        tuner = create(&machine, 4, 0, 1, 0);
        settle(tuner, &machine, NULL);
        worst = fmax(worst, beyond_best(tuner, &machine));
        tw_tuner_destroy(tuner);
    }
    printf("# whole images: worst pick %.2f %% beyond the best\n", 100 * worst);
    fflush(stdout);
    ck_assert(worst < 0.15);
}
END_TEST

enum { TRIALS = 1000 };

/* Of the trials, those whose pick is more than 3 % beyond the best. */
static size_t misled(machine_t *machine, double noise, size_t samples)
{
    size_t beyond = 0;

    machine->noise    = noise;
    machine->outliers = 0.02;
    find_best(machine);
    for (int k = 0; k < TRIALS; k++) {
        tw_tuner_t *tuner;

        machine->random.state = test_seed() + (uint64_t)k;
        tuner                 = create(machine, samples, 1, 1, 0);
        settle(tuner, machine, NULL);
        beyond += beyond_best(tuner, machine) > 0.03;
        tw_tuner_destroy(tuner);
    }
    return beyond;
}

/* Many states just beyond the best: the few samples of each would choose a lucky one. */
START_TEST(finalists_are_measured_again)
{
    machine_t machine = {.threads = 1, .operations = INDICES - 1};

    for (int i = 0; i < INDICES; i++) {
        machine.seconds[0][i] = i == 4 ? 1 : 1.035;
    }
    ck_assert_uint_le(misled(&machine, 0.03, 1), 10);
}
END_TEST

/* Times that rise slowly after the best: noise leads to the wrong side of it, and back. */
START_TEST(slow_rises_are_searched_back)
{
    machine_t machine = {.threads = THREADS, .operations = 0};

    for (int t = 1; t <= THREADS; t++) {
        machine.seconds[t - 1][0] = fmax(1 + 0.006 * (t - 10), 9.5 / t);
    }
    ck_assert_uint_le(misled(&machine, 0.05, 4), 10);
}
END_TEST

/* The samples of a state are its seconds, 4 % less and 4 % more, in turns: its median is known. */
static void settle_in_turns(tw_tuner_t *tuner, const machine_t *machine, double noise)
{
    static const double turns[] = {0, -1, 1, 0, 1, -1};

    for (size_t k = 0; !tw_tuner_settled(tuner); k++) {
        tw_tuner_observe(tuner,
                         seconds_of(machine, tw_tuner_next(tuner)) * (1 + noise * turns[k % 6]));
    }
}

/* Whether the states of an index that were measured are those of a text, "x" for each. */
static void check_measured(const tw_tuner_t *tuner, const machine_t *machine, int index,
                           const char *expected)
{
    size_t                count;
    const tw_tuner_row_t *rows              = tw_tuner_rows(tuner, &count);
    char                  text[THREADS + 1] = "";

    for (int t = 0; t < machine->threads; t++) {
        text[t] = rows[t * (machine->operations + 1) + index].median >= 0 ? 'x' : '.';
    }
    ck_assert_str_eq(text, expected);
}

START_TEST(doubling_ends_in_the_noise)
{
    machine_t   machine = {.threads = 32, .operations = 0};
    tw_tuner_t *tuner;

    for (int t = 0; t < 32; t++) {
        machine.seconds[t][0] = 1;
    }
    tuner = create(&machine, 6, 0, 1, 0);
    settle_in_turns(tuner, &machine, 0);
    check_measured(tuner, &machine, 0, "xx..............................");
    tw_tuner_destroy(tuner);
    tuner = create(&machine, 6, 0, 1, 0); /* two doublings, to be sure */
    settle_in_turns(tuner, &machine, 0.04);
    check_measured(tuner, &machine, 0, "xx.x............................");
    tw_tuner_destroy(tuner);
    for (int t = 0; t < 32; t++) { /* small gains add up */
        machine.seconds[t][0] = 1 + 0.2 / (t + 1) + (t > 15);
    }
    tuner = create(&machine, 6, 0, 1, 0);
    settle_in_turns(tuner, &machine, 0.04);
    ck_assert_int_ge(tw_tuner_next(tuner).threads, 4);
    tw_tuner_destroy(tuner);
}
END_TEST

START_TEST(states_that_cannot_win_are_left_out)
{
    machine_t   machine = {.threads = 8, .operations = 3};
    tw_tuner_t *tuner;

    for (int t = 1; t <= 8; t++) {
        machine.seconds[t - 1][0] = 1 + 0.01 * t;
        machine.seconds[t - 1][1] = 9.0 / t + 0.01 * t;            /* not with 8 threads  */
        machine.seconds[t - 1][2] = fmax(5.6 / t, 1.2) + 0.01 * t; /* 6 at the least */
        machine.seconds[t - 1][3] = 3 + 0.01 * t;                  /* not for A           */
    }
    find_best(&machine);
    tuner = create(&machine, 4, 0, 1, 0);
    settle_in_turns(tuner, &machine, 0);
    check_measured(tuner, &machine, 0, "xx......");
    check_measured(tuner, &machine, 1, "x.......");
    check_measured(tuner, &machine, 2, "x....xxx");
    check_measured(tuner, &machine, 3, "x.x.....");
    ck_assert(beyond_best(tuner, &machine) <= 0);
    tw_tuner_destroy(tuner);
}
END_TEST

/* Samples that are equal by chance are not trusted where others differ. */
START_TEST(noise_is_that_of_all_states)
{
    const tw_tuner_config_t config = {1, 2, 3, 0, 1, 0};
    tw_tuner_t             *tuner  = tw_tuner_create(&config);
    const tw_tuner_row_t   *rows;
    size_t                  count;

    for (int k = 0; !tw_tuner_settled(tuner); k++) {
        static const double seconds[] = {1, 1.01, 5};
        const int           index     = tw_tuner_next(tuner).index;

        tw_tuner_observe(tuner, seconds[index] * (index == 2 ? 1 + 0.1 * (k % 3) : 1));
    }
    rows = tw_tuner_rows(tuner, &count);
    ck_assert_uint_gt(rows[0].samples, 16);
    ck_assert_uint_gt(rows[1].samples, 16);
    ck_assert_uint_eq(rows[2].samples, 3);
    ck_assert_int_eq(tw_tuner_next(tuner).index, 0);
    tw_tuner_destroy(tuner);
}
END_TEST

/* Two of three samples are outliers: more are taken. */
START_TEST(a_median_of_outliers_is_not_trusted)
{
    const tw_tuner_config_t config = {1, 1, 3, 0, 1, 0};
    tw_tuner_t             *tuner  = tw_tuner_create(&config);

    for (int k = 0; !tw_tuner_settled(tuner); k++) {
        const int index = tw_tuner_next(tuner).index;

        tw_tuner_observe(tuner, index == 0 ? 1 : k < 5 ? 10 : 0.9);
        ck_assert_int_eq(index, k >= 3);
    }
    ck_assert_int_eq(tw_tuner_next(tuner).index, 1);
    tw_tuner_destroy(tuner);
}
END_TEST

/* Fewer threads, then more work by them. */
START_TEST(ties_leave_cores_and_device_free)
{
    machine_t machine = {.threads = 6, .operations = 4};

    for (int prune = 0; prune < 2; prune++) {
        tw_tuner_t      *tuner;
        tw_tuner_state_t state;

        for (int t = 0; t < 6; t++) {
            for (int i = 0; i <= 4; i++) {
                machine.seconds[t][i] = t >= 1 && i >= 1 && i <= 3 ? 1.0 : 1.5;
            }
        }
        find_best(&machine);
        tuner = create(&machine, 2, 1, prune, 0.1);
        settle(tuner, &machine, NULL);
        state = tw_tuner_next(tuner);
        ck_assert_int_eq(state.threads, 2);
        ck_assert_int_eq(state.index, 3);
        tw_tuner_destroy(tuner);
    }
}
END_TEST

/* ---- steps --------------------------------------------------------------------------------- */

/* The order of a full search; what counts as a sample; the medians. */
START_TEST(visits_are_as_documented)
{
    static const double times[] = {9, 9, 3, -1, 2, NAN, 8, 4, INFINITY, -INFINITY};
    enum { SETTLE = 2, SAMPLES = 8 };
    const tw_tuner_config_t config = {3, 2, SAMPLES, SETTLE, 0, 0.1};
    tw_tuner_t             *tuner  = tw_tuner_create(&config);
    const tw_tuner_row_t   *rows;
    size_t                  count;

    for (int k = 0; k < 9; k++) {
        for (int s = 0; s < SETTLE + SAMPLES; s++) {
            const tw_tuner_state_t state = tw_tuner_next(tuner);

            ck_assert(!tw_tuner_settled(tuner));
            ck_assert_int_eq(state.threads, k / 3 + 1);
            ck_assert_int_eq(state.index, k % 3);
            rows = tw_tuner_rows(tuner, &count);
            ck_assert(rows[k].median < 0);
            tw_tuner_observe(tuner, k == 5 ? -0.5 : times[s] * (k == 7 ? 0.9 : 1));
        }
    }
    ck_assert(tw_tuner_settled(tuner));
    ck_assert_int_eq(tw_tuner_next(tuner).threads, 3);
    ck_assert_int_eq(tw_tuner_next(tuner).index, 1);
    rows = tw_tuner_rows(tuner, &count);
    ck_assert_uint_eq(count, 9);
    for (int k = 0; k < 9; k++) {
        ck_assert_int_eq(rows[k].state.threads, k / 3 + 1);
        ck_assert_int_eq(rows[k].state.index, k % 3);
        if (k == 5) { /* no valid sample */
            ck_assert(rows[k].median < 0);
            ck_assert_uint_eq(rows[k].samples, 0);
        } else { /* of 2, 3, 4 and 8 */
            ck_assert_double_eq_tol(rows[k].median, k == 7 ? 3.15 : 3.5, 1e-12);
            ck_assert_uint_eq(rows[k].samples, 4);
        }
    }
    tw_tuner_destroy(tuner);
}
END_TEST

START_TEST(a_dead_clock_ends_a_search)
{
    for (int prune = 0; prune < 2; prune++) {
        const tw_tuner_config_t config = {8, 3, 5, 1, prune, 0.1};
        tw_tuner_t             *tuner  = tw_tuner_create(&config);
        size_t                  steps  = 0;

        for (; !tw_tuner_settled(tuner); steps++) {
            tw_tuner_observe(tuner, steps % 2 == 0 ? NAN : -1);
        }
        ck_assert_uint_le(steps, 8 * 4 * 6);
        ck_assert_uint_eq(measured(tuner), 0);
        ck_assert_int_eq(tw_tuner_next(tuner).threads, 1);
        ck_assert_int_eq(tw_tuner_next(tuner).index, 3);
        for (int k = 0; k < 1000; k++) {
            tw_tuner_observe(tuner, INFINITY);
        }
        ck_assert_uint_eq(tw_tuner_searches(tuner), 1);
        tw_tuner_destroy(tuner);
    }
}
END_TEST

/* Any numbers: it decides, and its states exist. */
START_TEST(nonsense_ends_a_search)
{
    static const double odd[]  = {0,        -0.0, DBL_MAX,  DBL_MIN, 0x1p-1074, NAN, INFINITY,
                                  -DBL_MAX, 1,    1 + 1e-9, 1e300,   1e-300,    2};
    test_random_t       random = {test_seed()};

    for (int k = 0; k < 2000; k++) {
        machine_t   machine = {.threads    = 1 + test_below(&random, THREADS),
                               .operations = test_below(&random, INDICES)};
        const int   few     = 1 + test_below(&random, 13);
        tw_tuner_t *tuner   = create(&machine, 1 + (size_t)test_below(&random, 9),
                                     (size_t)test_below(&random, 3), k % 4 != 0, 0.1);
        size_t      steps   = 0;

        for (; !tw_tuner_settled(tuner); steps++) {
            seconds_of(&machine, tw_tuner_next(tuner));
            if (steps == 1000000) {
                ck_abort_msg("no decision");
            }
            tw_tuner_observe(tuner, odd[test_below(&random, few)]);
        }
        tw_tuner_destroy(tuner);
    }
}
END_TEST

static const struct {
    int    threads, operations;
    size_t samples;
} sizes[] = {{1, 0, 1}, {1, 0, 128}, {1, 500, 1}, {700, 0, 1}, {200, 40, 2}, {3, 2, 5000}};

static double bowl(int threads, int index)
{
    return fmax(1 + 0.01 * abs(index - 20), 150.0 / threads) + 0.001 * threads;
}

START_TEST(any_size_will_do)
{
    for (int prune = 0; prune < 2; prune++) {
        const tw_tuner_config_t config = {
            sizes[_i].threads, sizes[_i].operations, sizes[_i].samples, 0, prune, 0.1};
        const size_t     states = (size_t)config.threads_most * (size_t)(config.operations + 1);
        tw_tuner_t      *tuner  = tw_tuner_create(&config);
        tw_tuner_state_t state;
        size_t           steps = 0;
        double           best  = DBL_MAX;

        ck_assert_ptr_nonnull(tuner);
        for (; !tw_tuner_settled(tuner); steps++) {
            state = tw_tuner_next(tuner);
            tw_tuner_observe(tuner, bowl(state.threads, state.index));
        }
        if (!prune) {
            ck_assert_uint_eq(steps, states * config.samples);
        }
        ck_assert_uint_le(measured(tuner), states);
        for (int t = 1; t <= config.threads_most; t++) {
            for (int i = 0; i <= config.operations; i++) {
                best = fmin(best, bowl(t, i));
            }
        }
        state = tw_tuner_next(tuner);
        ck_assert_double_eq(bowl(state.threads, state.index), best);
        tw_tuner_destroy(tuner);
    }
}
END_TEST

static const tw_tuner_config_t refused[] = {
    {0, 3, 4, 0, 0, 0.1},
    {-1, 3, 4, 0, 1, 0.1},
    {4, -1, 4, 0, 0, 0.1},
    {4, 3, 0, 0, 1, 0.1},
    {INT32_MAX, INT32_MAX, 1, 0, 0, 0.1},
    {1, INT32_MAX, 1, 0, 0, 0.1},
    {1 << 11, 1 << 9, 1, 0, 0, 0.1},
    {4, 3, SIZE_MAX, 0, 1, 0.1},
};

START_TEST(impossible_numbers_are_refused)
{
    ck_assert_ptr_null(tw_tuner_create(&refused[_i]));
    tw_tuner_destroy(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/tuner");
    TCase *best  = test_case_within(suite, "best", 120);
    TCase *steps = test_case_within(suite, "steps", 60);

    tcase_add_test(best, the_best_is_found_exactly);
    tcase_add_loop_test(best, noise_misleads_little, 0, 3);
    tcase_add_test(best, steps_of_whole_images_are_climbed);
    tcase_add_test(best, finalists_are_measured_again);
    tcase_add_test(best, slow_rises_are_searched_back);
    tcase_add_test(best, doubling_ends_in_the_noise);
    tcase_add_test(best, states_that_cannot_win_are_left_out);
    tcase_add_test(best, noise_is_that_of_all_states);
    tcase_add_test(best, a_median_of_outliers_is_not_trusted);
    tcase_add_test(best, ties_leave_cores_and_device_free);
    tcase_add_test(steps, visits_are_as_documented);
    tcase_add_test(steps, a_dead_clock_ends_a_search);
    tcase_add_test(steps, nonsense_ends_a_search);
    TEST_EACH(steps, any_size_will_do, sizes);
    TEST_EACH(steps, impossible_numbers_are_refused, refused);
    add_drift(suite);
    add_adopt(suite);
    return test_main(suite);
}
