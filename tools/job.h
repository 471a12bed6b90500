/* SPDX-License-Identifier: BSD-3-Clause
 * tools/job.h - the processes of this run: one alone, or the ranks that mpirun started. One rank
 * speaks for all, and all leave with the same exit code.
 */
#ifndef TOOLS_JOB_H
#define TOOLS_JOB_H

#include <thinwire/context.h>

#include "command/options.h"

typedef struct job {
    int    rank, size;
    int    mpi;         /* MPI is initialised                    */
    int    local_ranks; /* on this node                          */
    int    argc;
    char **argv; /* of the process, for reports           */
} job_t;

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Initialise MPI if a launcher started us; alone, MPI is left out until job_need_mpi(). */
void job_begin(job_t *job, int argc, char **argv);

/* Initialise MPI also when started alone (then as one rank). */
void job_need_mpi(job_t *job);

/* Wait for all ranks without burning their cores, finalise MPI; returns the highest exit code of
 * all ranks. */
int job_end(job_t *job, int code);

/* One line on stderr, "thinwire: ...", from rank 0 only: for what every rank sees alike. */
void job_complain(const job_t *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Read the options of the command called `name` ("bench codec"). @return EXIT_OK after --help and
 * EXIT_USAGE after a complaint: the command is over; or JOB_GO_ON. */
#define JOB_GO_ON (-1)
int job_options(const job_t *job, const command_t *command, const char *name, int argc,
                char **argv);

/* @return 0 if all ranks are well, else -1 on all. `why` is this rank's line if it is not (or
 * NULL); the lowest rank that is not well prints it. Collective. */
int job_agree(const job_t *job, int well, const char *why);

/* After an error in the middle of collective work: one line, then all ranks end. */
_Noreturn void job_abort(const job_t *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A context on every rank, or NULL on all (the library has logged why). Collective. */
tw_context_t *job_context(const job_t *job);

#endif /* TOOLS_JOB_H */
