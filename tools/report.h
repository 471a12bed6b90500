/* SPDX-License-Identifier: BSD-3-Clause
 * tools/report.h - the machine-readable result of a command: one JSON object, written by rank 0
 * under another name and renamed, so that a reader never sees half of it.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <jansson.h>

#include "tools/job.h"

typedef struct report {
    const char *path; /* NULL: nothing is written                  */
    json_t     *root; /* version, command, machine, ...            */
    json_t     *rows; /* in root                                   */
} report_t;

/* Begin a report to `path` (NULL: none wanted). Rank 0 tries whether the path can be written, so
 * that an hour's work does not end in an error; says what is wrong in one line. Collective.
 * @return 0, or -1: it cannot. */
int report_begin(report_t *report, const job_t *job, const char *path);

/* The same for another file that rank 0 writes at the end (NULL: none); nothing is left.
 * Collective. */
int report_try(const job_t *job, const char *option, const char *path);

/* Append one row; takes the reference. */
void report_row(report_t *report, json_t *row);

/* A number, or null where JSON has none (NaN, infinity). */
json_t *report_number(double value);

/* Write (if `well`, on rank 0) and release. @return the exit code. */
int report_end(report_t *report, const job_t *job, int well);

#endif /* TOOLS_REPORT_H */
