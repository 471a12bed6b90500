/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/tuner_rig.h - simulated machines for the tests of the search for threads and transfer
 * index, and searches on them.
 */
#ifndef TW_TESTS_TRAIN_TUNER_RIG_H
#define TW_TESTS_TRAIN_TUNER_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "tests/suite.h"
#include "train/input/tuner.h"

enum { THREADS = 32, INDICES = 10 };

typedef struct machine {
    int           threads, operations;
    double        seconds[THREADS][INDICES]; /* of threads - 1, index */
    double        best;
    double        noise;    /* standard deviation of the logarithm       */
    double        outliers; /* share of steps that take 2 to 10 times as long */
    test_random_t random;
} machine_t;

/* What is best of its seconds. */
void find_best(machine_t *machine);

/* Costs over two powers of ten: some networks hide all loading, others wait for it. */
double draw_cost(test_random_t *random);

void draw_machine(machine_t *machine, int kind, uint64_t seed);

double seconds_of(const machine_t *machine, tw_tuner_state_t state);

/* One step in the tuner's state, on a machine that is so much slower. */
void step(tw_tuner_t *tuner, machine_t *machine, double slower);

tw_tuner_t *create(const machine_t *machine, size_t samples, size_t settle, int prune,
                   double drift);

size_t states_of(const machine_t *machine);

typedef struct totals {
    size_t states, steps;
    double lost;   /* time beyond the best state's, in its steps */
    double worst;  /* pick: seconds beyond the best, as a share  */
    size_t beyond; /* picks more than 3 % beyond it              */
} totals_t;

/* Until it has decided. */
size_t settle(tw_tuner_t *tuner, machine_t *machine, totals_t *totals);

double beyond_best(const tw_tuner_t *tuner, const machine_t *machine);
size_t measured(const tw_tuner_t *tuner);

/* The cases of tuner_drift.c, added to the suite. */
void add_drift(Suite *suite);
void add_adopt(Suite *suite);

#endif /* TW_TESTS_TRAIN_TUNER_RIG_H */
