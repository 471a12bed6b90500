/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/policy_every.c - `policy every`: once each collective of which nothing is compressed,
 * blocking and nonblocking, large-count where MPI has it; and persistent ones, started three times,
 * twice together. Ranks are asked for 2 * 1000 ints wherever something is sent to everybody.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/policy.h"

#define N 1000

static int rank, size, wrong;
static int send[RANKS_MAX * N], recv[RANKS_MAX * N], counts[RANKS_MAX], at[RANKS_MAX],
    bytes_at[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];

static void prepare(void)
{
    for (int i = 0; i < RANKS_MAX * N; i++) {
        send[i] = rank + 1;
        recv[i] = -1;
    }
}

/* Block r of what arrived is all `value`; and for the next call everything is as before. */
static void block(const char *what, int r, int value)
{
    for (int i = 0; i < N; i++) {
        if (recv[r * N + i] != value) {
            printf("rank %d, %s: block %d has %d, not %d\n", rank, what, r, recv[r * N + i], value);
            wrong++;
            return;
        }
    }
}

static void blocks(const char *what)
{
    for (int r = 0; r < size; r++) {
        block(what, r, r + 1);
    }
    prepare();
}

#define WAIT(call)                                                                                 \
    do {                                                                                           \
        MPI_Request request;                                                                       \
                                                                                                   \
        call;                                                                                      \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
    } while (0)

static void rooted(void)
{
    const int root = size - 1;

    MPI_Gather(send, N, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD);
    for (int r = 0; r < size && rank == root; r++) {
        block("gather", r, r + 1);
    }
    WAIT(MPI_Igather(send, N, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    MPI_Gatherv(send, N, MPI_INT, recv, rank == root ? counts : NULL, rank == root ? at : NULL,
                MPI_INT, root, MPI_COMM_WORLD);
    WAIT(MPI_Igatherv(send, N, MPI_INT, recv, counts, at, MPI_INT, root, MPI_COMM_WORLD, &request));
    prepare();
    MPI_Scatter(send, N, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD);
    block("scatter", 0, size);
    WAIT(MPI_Iscatter(send, N, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    MPI_Scatterv(send, rank == root ? counts : NULL, rank == root ? at : NULL, MPI_INT, recv, N,
                 MPI_INT, root, MPI_COMM_WORLD);
    WAIT(
        MPI_Iscatterv(send, counts, at, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    prepare();
}

static void unrooted(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    WAIT(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    MPI_Scan(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    block("scan", 0, (rank + 1) * (rank + 2) / 2);
    WAIT(MPI_Iscan(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    MPI_Exscan(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    WAIT(MPI_Iexscan(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    prepare();
    MPI_Alltoallw(send, counts, bytes_at, types, recv, counts, bytes_at, types, MPI_COMM_WORLD);
    blocks("alltoallw");
    WAIT(MPI_Ialltoallw(send, counts, bytes_at, types, recv, counts, bytes_at, types,
                        MPI_COMM_WORLD, &request));
    blocks("ialltoallw");
}

/* A ring: two neighbours, on two ranks the same one twice. */
static void neighbours(void)
{
    const int dims = size, periods = 1;
    MPI_Aint  places[2] = {0, N * sizeof(int)};
    MPI_Comm  ring;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &ring);
    MPI_Neighbor_allgather(send, N, MPI_INT, recv, N, MPI_INT, ring);
    block("neighbor_allgather", 0, (rank + size - 1) % size + 1);
    WAIT(MPI_Ineighbor_allgather(send, N, MPI_INT, recv, N, MPI_INT, ring, &request));
    MPI_Neighbor_allgatherv(send, N, MPI_INT, recv, counts, at, MPI_INT, ring);
    WAIT(MPI_Ineighbor_allgatherv(send, N, MPI_INT, recv, counts, at, MPI_INT, ring, &request));
    MPI_Neighbor_alltoall(send, N, MPI_INT, recv, N, MPI_INT, ring);
    WAIT(MPI_Ineighbor_alltoall(send, N, MPI_INT, recv, N, MPI_INT, ring, &request));
    MPI_Neighbor_alltoallv(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, ring);
    WAIT(MPI_Ineighbor_alltoallv(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, ring,
                                 &request));
    MPI_Neighbor_alltoallw(send, counts, places, types, recv, counts, places, types, ring);
    WAIT(MPI_Ineighbor_alltoallw(send, counts, places, types, recv, counts, places, types, ring,
                                 &request));
    block("neighbor_alltoallw", 1, (rank + 1) % size + 1);
    MPI_Comm_free(&ring);
    prepare();
}

#if MPI_VERSION >= 4
#define INIT(name) MPI_##name##_init
#elif defined(OPEN_MPI)
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INIT(name) MPIX_##name##_init
#endif
#endif

/* Started once, and twice with another one. One that was freed may leave its handle to a request of
 * another kind, whose starts are none of a collective. */
static void persistent(void)
{
#ifdef INIT
    MPI_Request both[2], other;
    MPI_Status  statuses[2];
    int         none = 0;

    INIT(Gather)(send, N, MPI_INT, recv, N, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
    INIT(Bcast)(send, N, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
    MPI_Start(&both[0]);
    MPI_Wait(&both[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, both);
        MPI_Waitall(2, both, statuses);
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    MPI_Send_init(&none, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &other);
    MPI_Start(&other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    MPI_Request_free(&other);
    prepare();
#endif
}

static void large(void)
{
#if MPI_VERSION >= 4
    MPI_Count many[RANKS_MAX];
    MPI_Aint  far[RANKS_MAX];

    for (int r = 0; r < RANKS_MAX; r++) {
        many[r] = N;
        far[r]  = at[r];
    }
    MPI_Gather_c(send, N, MPI_INT, recv, N, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gatherv_c(send, N, MPI_INT, recv, many, far, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgatherv_c(send, N, MPI_INT, recv, many, far, MPI_INT, MPI_COMM_WORLD);
    blocks("allgatherv_c");
#endif
}

int every(void)
{
    int all;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int r = 0; r < RANKS_MAX; r++) {
        counts[r]   = N;
        at[r]       = r * N;
        bytes_at[r] = r * N * (int)sizeof(int);
        types[r]    = MPI_INT;
    }
    prepare();
    rooted();
    unrooted();
    neighbours();
    persistent();
    large();
    PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
#ifdef INIT
        printf("every: persistent%s, %d wrong\n", MPI_VERSION >= 4 ? " and large" : "", all);
#else
        printf("every: %d wrong\n", all);
#endif
    }
    return all != 0;
}
