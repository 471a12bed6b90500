/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_tuner.c - the search for threads and transfer index on simulated machines: the
 * best state is found, without noise exactly, and what is measured for it; a drift is noticed,
 * noise is not taken for one.
 */
#include "config.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/suite.h"
#include "train/input/tuner.h"

enum { THREADS = 32, INDICES = 10, MODELS = 400, SMOOTH = 4, WINDOW = 64 };

static const double PI = 3.14159265358979323846;

/* ---- simulated machines -------------------------------------------------------------------- */

static double uniform(test_random_t *random)
{
    return (double)(test_next(random) >> 11) * 0x1p-53;
}

static double normal(test_random_t *random)
{
    const double a = 1 - uniform(random), b = uniform(random);

    return sqrt(-2 * log(a)) * cos(2 * PI * b);
}

typedef struct machine {
    int           threads, operations;
    double        seconds[THREADS][INDICES]; /* of threads - 1, index */
    double        best;
    double        noise;    /* standard deviation of the logarithm       */
    double        outliers; /* share of steps that take 2 to 10 times as long */
    test_random_t random;
} machine_t;

static void find_best(machine_t *machine)
{
    machine->best = DBL_MAX;
    for (int t = 0; t < machine->threads; t++) {
        for (int i = 0; i <= machine->operations; i++) {
            machine->best = fmin(machine->best, machine->seconds[t][i]);
        }
    }
}

/* A step with t threads, when `device` is the network's and the device's work, `host` the threads',
 * and each thread more costs `contention`. */
static double step_of(int kind, int t, int cores, double device, double host, double contention)
{
    const int    busy = t < cores ? t : cores;
    const double slow = 1 + contention * (t - 1) + 0.2 * (t - busy);

    switch (kind) {
    case 0: /* the longer of both, and contention */
        return fmax(device, host / t) + contention * (t - 1);
    case 1: /* threads beyond the cores help little, and harm the network */
        return fmax(device * slow, host / (busy + 0.3 * (t - busy)));
    case 2: /* one waits for the other for a third of the time */
        return fmax(device, host / t) + fmin(device, host / t) / 3 + contention * (t - 1);
    default: /* nothing overlaps */
        return device + host / t + contention * (t - 1);
    }
}

/* Costs over two powers of ten: some networks hide all loading, others wait for it. */
static double draw_cost(test_random_t *random)
{
    return pow(10, 2 * uniform(random) - 1);
}

static void draw_machine(machine_t *machine, int kind, uint64_t seed)
{
    static const int most[] = {2, 4, 8, 16, 32};
    test_random_t   *random = &machine->random;
    double           host[INDICES], device[INDICES], compute, contention, copies;
    int              cores, last;

    *machine            = (machine_t){.random = {seed}};
    machine->threads    = most[test_below(random, 5)];
    machine->operations = last = 1 + test_below(random, INDICES - 1);
    cores                      = 1 + test_below(random, machine->threads + 2);
    compute                    = 0.2 + 2 * uniform(random);
    contention = test_below(random, 3) == 0 ? 0 : 0.1 * uniform(random) * uniform(random);
    copies     = test_below(random, 2) == 0 ? 0 : 0.4;
    host[0]    = 0.3 * draw_cost(random);
    for (int i = 1; i <= last; i++) {
        host[i] = host[i - 1] + uniform(random) * draw_cost(random);
    }
    device[last] = 0;
    for (int i = last - 1; i >= 0; i--) {
        device[i] = device[i + 1] + 0.1 * draw_cost(random);
    }
    for (int i = 0; i <= last; i++) {
        device[i] += compute + copies * uniform(random);
        for (int t = 1; t <= machine->threads; t++) {
            machine->seconds[t - 1][i] = step_of(kind, t, cores, device[i], host[i], contention);
        }
    }
    find_best(machine);
}

static double seconds_of(const machine_t *machine, tw_tuner_state_t state)
{
    if (state.threads < 1 || state.threads > machine->threads || state.index < 0 ||
        state.index > machine->operations) {
        ck_abort_msg("state %d/%d", state.threads, state.index);
    }
    return machine->seconds[state.threads - 1][state.index];
}

/* Each of Check's assertions is a system call: none are made in every step.
 * One step in the tuner's state, on a machine that is so much slower. */
static void step(tw_tuner_t *tuner, machine_t *machine, double slower)
{
    const tw_tuner_state_t state = tw_tuner_next(tuner), again = tw_tuner_next(tuner);
    double                 seconds = seconds_of(machine, state) * slower;

    if (again.threads != state.threads || again.index != state.index) {
        ck_abort_msg("the state changed between two observations");
    }
    if (machine->noise > 0) {
        seconds *= exp(machine->noise * normal(&machine->random));
    }
    if (machine->outliers > 0 && uniform(&machine->random) < machine->outliers) {
        seconds *= 2 + 8 * uniform(&machine->random);
    }
    tw_tuner_observe(tuner, seconds);
}

static tw_tuner_t *create(const machine_t *machine, size_t samples, size_t settle, int prune,
                          double drift)
{
    const tw_tuner_config_t config = {.threads_most = machine->threads,
                                      .operations   = machine->operations,
                                      .samples      = samples,
                                      .settle       = settle,
                                      .prune        = prune,
                                      .drift        = drift};
    tw_tuner_t             *tuner  = tw_tuner_create(&config);

    ck_assert_ptr_nonnull(tuner);
    return tuner;
}

static size_t states_of(const machine_t *machine)
{
    return (size_t)machine->threads * ((size_t)machine->operations + 1);
}

typedef struct totals {
    size_t states, steps;
    double lost;   /* time beyond the best state's, in its steps */
    double worst;  /* pick: seconds beyond the best, as a share  */
    size_t beyond; /* picks more than 3 % beyond it              */
} totals_t;

/* Until it has decided. */
static size_t settle(tw_tuner_t *tuner, machine_t *machine, totals_t *totals)
{
    size_t steps = 0;

    while (!tw_tuner_settled(tuner)) {
        if (totals != NULL) {
            totals->lost += seconds_of(machine, tw_tuner_next(tuner)) / machine->best - 1;
        }
        step(tuner, machine, 1);
        if (++steps == 1000000) {
            ck_abort_msg("no decision");
        }
    }
    return steps;
}

static double beyond_best(const tw_tuner_t *tuner, const machine_t *machine)
{
    return seconds_of(machine, tw_tuner_next(tuner)) / machine->best - 1;
}

static size_t measured(const tw_tuner_t *tuner)
{
    size_t                count, n = 0;
    const tw_tuner_row_t *rows = tw_tuner_rows(tuner, &count);

    for (size_t k = 0; k < count; k++) {
        n += rows[k].median >= 0;
        if ((rows[k].median >= 0) != (rows[k].samples > 0)) {
            ck_abort_msg("row %zu: a median of %zu samples", k, rows[k].samples);
        }
    }
    return n;
}

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

int main(void)
{
    Suite *suite = suite_create("train/tuner");
    TCase *best  = test_case_within(suite, "best", 120);
    TCase *steps = test_case_within(suite, "steps", 60);
    TCase *drift = test_case_within(suite, "drift", 60);
    TCase *adopt = test_case(suite, "adopt");

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
    TEST_EACH(drift, a_jump_begins_a_search, jumps);
    tcase_add_test(drift, the_new_best_is_found);
    tcase_add_test(drift, a_slow_drift_adds_up);
    tcase_add_test(drift, outliers_are_no_drift);
    TEST_EACH(drift, without_drift_it_stays, never);
    tcase_add_loop_test(drift, noise_is_no_drift, 0, 4);
    tcase_add_test(drift, biased_medians_are_no_drift);
    tcase_add_test(drift, useless_searches_make_patient);
    tcase_add_test(drift, a_changing_machine_is_not_searched_all_the_time);
    tcase_add_test(adopt, an_adopted_state_is_settled);
    tcase_add_test(adopt, adopted_seconds_are_compared);
    TEST_EACH(adopt, no_such_state_is_adopted, nowhere);
    tcase_add_test(adopt, a_given_number_stays);
    return test_main(suite);
}
