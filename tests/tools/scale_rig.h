/* SPDX-License-Identifier: BSD-3-Clause
 * tests/tools/scale_rig.h - what the files of test_scale share: facts that are made up or drawn,
 * job files, and the cases of each file.
 */
#ifndef TW_TESTS_TOOLS_SCALE_RIG_H
#define TW_TESTS_TOOLS_SCALE_RIG_H

#include <math.h>

#include <thinwire/facts.h>

#include "scaling/step.h"
#include "tests/suite.h"

enum { WHY = 600, TEXT = 65536, RUNS = 300 };

#define LINK 1e8 /* bytes a second */

#define NEAR(got, want)                                                                            \
    ck_assert_msg(fabs((got) - (want)) <= 1e-9 * fabs(want) + 1e-15, "%s is %.12g, not %.12g",     \
                  #got, (got), (want))

/* P ranks, `local` on a node. */
tw_facts_t made_up(int ranks, int local);

tw_prediction_t predicted(const tw_facts_t *facts, tw_operation_t operation, double count,
                          const char *spec, tw_dtype_t dtype);

/* A file of these bytes; path gets its name. */
void put_file(char *path, const char *text, size_t length);

/* The job of a text, as workload_read(). */
int read_text(workload_t *work, const char *text, tw_problem_t *problem);

double     drawn(test_random_t *random, double least, double most); /* in the logarithm */
tw_facts_t drawn_facts(test_random_t *random, int one_per_node);

/* Their cases, added to the suite. */
void add_any_job(Suite *suite);     /* scale_drawn.c    */
void add_job_files(Suite *suite);   /* scale_inputs.c   */
void add_networks(Suite *suite);    /* scale_inputs.c   */
void add_predictions(Suite *suite); /* scale_inputs.c   */

#endif /* TW_TESTS_TOOLS_SCALE_RIG_H */
