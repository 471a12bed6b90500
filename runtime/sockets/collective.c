/* SPDX-License-Identifier: BSD-3-Clause
 * sockets/collective.c - MPI's collectives.
 *
 * Set-up needs few bytes and few connections: broadcasts and sums go along a binomial tree,
 * allgather round a ring. The others exchange their blocks directly; sums of blocks are added in
 * the order of ranks.
 */
#include "config.h"

#include <string.h>

#include "runtime/sockets/schedule.h"

/* The tree around a root: from a rank's parent, with the distance to its last child; both ways. */
static int tw_tree_rank(const tw_tcp_group_t *group, int root, int relative)
{
    return (relative + root) % group->size;
}

#define TW_TREE_STEPS 130 /* of a rank in both ways, with waits */

static void tw_tree_bcast(tw_tcp_group_t *group, tw_tcp_message_t *m, int root, void *data,
                          size_t bytes)
{
    const int relative = (group->rank - root + group->size) % group->size;
    int       distance = 1;

    while (distance < group->size && (relative & distance) == 0) {
        distance <<= 1;
    }
    if (relative > 0) {
        tw_schedule_add(m, TW_STEP_RECV, tw_tree_rank(group, root, relative - distance), data,
                        bytes);
        tw_schedule_add(m, TW_STEP_WAIT, 0, NULL, 0);
    }
    for (distance >>= 1; distance > 0; distance >>= 1) {
        if (relative + distance < group->size) {
            tw_schedule_add(m, TW_STEP_SEND, tw_tree_rank(group, root, relative + distance), data,
                            bytes);
        }
    }
    tw_schedule_add(m, TW_STEP_WAIT, 0, NULL, 0);
}

static void tw_tree_reduce(tw_tcp_group_t *group, tw_tcp_message_t *m, int root, void *sum,
                           void *other, size_t bytes)
{
    const int relative = (group->rank - root + group->size) % group->size;

    for (int distance = 1; distance < group->size; distance <<= 1) {
        if ((relative & distance) != 0) {
            tw_schedule_add(m, TW_STEP_SEND, tw_tree_rank(group, root, relative - distance), sum,
                            bytes);
            tw_schedule_add(m, TW_STEP_WAIT, 0, NULL, 0);
            return;
        }
        if (relative + distance < group->size) {
            tw_schedule_add(m, TW_STEP_RECV, tw_tree_rank(group, root, relative + distance), other,
                            bytes);
            tw_schedule_add(m, TW_STEP_WAIT, 0, NULL, 0);
            tw_schedule_fold(m, sum, other, bytes);
        }
    }
}

/* ---- the calls ------------------------------------------------------------------------------- */

int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request)
{
    tw_tcp_message_t *m = tw_schedule_new(comm, TW_TREE_STEPS, 0, type, MPI_OP_NULL);

    if (m != NULL) {
        tw_tree_bcast(comm, m, root, data, (size_t)count * tw_mpi_extent(type));
    }
    return tw_schedule_start(comm, m, request);
}

/* To all ranks (root -1), or to one. */
static int tw_reduce_start(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                           int root, MPI_Comm comm, MPI_Request *request)
{
    const size_t      bytes = (size_t)count * tw_mpi_extent(type);
    tw_tcp_message_t *m     = tw_schedule_new(comm, TW_TREE_STEPS, 2 * bytes + 1, type, op);

    if (m != NULL) {
        uint8_t *work = ((tw_tcp_schedule_t *)m->schedule)->work;
        uint8_t *sum  = root < 0 || root == comm->rank ? recv : work + bytes;

        if (send != MPI_IN_PLACE && bytes > 0) {
            memmove(sum, send, bytes);
        }
        tw_tree_reduce(comm, m, root < 0 ? 0 : root, sum, work, bytes);
        if (root < 0) {
            tw_tree_bcast(comm, m, 0, sum, bytes);
        }
    }
    return tw_schedule_start(comm, m, request);
}

int MPI_Ireduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *request)
{
    return tw_reduce_start(send, recv, count, type, op, root, comm, request);
}

int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    return tw_reduce_start(send, recv, count, type, op, -1, comm, request);
}

/* counts NULL: each of `count`. Blocks come to the place of the sum rank by rank. */
static int tw_scatter_start(const void *send, void *recv, const int *counts, int count,
                            MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    const size_t      extent = tw_mpi_extent(type);
    const size_t      own    = (size_t)(counts != NULL ? counts[comm->rank] : count) * extent;
    const size_t      room   = own * (size_t)comm->size;
    const uint8_t    *from   = send == MPI_IN_PLACE ? recv : send;
    tw_tcp_message_t *m      = tw_schedule_new(comm, 3 * comm->size + 3, room + 1, type, op);
    uint8_t          *work   = m != NULL ? ((tw_tcp_schedule_t *)m->schedule)->work : NULL;
    size_t            at     = 0;

    for (int r = 0; r < comm->size && m != NULL; r++) {
        const size_t bytes = (size_t)(counts != NULL ? counts[r] : count) * extent;

        if (r == comm->rank) {
            memcpy(work + (size_t)r * own, from + at, own);
        } else {
            tw_schedule_add(m, TW_STEP_RECV, r, work + (size_t)r * own, own);
            tw_schedule_add(m, TW_STEP_SEND, r, from + at, bytes);
        }
        at += bytes;
    }
    if (m != NULL) {
        tw_schedule_add(m, TW_STEP_WAIT, 0, NULL, 0);
        for (int r = 1; r < comm->size; r++) {
            tw_schedule_fold(m, work, work + (size_t)r * own, own);
        }
        tw_schedule_add(m, TW_STEP_SEND, comm->rank, work, own);
        tw_schedule_add(m, TW_STEP_RECV, comm->rank, recv, own);
    }
    return tw_schedule_start(comm, m, request);
}

int MPI_Ireduce_scatter(const void *send, void *recv, const int counts[], MPI_Datatype type,
                        MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    return tw_scatter_start(send, recv, counts, 0, type, op, comm, request);
}

int MPI_Ireduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request *request)
{
    return tw_scatter_start(send, recv, NULL, count, type, op, comm, request);
}

/* Round the ring: what came last from the left goes to the right. */
static int tw_gather_start(const void *send, void *recv, const int *counts, const int *firsts,
                           int count, MPI_Datatype type, MPI_Comm comm, MPI_Request *request)
{
    const size_t      extent = tw_mpi_extent(type);
    const int         ranks  = comm->size;
    tw_tcp_message_t *m      = tw_schedule_new(comm, 3 * ranks, 0, type, MPI_OP_NULL);

    for (int i = 0; i < ranks && m != NULL; i++) {
        const int r  = (comm->rank - i + ranks) % ranks;
        uint8_t  *at = (uint8_t *)recv +
                      (firsts != NULL ? (size_t)firsts[r] : (size_t)r * (size_t)count) * extent;
        const size_t bytes = (size_t)(counts != NULL ? counts[r] : count) * extent;

        if (i == 0 && send != MPI_IN_PLACE && bytes > 0) {
            memmove(at, send, bytes);
        }
        if (i > 0) {
            tw_schedule_add(m, TW_STEP_RECV, (comm->rank + ranks - 1) % ranks, at, bytes);
            tw_schedule_add(m, TW_STEP_WAIT, 0, NULL, 0);
        }
        if (i + 1 < ranks) {
            tw_schedule_add(m, TW_STEP_SEND, (comm->rank + 1) % ranks, at, bytes);
        }
    }
    return tw_schedule_start(comm, m, request);
}

int MPI_Iallgather(const void *send, int sends, MPI_Datatype send_type, void *recv, int count,
                   MPI_Datatype type, MPI_Comm comm, MPI_Request *request)
{
    (void)sends;
    (void)send_type;
    return tw_gather_start(send, recv, NULL, NULL, count, type, comm, request);
}

int MPI_Iallgatherv(const void *send, int sends, MPI_Datatype send_type, void *recv,
                    const int counts[], const int displacements[], MPI_Datatype type, MPI_Comm comm,
                    MPI_Request *request)
{
    (void)sends;
    (void)send_type;
    return tw_gather_start(send, recv, counts, displacements, 0, type, comm, request);
}

int MPI_Ialltoall(const void *send, int sends, MPI_Datatype send_type, void *recv, int count,
                  MPI_Datatype type, MPI_Comm comm, MPI_Request *request)
{
    const size_t      bytes = (size_t)count * tw_mpi_extent(type);
    tw_tcp_message_t *m     = tw_schedule_new(comm, 2 * comm->size, 0, type, MPI_OP_NULL);

    (void)sends;
    (void)send_type;
    for (int i = 0; i < comm->size && m != NULL; i++) {
        const int from = (comm->rank - i + comm->size) % comm->size;
        const int to   = (comm->rank + i) % comm->size;

        tw_schedule_add(m, TW_STEP_RECV, from, (uint8_t *)recv + (size_t)from * bytes, bytes);
        tw_schedule_add(m, TW_STEP_SEND, to, (const uint8_t *)send + (size_t)to * bytes, bytes);
    }
    return tw_schedule_start(comm, m, request);
}

/* ---- the same, blocking ---------------------------------------------------------------------- */

#define TW_BLOCKING(call)                                                                          \
    MPI_Request request = MPI_REQUEST_NULL;                                                        \
    const int   error   = call;                                                                    \
    return error == MPI_SUCCESS ? tw_tcp_wait(&request) : error

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    TW_BLOCKING(MPI_Ibcast(data, count, type, root, comm, &request));
}

int MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    TW_BLOCKING(MPI_Ireduce(send, recv, count, type, op, root, comm, &request));
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    TW_BLOCKING(MPI_Iallreduce(send, recv, count, type, op, comm, &request));
}

int MPI_Reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm)
{
    TW_BLOCKING(MPI_Ireduce_scatter_block(send, recv, count, type, op, comm, &request));
}

int MPI_Allgather(const void *send, int sends, MPI_Datatype send_type, void *recv, int count,
                  MPI_Datatype type, MPI_Comm comm)
{
    TW_BLOCKING(MPI_Iallgather(send, sends, send_type, recv, count, type, comm, &request));
}

int MPI_Alltoall(const void *send, int sends, MPI_Datatype send_type, void *recv, int count,
                 MPI_Datatype type, MPI_Comm comm)
{
    TW_BLOCKING(MPI_Ialltoall(send, sends, send_type, recv, count, type, comm, &request));
}
