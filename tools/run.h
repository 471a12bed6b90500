/* SPDX-License-Identifier: BSD-3-Clause
 * tools/run.h - what thinwire run was asked to do.
 */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include <limits.h>
#include <stddef.h>

#include "tools/job.h"

#define RUN_CHANGES_MAX 20

typedef struct run {
    const char *codec, *threshold, *rule, *rules_file, *max_error, *max_abs_error, *report, *json,
        *record, *mpi, *bcast_root;
    const char *types;
    int         narrow, verify, feedback, pcontrol, quiet, threads, print;
    char        absolute[64];             /* the codec that max_abs_error names */
    char       *rules;                    /* of all --rule, separated by ;     */
    const char *changed[RUN_CHANGES_MAX]; /* variables that are set by options */
    size_t      changes;
    char        why[2 * PATH_MAX]; /* one line, if something is wrong   */
} run_t;

/* Are the values of the options what they should be? @return 0, or -1: run->why says what is
 * accepted. */
int run_check_values(run_t *run);

/* Options go over what the environment says; the rest of it stays. @return 0, or -1: run->why
 * says what failed. */
int run_set_variables(run_t *run);

/* Are all settings in force well, those from the environment too? @return 0, or -1: rank 0 has said
 * in one line what is wrong. */
int run_check_settings(run_t *run, const job_t *job);

/* What the environment says now, "" for nothing. */
const char *run_setting(const char *name);

#endif /* TOOLS_RUN_H */
