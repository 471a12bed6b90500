/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/policy_messages.c - `policy messages`: messages of every kind round a ring, and
 * one-sided transfers, 1000 items each. One message of each kind counts; those to nobody, of a rank
 * to itself and of nothing have no bytes.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/policy.h"

#define N 1000

static int    rank, size, next, last, wrong;
static double send[4 * N], recv[4 * N];

static void arrived(const char *what, int n)
{
    for (int i = 0; i < n; i++) {
        if (recv[i] != last + i) {
            printf("rank %d, %s: item %d is %g\n", rank, what, i, recv[i]);
            wrong++;
            break;
        }
    }
    memset(recv, 0, sizeof(recv));
}

/* Receive while `call` sends. */
#define RING(what, n, call)                                                                        \
    do {                                                                                           \
        MPI_Request in;                                                                            \
                                                                                                   \
        MPI_Irecv(recv, n, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, &in);                              \
        call;                                                                                      \
        MPI_Wait(&in, MPI_STATUS_IGNORE);                                                          \
        arrived(what, n);                                                                          \
    } while (0)
#define ISEND(name)                                                                                \
    RING(#name, N, {                                                                               \
        MPI_Request out;                                                                           \
        name(send, N, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &out);                                  \
        MPI_Wait(&out, MPI_STATUS_IGNORE);                                                         \
    })

static void modes(void)
{
    static char attached[3 * (8 * N + MPI_BSEND_OVERHEAD)];
    void       *detached;
    int         bytes;

    MPI_Buffer_attach(attached, sizeof(attached));
    RING("send", N, MPI_Send(send, N, MPI_DOUBLE, next, 0, MPI_COMM_WORLD));
    RING("bsend", N, MPI_Bsend(send, N, MPI_DOUBLE, next, 0, MPI_COMM_WORLD));
    RING("ssend", N, MPI_Ssend(send, N, MPI_DOUBLE, next, 0, MPI_COMM_WORLD));
    ISEND(MPI_Isend);
    ISEND(MPI_Ibsend);
    ISEND(MPI_Issend);
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Sendrecv(send, N, MPI_DOUBLE, next, 0, recv, N, MPI_DOUBLE, last, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    arrived("sendrecv", N);
    memcpy(recv, send, N * sizeof(*recv));
    MPI_Sendrecv_replace(recv, N, MPI_DOUBLE, next, 0, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    arrived("sendrecv_replace", N);
}

/* Receives that are there before the others send in ready mode; a request that is started three
 * times. */
static void kept(void)
{
    MPI_Request requests[2];
    MPI_Status  statuses[2];

    MPI_Recv_init(recv, N, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Rsend_init(send, N, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&requests[0]);
        PMPI_Barrier(MPI_COMM_WORLD);
        MPI_Startall(1, &requests[1]);
        MPI_Waitall(2, requests, statuses);
        arrived("rsend_init", N);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Nobody, itself, nothing, and the other side of an inter-communicator, which has the same
 * numbers. */
static void no_bytes(void)
{
    const int   half = rank < size / 2;
    int         self;
    MPI_Request request;
    MPI_Comm    side, both;

    MPI_Isend(send, N, MPI_FLOAT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(send, N, MPI_FLOAT, rank, 1, recv, N, MPI_FLOAT, rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(send, 0, MPI_FLOAT, next, 1, recv, 0, MPI_FLOAT, last, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    PMPI_Comm_split(MPI_COMM_WORLD, half, rank, &side);
    PMPI_Intercomm_create(side, 0, MPI_COMM_WORLD, half ? size / 2 : 0, 2, &both);
    PMPI_Comm_rank(side, &self);
    if (self == 0) {
        MPI_Sendrecv(send, N, MPI_LONG, 0, 1, recv, N, MPI_LONG, 0, 1, both, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&both);
    PMPI_Comm_free(&side);
}

/* Every other double, and an int with three doubles. */
static void derived(void)
{
    const int          lengths[2] = {1, 3};
    const MPI_Aint     places[2]  = {0, 8};
    const MPI_Datatype members[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype       other, both;

    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &other);
    MPI_Type_commit(&other);
    MPI_Sendrecv(send, 1, other, next, 0, recv, 1, other, last, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Type_free(&other);
    MPI_Type_create_struct(2, lengths, places, members, &both);
    MPI_Type_commit(&both);
    MPI_Sendrecv(send, N, both, next, 0, recv, N, both, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&both);
    MPI_Sendrecv(send, N, MPI_BYTE, next, 0, recv, N, MPI_BYTE, last, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void one_sided(void)
{
    static double window[N], got[N];
    MPI_Win       win;
    MPI_Request   request;

    MPI_Win_create(window, sizeof(window), sizeof(*window), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(send, N, MPI_DOUBLE, next, 0, N, MPI_DOUBLE, win);
    MPI_Put(send, N, MPI_DOUBLE, MPI_PROC_NULL, 0, N, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Get(got, N, MPI_DOUBLE, next, 0, N, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(send, N, MPI_DOUBLE, next, 0, N, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Win_lock_all(0, win);
    MPI_Rget(got, N, MPI_DOUBLE, next, 0, N, MPI_DOUBLE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Fetch_and_op(send, got, MPI_DOUBLE, next, 0, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void newest(void)
{
#if MPI_VERSION >= 4
    MPI_Request requests[2];
    MPI_Status  statuses[2];

    RING("send_c", N, MPI_Send_c(send, N, MPI_DOUBLE, next, 0, MPI_COMM_WORLD));
    MPI_Isendrecv(send, N, MPI_DOUBLE, next, 0, recv, N, MPI_DOUBLE, last, 0, MPI_COMM_WORLD,
                  &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    arrived("isendrecv", N);
    MPI_Precv_init(recv, 2, N / 2, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Psend_init(send, 2, N / 2, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready(0, requests[1]);
    MPI_Pready(1, requests[1]);
    MPI_Waitall(2, requests, statuses);
    arrived("psend_init", N);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
#endif
}

int messages(void)
{
    int all;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    last = (rank + size - 1) % size;
    for (int i = 0; i < 4 * N; i++) {
        send[i] = rank + i;
    }
    modes();
    kept();
    no_bytes();
    derived();
    one_sided();
    newest();
    PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("messages: %s%d wrong\n", MPI_VERSION >= 4 ? "newest, " : "", all);
    }
    return all != 0;
}
