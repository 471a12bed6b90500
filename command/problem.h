/* SPDX-License-Identifier: BSD-3-Clause
 * command/problem.h - what went wrong, in one line for the user. The place that knows first writes
 * it; callers pass -1 on.
 */
#ifndef TW_COMMAND_PROBLEM_H
#define TW_COMMAND_PROBLEM_H

typedef struct tw_problem {
    int  set;
    int  machine;   /* not the input's fault: no memory, no file handles       */
    int  fatal;     /* the ranks can no longer agree: only MPI_Abort ends them all */
    char text[600]; /* empty: the library has logged it                            */
} tw_problem_t;

/** Write the line, with a space for each control character, unless there is one already.
 * @return -1, to be returned. */
int tw_problem_set(tw_problem_t *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The same for what is this machine's fault and not that of what was read. */
int tw_problem_machine(tw_problem_t *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* TW_COMMAND_PROBLEM_H */
