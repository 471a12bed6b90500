/* SPDX-License-Identifier: BSD-3-Clause
 * tools/job.c - starting, agreeing and ending, alone or under mpirun.
 */
#include "config.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "tools/job.h"
#include "command/level.h"

/* Set by the launchers of Open MPI, MPICH and PMIx. */
static int launched(void)
{
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMI_RANK") != NULL ||
           getenv("PMIX_RANK") != NULL;
}

/* bench overlap measures THINWIRE_PROGRESS=thread. */
static int wanted_level(const job_t *job)
{
    const int overlap =
        job->argc > 2 && strcmp(job->argv[1], "bench") == 0 && strcmp(job->argv[2], "overlap") == 0;

    return overlap ? MPI_THREAD_MULTIPLE : level_wanted(MPI_THREAD_SINGLE);
}

void job_need_mpi(job_t *job)
{
    MPI_Comm node;
    int      level;

    if (job->mpi) {
        return;
    }
    MPI_Init_thread(&job->argc, &job->argv, wanted_level(job), &level);
    job->mpi = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job->rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &job->local_ranks);
    MPI_Comm_free(&node);
}

void job_begin(job_t *job, int argc, char **argv)
{
    *job = (job_t){.size = 1, .local_ranks = 1, .argc = argc, .argv = argv};
    if (launched()) {
        job_need_mpi(job);
    }
}

int job_end(job_t *job, int code)
{
    const struct timespec nap = {0, 5 * 1000 * 1000};
    MPI_Request           request;
    int                   highest = code, done = 0;

    if (!job->mpi) {
        return code;
    }
    MPI_Iallreduce(&code, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        nanosleep(&nap, NULL);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
#ifdef __SANITIZE_ADDRESS__
    __lsan_do_leak_check(); /* before the MPI library unloads what its stacks point into */
#endif
    MPI_Finalize();
    job->mpi = 0;
    return highest;
}

static void print_complaint(const char *format, va_list args)
{
    char line[2048];

    vsnprintf(line, sizeof(line), format, args);
    fflush(stdout);
    fprintf(stderr, "thinwire: %s\n", line);
}

void job_complain(const job_t *job, const char *format, ...)
{
    va_list args;

    if (job->rank != 0) {
        return;
    }
    va_start(args, format);
    print_complaint(format, args);
    va_end(args);
}

int job_options(const job_t *job, const command_t *command, const char *name, int argc, char **argv)
{
    char why[512];

    switch (options_parse(command, argc, argv, why, sizeof(why))) {
    case OPTIONS_HELP:
        if (job->rank == 0) {
            options_help(command);
        }
        return EXIT_OK;
    case OPTIONS_BAD:
        job_complain(job, "%s: %s", name, why);
        return EXIT_USAGE;
    case OPTIONS_OK:
        break;
    }
    return JOB_GO_ON;
}

int job_agree(const job_t *job, int well, const char *why)
{
    const int unwell = well ? INT_MAX : job->rank;
    int       first  = unwell;

    if (job->size > 1) {
        MPI_Allreduce(&unwell, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    if (first == job->rank && why != NULL) {
        fflush(stdout);
        fprintf(stderr, "thinwire: %s\n", why);
    }
    return first == INT_MAX ? 0 : -1;
}

void job_abort(const job_t *job, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    print_complaint(format, args);
    va_end(args);
    if (job->mpi) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    }
    exit(EXIT_FAILED);
}

tw_context_t *job_context(const job_t *job)
{
    tw_context_t *ctx = NULL;

    /* The library logs what is wrong. Most often it is wrong on all ranks: rank 0 tries first, so
     * that it is said once. */
    if (job->rank == 0) {
        tw_context_create(&ctx);
    }
    if (job_agree(job, job->rank != 0 || ctx != NULL, NULL) == 0 && job->rank != 0) {
        tw_context_create(&ctx);
    }
    if (job_agree(job, ctx != NULL, NULL) != 0) {
        tw_context_destroy(ctx);
        return NULL;
    }
    return ctx;
}
