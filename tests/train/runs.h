/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/runs.h - a whole run, and one that must not begin.
 */
#ifndef TW_TESTS_RUNS_H
#define TW_TESTS_RUNS_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/mpi/harness.h"
#include "train/loop.h"

/* Options of a command line: its words, at most 40, with blanks between them. They point into the
 * text, which the next call overwrites. */
__attribute__((format(printf, 1, 2))) static inline tw_train_options_t
options_from(const char *format, ...)
{
    static char        words[1400];
    tw_train_options_t options;
    tw_problem_t       problem = {0};
    char              *argv[40], *rest = words;
    int                argc = 0;
    va_list            list;

    va_start(list, format);
    vsnprintf(words, sizeof(words), format, list);
    va_end(list);
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL; argc++) {
        argv[argc] = word;
    }
    tw_train_options_parse(&options, argc, argv, &problem);
    T_CHECK(!problem.set, "%s", problem.text);
    return options;
}

/* Create and run, to be destroyed; a failure ends the job, as nothing can be said after it. */
static inline void run(tw_training_t *t, const tw_train_options_t *options, MPI_Comm comm)
{
    tw_problem_t problem = {0};

    if (tw_training_create(t, options, t_ctx, comm, &problem) != 0 ||
        tw_training_run(t, &problem) != 0) {
        fprintf(stderr, "rank %d: a run failed: %s\n", t_rank, problem.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

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

#endif /* TW_TESTS_RUNS_H */
