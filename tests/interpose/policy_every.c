/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/policy_every.c - `policy every`: once each collective of which nothing is
 * compressed, blocking and nonblocking, large-count where MPI has it; and persistent ones, started
 * three times, twice together. Ranks are asked for 2 * 1000 ints wherever something is sent to
 * everybody.
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

static void gathered(const char *what, int root)
{
    for (int r = 0; r < size && rank == root; r++) {
        block(what, r, r + 1);
    }
    prepare();
}

static void one_block(const char *what, int value)
{
    block(what, 0, value);
    prepare();
}

static void rooted(void)
{
    const int root = size - 1;

    MPI_Gather(send, N, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD);
    gathered("gather", root);
    WAIT(MPI_Igather(send, N, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    gathered("igather", root);
    MPI_Gatherv(send, N, MPI_INT, recv, rank == root ? counts : NULL, rank == root ? at : NULL,
                MPI_INT, root, MPI_COMM_WORLD);
    gathered("gatherv", root);
    WAIT(MPI_Igatherv(send, N, MPI_INT, recv, counts, at, MPI_INT, root, MPI_COMM_WORLD, &request));
    gathered("igatherv", root);
    MPI_Scatter(send, N, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD);
    one_block("scatter", size);
    WAIT(MPI_Iscatter(send, N, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    one_block("iscatter", size);
    MPI_Scatterv(send, rank == root ? counts : NULL, rank == root ? at : NULL, MPI_INT, recv, N,
                 MPI_INT, root, MPI_COMM_WORLD);
    one_block("scatterv", size);
    WAIT(
        MPI_Iscatterv(send, counts, at, MPI_INT, recv, N, MPI_INT, root, MPI_COMM_WORLD, &request));
    one_block("iscatterv", size);
}

/* Rank 0's result of an exclusive scan is nobody's. */
static void before(const char *what)
{
    if (rank > 0) {
        block(what, 0, rank * (rank + 1) / 2);
    }
    prepare();
}

static void unrooted(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    WAIT(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    MPI_Scan(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    one_block("scan", (rank + 1) * (rank + 2) / 2);
    WAIT(MPI_Iscan(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    one_block("iscan", (rank + 1) * (rank + 2) / 2);
    MPI_Exscan(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    before("exscan");
    WAIT(MPI_Iexscan(send, recv, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    before("iexscan");
    MPI_Alltoallw(send, counts, bytes_at, types, recv, counts, bytes_at, types, MPI_COMM_WORLD);
    blocks("alltoallw");
    WAIT(MPI_Ialltoallw(send, counts, bytes_at, types, recv, counts, bytes_at, types,
                        MPI_COMM_WORLD, &request));
    blocks("ialltoallw");
}

static void from_neighbours(const char *what)
{
    block(what, 0, (rank + size - 1) % size + 1);
    block(what, 1, (rank + 1) % size + 1);
    prepare();
}

/* A ring: two neighbours, on two ranks the same one twice. */
static void neighbours(void)
{
    const int dims = size, periods = 1;
    MPI_Aint  places[2] = {0, N * sizeof(int)};
    MPI_Comm  ring;

    MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &ring);
    MPI_Neighbor_allgather(send, N, MPI_INT, recv, N, MPI_INT, ring);
    from_neighbours("neighbor_allgather");
    WAIT(MPI_Ineighbor_allgather(send, N, MPI_INT, recv, N, MPI_INT, ring, &request));
    from_neighbours("ineighbor_allgather");
    MPI_Neighbor_allgatherv(send, N, MPI_INT, recv, counts, at, MPI_INT, ring);
    from_neighbours("neighbor_allgatherv");
    WAIT(MPI_Ineighbor_allgatherv(send, N, MPI_INT, recv, counts, at, MPI_INT, ring, &request));
    from_neighbours("ineighbor_allgatherv");
    MPI_Neighbor_alltoall(send, N, MPI_INT, recv, N, MPI_INT, ring);
    from_neighbours("neighbor_alltoall");
    WAIT(MPI_Ineighbor_alltoall(send, N, MPI_INT, recv, N, MPI_INT, ring, &request));
    from_neighbours("ineighbor_alltoall");
    MPI_Neighbor_alltoallv(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, ring);
    from_neighbours("neighbor_alltoallv");
    WAIT(MPI_Ineighbor_alltoallv(send, counts, at, MPI_INT, recv, counts, at, MPI_INT, ring,
                                 &request));
    from_neighbours("ineighbor_alltoallv");
    MPI_Neighbor_alltoallw(send, counts, places, types, recv, counts, places, types, ring);
    from_neighbours("neighbor_alltoallw");
    WAIT(MPI_Ineighbor_alltoallw(send, counts, places, types, recv, counts, places, types, ring,
                                 &request));
    from_neighbours("ineighbor_alltoallw");
    MPI_Comm_free(&ring);
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
    int         none = 0, news[N];

    for (int j = 0; j < N; j++) {
        news[j] = rank + 7;
    }
    INIT(Gather)(send, N, MPI_INT, recv, N, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
    INIT(Bcast)(news, N, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
    MPI_Start(&both[0]);
    MPI_Wait(&both[0], MPI_STATUS_IGNORE);
    gathered("gather_init", 0);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, both);
        MPI_Waitall(2, both, statuses);
        for (int r = 1; r < size && rank == 0;
             r++) { /* MPICH 4.0 gathers the root's own block once */
            block("gather_init, twice", r, r + 1);
        }
        prepare();
        for (int j = 0; j < N; j++) {
            wrong += news[j] != 7 + i;
            news[j] = rank + 8 + i;
        }
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
    gathered("gather_c", 0);
    MPI_Gatherv_c(send, N, MPI_INT, recv, many, far, MPI_INT, 0, MPI_COMM_WORLD);
    gathered("gatherv_c", 0);
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
