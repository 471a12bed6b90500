/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_operations.h - one collective on one shape of buffers, by native MPI, by thinwire,
 * and exactly.
 */
#ifndef TOOLS_BENCH_OPERATIONS_H
#define TOOLS_BENCH_OPERATIONS_H

#include <thinwire/thinwire.h>

#include "tools/job.h"

typedef struct bench_call {
    const job_t *job;
    tw_comm_t   *comm;
    size_t       count; /* of the collective, as tw_operation_t counts, but a reduce-scatter's is
                           one rank's block */
    tw_dtype_t   dtype; /* of the elements */
    void        *send;  /* this rank's data; in bcast only the root's counts                   */
    void        *recv;
} bench_call_t;

typedef struct operation {
    const char    *name;
    const char    *mpi_name;
    const char    *about, *examples; /* of the subcommand */
    tw_operation_t kind;
    int            sends_each, recvs_each; /* the buffer holds count values for each rank         */
    int            same;                   /* the result is to be the same on all ranks           */
    unsigned       flags;                  /* of tw_how_t in the check                            */
    int (*native)(const bench_call_t *x);  /* an MPI status            */
    tw_status_t (*thinwire)(const bench_call_t *x, const tw_how_t *how);
    tw_status_t (*plan)(const bench_call_t *x, const tw_how_t *how, tw_request_t **plan_p);
    /* exact[0..n) becomes the exact result of values [first, first + n) of recv. Collective;
     * first and n are the same on all ranks. An MPI status. */
    int (*exact)(const bench_call_t *x, size_t first, size_t n, double *exact);
} operation_t;

/* The operations of the bench, by their names; NULL: there is none. */
const operation_t *bench_operation(const char *name);

/* Values in the longer one of send and recv. */
size_t bench_values(const operation_t *operation, size_t count, int ranks);

/* What a check finds; the same on all ranks. */
typedef struct verdict {
    double   max_error, rms_error; /* relative to the root mean square of the exact result    */
    uint64_t wire_bytes;           /* most that a rank sent                                    */
    uint64_t wire_total;           /* sent by all ranks together                               */
    int      identical;            /* all ranks hold the same bits (where operation.same)      */
} verdict_t;

/* One more run by thinwire, counted and compared with the exact result. Collective; ends the job
 * with a line on an error of MPI or thinwire. */
void bench_check(const operation_t *operation, const bench_call_t *x, const tw_how_t *how,
                 verdict_t *verdict);

#endif /* TOOLS_BENCH_OPERATIONS_H */
