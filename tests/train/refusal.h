/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/refusal.h - a run that must not begin.
 */
#ifndef TW_TESTS_REFUSAL_H
#define TW_TESTS_REFUSAL_H

#include <string.h>

#include "tests/mpi/harness.h"
#include "train/training.h"

/* On all ranks; rank 0 says why. */
static inline void expect_refusal(const tw_train_options_t *options, const char *fragment)
{
    tw_problem_t  problem = {0};
    tw_training_t t;

    t_note("wanted '%s'", fragment);
    T_CHECK(tw_training_create(&t, options, t_ctx, MPI_COMM_WORLD, &problem) == -1, "it was taken");
    T_CHECK(t_rank != 0 || strstr(problem.text, fragment) != NULL, "got '%s'", problem.text);
    tw_training_destroy(&t);
}

#endif /* TW_TESTS_REFUSAL_H */
