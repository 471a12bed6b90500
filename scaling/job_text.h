/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/job_text.h - the text of a job file, looked through before libconfig reads it.
 */
#ifndef SCALING_JOB_TEXT_H
#define SCALING_JOB_TEXT_H

#include "command/problem.h"

/** The text of a file of at most 64 MiB, which the caller frees; NULL with the problem set: it
 * cannot be read, or has what libconfig takes in silence: NUL, @include, whole numbers that do
 * not fit, a comment without an end. */
char *job_text_read(const char *path, tw_problem_t *problem);

#endif /* SCALING_JOB_TEXT_H */
