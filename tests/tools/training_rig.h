/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/training_rig.h - what the files of test_training share: trainings that are drawn,
 * their steps and the time of these, and the cases of each file.
 */
#ifndef TW_TESTS_TOOLS_TRAINING_RIG_H
#define TW_TESTS_TOOLS_TRAINING_RIG_H

#include <math.h>

#include "scaling/step.h"
#include "scaling/training.h"
#include "tests/suite.h"

enum { WHY = 600, TEXT = 8192, RUNS = 300, LAYERS = 12, RANKS = 24 };

#define LINK 1e8 /* bytes a second */

#define NEAR(got, want)                                                                            \
    ck_assert_msg(fabs((got) - (want)) <= 1e-9 * fabs(want) + 1e-15, "%s is %.12g, not %.12g",     \
                  #got, (got), (want))

/* P ranks, each on a node of its own; codecs take no time. */
tw_facts_t alone_on_nodes(int ranks);

/* The job of a text, as workload_read(). */
int read_text(workload_t *work, const char *text, tw_problem_t *problem);

scheme_t scheme_of(const char *text);

void make_step(const workload_t *of, const char *scheme, int ranks, double batch, int lossy,
               workload_t *step);

typedef struct drawn_training {
    training_layer_t layer[LAYERS];
    workload_t       work;
} drawn_training_t;

/* Measured on one rank with one example, so that seconds are those of an example. */
void draw(drawn_training_t *k, test_random_t *random, size_t layers, size_t dense);
void draw_any(drawn_training_t *k, test_random_t *random);

double parameters_of(const workload_t *of, size_t layers);

/* How often a step starts an exchange. */
double starts_of(const workload_t *step, size_t exchange);

step_time_t time_of(const workload_t *step, const tw_facts_t *facts, const char *spec);
step_time_t time_on(const workload_t *of, const char *scheme, int ranks, double batch,
                    const char *spec);

extern const char *const any_scheme[5];

/* Their cases, added to the suite. */
void add_library(Suite *suite);         /* training_library.c */
void add_owners(Suite *suite);          /* training_library.c */
void add_any_training(Suite *suite);    /* training_drawn.c   */
void add_large_trainings(Suite *suite); /* training_drawn.c   */

#endif /* TW_TESTS_TOOLS_TRAINING_RIG_H */
