/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/issue.c - a job becomes an MPI call, in whatever form.
 */
#include "config.h"

#include <string.h>

#include "tests/interpose/job.h"

#if MPI_VERSION >= 4

/* The arrays of the _c forms; they live until the job is closed. */
typedef struct large {
    MPI_Count send_counts[T_RANKS_MAX], recv_counts[T_RANKS_MAX];
    MPI_Aint  send_at[T_RANKS_MAX], recv_at[T_RANKS_MAX];
} large_t;

static void widen(t_job_t *job)
{
    large_t *large = t_malloc(sizeof(*large));

    for (int i = 0; i < T_RANKS_MAX; i++) {
        large->send_counts[i] = job->send_counts[i];
        large->recv_counts[i] = job->recv_counts[i];
        large->send_at[i]     = job->send_at[i];
        large->recv_at[i]     = job->recv_at[i];
    }
    job->large = large;
}

/* Arguments in parentheses: those up to the communicator, for int and for MPI_Count. */
#define UNPACK(...) __VA_ARGS__
#define CALL(Name, Iname, small, large)                                                            \
    switch (job->call.form) {                                                                      \
    case T_BLOCKING:                                                                               \
        return MPI_##Name(UNPACK small, job->place.comm);                                          \
    case T_NONBLOCKING:                                                                            \
        return MPI_##Iname(UNPACK small, job->place.comm, request_p);                              \
    case T_PERSISTENT:                                                                             \
        return MPI_##Name##_init(UNPACK small, job->place.comm, MPI_INFO_NULL, request_p);         \
    case T_LARGE:                                                                                  \
        return MPI_##Name##_c(UNPACK large, job->place.comm);                                      \
    case T_LARGE_NONBLOCKING:                                                                      \
        return MPI_##Iname##_c(UNPACK large, job->place.comm, request_p);                          \
    }                                                                                              \
    return MPI_ERR_OTHER

#else

#define UNPACK(...) __VA_ARGS__
#define CALL(Name, Iname, small, large)                                                            \
    if (job->call.form == T_BLOCKING) {                                                            \
        return MPI_##Name(UNPACK small, job->place.comm);                                          \
    }                                                                                              \
    return MPI_##Iname(UNPACK small, job->place.comm, request_p)

#endif

/* The same arguments for both. */
#define CALL_SAME(Name, Iname, arguments) CALL(Name, Iname, arguments, arguments)

/* What goes to MPI for the send side and the receive side. */
typedef struct sides {
    void        *send, *recv;
    int          send_n;
    MPI_Datatype send_type, recv_type;
    int          root;
} sides_t;

static sides_t sides_of(t_job_t *job)
{
    const t_call_t *call  = &job->call;
    sides_t         sides = {job->send.data,         job->recv.data,         job->send_n,
                             job->send.layout->type, job->recv.layout->type, call->root};

    if (call->in_place) {
        sides.send = MPI_IN_PLACE;
        if (call->strange && call->op < T_ALLREDUCE) { /* MPI does not look at these */
            sides.send_n    = -7;
            sides.send_type = MPI_DATATYPE_NULL;
        }
    }
    if (!job->receives && call->strange) {
        sides.recv = NULL;
    }
    if (job->place.inter && job->place.base == 0) { /* the root is in the low group */
        sides.root = job->place.rank == call->root ? MPI_ROOT : MPI_PROC_NULL;
    }
    return sides;
}

static int issue_movement(t_job_t *job, MPI_Request *request_p)
{
    const sides_t s = sides_of(job);
#if MPI_VERSION >= 4
    const large_t *const w = job->large;
#endif

    switch (job->call.op) {
    case T_BCAST:
        CALL_SAME(Bcast, Ibcast, (s.recv, job->recv_n, s.recv_type, s.root));
    case T_ALLGATHER:
        CALL_SAME(Allgather, Iallgather,
                  (s.send, s.send_n, s.send_type, s.recv, job->recv_n, s.recv_type));
    case T_ALLGATHERV:
        CALL(Allgatherv, Iallgatherv,
             (s.send, s.send_n, s.send_type, s.recv, job->recv_counts, job->recv_at, s.recv_type),
             (s.send, s.send_n, s.send_type, s.recv, w->recv_counts, w->recv_at, s.recv_type));
    case T_ALLTOALL:
        CALL_SAME(Alltoall, Ialltoall,
                  (s.send, s.send_n, s.send_type, s.recv, job->recv_n, s.recv_type));
    default:
        CALL(Alltoallv, Ialltoallv,
             (s.send, job->send_counts, job->send_at, s.send_type, s.recv, job->recv_counts,
              job->recv_at, s.recv_type),
             (s.send, w->send_counts, w->send_at, s.send_type, s.recv, w->recv_counts, w->recv_at,
              s.recv_type));
    }
}

static int issue_reduction(t_job_t *job, MPI_Request *request_p)
{
    const sides_t s = sides_of(job);
#if MPI_VERSION >= 4
    const large_t *const w = job->large;
#endif

    switch (job->call.op) {
    case T_ALLREDUCE:
        CALL_SAME(Allreduce, Iallreduce, (s.send, s.recv, job->recv_n, s.recv_type, job->op));
    case T_REDUCE:
        CALL_SAME(Reduce, Ireduce, (s.send, s.recv, job->send_n, s.send_type, job->op, s.root));
    case T_REDUCE_SCATTER:
        CALL(Reduce_scatter, Ireduce_scatter,
             (s.send, s.recv, job->recv_counts, s.recv_type, job->op),
             (s.send, s.recv, w->recv_counts, s.recv_type, job->op));
    default:
        CALL_SAME(Reduce_scatter_block, Ireduce_scatter_block,
                  (s.send, s.recv, job->recv_n, s.recv_type, job->op));
    }
}

int t_job_issue(t_job_t *job, MPI_Request *request_p)
{
#if MPI_VERSION >= 4
    widen(job);
#endif
    return job->call.op < T_ALLREDUCE ? issue_movement(job, request_p)
                                      : issue_reduction(job, request_p);
}
