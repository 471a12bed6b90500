/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/tuner_rig.c - see tuner_rig.h.
 */
#include "config.h"

#include <float.h>
#include <math.h>

#include "tests/train/tuner_rig.h"

static const double PI = 3.14159265358979323846;

static double uniform(test_random_t *random)
{
    return (double)(test_next(random) >> 11) * 0x1p-53;
}

static double normal(test_random_t *random)
{
    const double a = 1 - uniform(random), b = uniform(random);

    return sqrt(-2 * log(a)) * cos(2 * PI * b);
}

void find_best(machine_t *machine)
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
double draw_cost(test_random_t *random)
{
    return pow(10, 2 * uniform(random) - 1);
}

void draw_machine(machine_t *machine, int kind, uint64_t seed)
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

double seconds_of(const machine_t *machine, tw_tuner_state_t state)
{
    if (state.threads < 1 || state.threads > machine->threads || state.index < 0 ||
        state.index > machine->operations) {
        ck_abort_msg("state %d/%d", state.threads, state.index);
    }
    return machine->seconds[state.threads - 1][state.index];
}

/* Each of Check's assertions is a system call: none are made in every step.
 * One step in the tuner's state, on a machine that is so much slower. */
void step(tw_tuner_t *tuner, machine_t *machine, double slower)
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

tw_tuner_t *create(const machine_t *machine, size_t samples, size_t settle, int prune, double drift)
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

size_t states_of(const machine_t *machine)
{
    return (size_t)machine->threads * ((size_t)machine->operations + 1);
}

/* Until it has decided. */
size_t settle(tw_tuner_t *tuner, machine_t *machine, totals_t *totals)
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

double beyond_best(const tw_tuner_t *tuner, const machine_t *machine)
{
    return seconds_of(machine, tw_tuner_next(tuner)) / machine->best - 1;
}

size_t measured(const tw_tuner_t *tuner)
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
