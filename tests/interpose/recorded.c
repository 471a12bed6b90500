/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/recorded.c - a program that knows nothing of thinwire, for record.sh: collectives
 * in loops, and programs that are hard to record. Rank 0 prints a checksum of all results, and of
 * what is recorded "total OPERATION VALUES", counted as thinwire-job(5) counts.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ /* Open MPI 4; 5 has them as MPI_, and says that it is MPI 3.1 */
#define ALLREDUCE_INIT MPIX_Allreduce_init
#else
#define ALLREDUCE_INIT MPI_Allreduce_init
#endif

enum { MOST = 30000, ROUNDS = 12 };

typedef enum operation {
    ALLREDUCE,
    REDUCE,
    SCATTER,
    BCAST,
    ALLGATHER,
    ALLTOALL,
    OPERATIONS
} operation_t;

static const char *const names[OPERATIONS] = {"allreduce", "reduce",    "reduce_scatter",
                                              "bcast",     "allgather", "alltoall"};

static int      rank, size;
static double   totals[OPERATIONS];
static float    in[8 * MOST], out[8 * MOST];
static double   wide[MOST];
static uint64_t seed = 1, sum = 14695981039346656037u;

static int draw(int below) /* the same on all ranks */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)below);
}

static void look(const void *data, size_t bytes)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < bytes; i++) {
        sum = (sum ^ p[i]) * 1099511628211u;
    }
}

static void fill(void)
{
    for (int i = 0; i < 8 * MOST; i++) {
        in[i]  = (float)((i * 7 + rank) % 1000) * 0.001f;
        out[i] = 0.0f;
    }
    for (int i = 0; i < MOST; i++) {
        wide[i] = i + rank;
    }
}

/* ---- programs ------------------------------------------------------------------------------ */

static void inner(MPI_Comm sub, MPI_Comm dup)
{
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(in, out, 1000, MPI_FLOAT, MPI_SUM, dup);
        MPI_Allreduce(MPI_IN_PLACE, wide, 3, MPI_DOUBLE, MPI_SUM, sub);
        MPI_Bcast(wide, 16, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
        totals[ALLREDUCE] += 1003;
        totals[BCAST] += 16;
    }
}

static void started(MPI_Comm dup)
{
    MPI_Request request[3];
    int         index, flag = 0;

    MPI_Iallreduce(in, out, 5000, MPI_FLOAT, MPI_SUM, dup, &request[0]);
    MPI_Iallreduce(in, out + MOST, 5000, MPI_FLOAT, MPI_SUM, dup, &request[1]);
    MPI_Ibcast(wide, 40, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request[2]);
    MPI_Waitany(1, &request[1], &index, MPI_STATUS_IGNORE);
    while (!flag) {
        MPI_Test(&request[2], &flag, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
    totals[ALLREDUCE] += 10000;
    totals[BCAST] += 40;
}

/* Pieces of derived types, with holes, and of what is no float. */
static void derived_pieces(void)
{
    static int   whole[2][8 * 30];
    int          counts[8], displs[8];
    MPI_Datatype holes, pair;

    for (int r = 0; r < 8; r++) {
        counts[r] = 30;
        displs[r] = 30 * r;
    }

    MPI_Type_vector(2, 1, 2, MPI_FLOAT, &pair); /* 2 floats in 12 bytes */
    MPI_Type_create_resized(pair, 0, 16, &holes);
    MPI_Type_commit(&holes);
    MPI_Alltoallv(in, counts, displs, holes, out, counts, displs, holes, MPI_COMM_WORLD);
    MPI_Alltoallv(whole[0], counts, displs, MPI_INT, whole[1], counts, displs, MPI_INT,
                  MPI_COMM_WORLD);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, counts, displs, holes,
                  MPI_COMM_WORLD);
    MPI_Allgatherv(in, 30, holes, out, counts, displs, holes, MPI_COMM_WORLD);
    MPI_Allgatherv(whole[0], 30, MPI_INT, whole[1], counts, displs, MPI_INT, MPI_COMM_WORLD);
    totals[ALLTOALL] += size > 1 ? 30 * 5 : 0;
    totals[ALLGATHER] += size > 1 ? 30 * 3 : 0;
    MPI_Type_free(&holes);
    MPI_Type_free(&pair);
}

static void pieces(void)
{
    int counts[8], displs[8], each[8];

    for (int r = 0; r < size; r++) {
        counts[r] = 100 + r;
        displs[r] = 200 * r;
        each[r]   = 50 + rank + r;
    }
    MPI_Allgather(in, 64, MPI_FLOAT, out, 64, MPI_FLOAT, MPI_COMM_WORLD);
    MPI_Allgatherv(in, counts[rank], MPI_FLOAT, out, counts, displs, MPI_FLOAT, MPI_COMM_WORLD);
    MPI_Alltoall(in, 32, MPI_FLOAT, out, 32, MPI_FLOAT, MPI_COMM_WORLD);
    MPI_Alltoallv(in, each, displs, MPI_FLOAT, out, each, displs, MPI_FLOAT, MPI_COMM_WORLD);
    MPI_Reduce(in, out, 200, MPI_FLOAT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce_scatter(in, out, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(in, out, 11, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(in, 5, MPI_FLOAT, out, 5, MPI_FLOAT, 0, MPI_COMM_WORLD);
    MPI_Scatter(in, 6, MPI_FLOAT, out, 6, MPI_FLOAT, 0, MPI_COMM_WORLD);
    MPI_Scan(in, out, 10, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    totals[ALLGATHER] += 64 + (size > 1 ? 5 + 100 + (size - 1) / 2.0 : 0);
    totals[ALLTOALL] += 32;
    for (int r = 0; r < size && size > 1; r++) { /* of a pair, in the mean over all pairs */
        for (int s = 0; s < size; s++) {
            totals[ALLTOALL] += r != s ? (50.0 + r + s) / size / (size - 1) : 0.0;
        }
    }
    derived_pieces();
    totals[REDUCE] += 200;
    totals[SCATTER] += size > 1 ? 100 * size + size * (size - 1) / 2 + 11 * size : 11;
    totals[BCAST] += size > 1 ? 6 * size : 0;
}

static void messages(void)
{
    const int   next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request request[2];

    MPI_Sendrecv(in, 100, MPI_FLOAT, next, 1, out, 100, MPI_FLOAT, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Irecv(out, 50, MPI_FLOAT, before, 2, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(in, 50, MPI_FLOAT, next, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

/* 1000 floats to the next rank and 500 to the one before, where there are such, and computing
 * meanwhile. */
static void of_neighbours(void)
{
    for (int i = 0; i < 20; i++) {
        const int next   = rank + 1 < size ? rank + 1 : MPI_PROC_NULL,
                  before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
        MPI_Request request[4];

        MPI_Irecv(out, 1000, MPI_FLOAT, before, 1, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(out + 1000, 500, MPI_FLOAT, next, 1, MPI_COMM_WORLD, &request[1]);
        MPI_Isend(in, 1000, MPI_FLOAT, next, 1, MPI_COMM_WORLD, &request[2]);
        MPI_Isend(in, 500, MPI_FLOAT, before, 1, MPI_COMM_WORLD, &request[3]);
        usleep(1000);
        MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
        MPI_Allreduce(in, out, 20, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        totals[ALLREDUCE] += 20;
    }
}

static void all_forms(void)
{
    MPI_Comm sub, dup;

    /* All of one size. */
    MPI_Comm_split(MPI_COMM_WORLD, size % 2 == 0 ? rank / 2 : rank, rank, &sub);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    for (int i = 0; i < ROUNDS; i++) {
        inner(sub, dup);
        look(wide, sizeof(wide[0]) * 20);
        started(dup);
        look(out, sizeof(out));
        pieces();
        messages();
        look(out, sizeof(out));
    }
    MPI_Comm_free(&sub);
    MPI_Comm_free(&dup);
}

static void of_different_sizes(int calls)
{
    for (int i = 0; i < calls; i++) {
        const int count = 1 + draw(MOST / 2) * (draw(4) == 0);

        MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        totals[ALLREDUCE] += count;
    }
}

static void long_ones(int calls)
{
    for (int i = 0; i < calls; i++) {
        const int count = 8 * MOST - draw(MOST);

        MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        totals[ALLREDUCE] += count;
    }
}

static void in_any_order(int calls)
{
    for (int i = 0; i < calls; i++) {
        const int count = 1 + draw(40);

        switch (draw(3)) {
        case 0:
            MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            totals[ALLREDUCE] += count;
            break;
        case 1:
            MPI_Bcast(wide, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            totals[BCAST] += count;
            break;
        default:
            MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
            totals[ALLGATHER] += count;
        }
    }
}

/* The same calls, by rank 0 from two places in turn, by the others from one. */
static void from_places(void)
{
    for (int i = 0; i < 100; i++) {
        if (rank == 0 && i % 2 == 0) {
            MPI_Bcast(wide, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            look(wide, 1); /* or the compiler makes one call of both */
        } else {
            MPI_Bcast(wide, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        }
        totals[BCAST] += 10;
    }
}

/* 18,000 sizes three times, by the last rank from two places: there alone these are too many. */
static void of_sizes_again(void)
{
    for (int i = 0; i < 54000; i++) {
        const int count = 1 + i % 18000;

        if (rank == size - 1 && i / 18000 == 1) {
            MPI_Bcast(wide, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            look(wide, 1);
        } else {
            MPI_Bcast(wide, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        }
        totals[BCAST] += count;
    }
}

/* The last rank calls what the others do not, with more sizes than are told apart. */
static void by_one_rank(void)
{
    for (int i = 0; i < 20; i++) {
        MPI_Allreduce(in, out, 10, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        totals[ALLREDUCE] += 10;
        for (int k = 0; k < 2500 && rank == size - 1 && size > 1; k++) {
            MPI_Allreduce(in, out, 1 + 2500 * i + k, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
        }
    }
}

/* Rank 1 computes longer than the others, which wait for its message. */
static void by_the_slowest(void)
{
    for (int i = 0; i < 10; i++) {
        if (rank == 1) {
            usleep(10000);
            MPI_Send(in, 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
        } else if (rank == 0 && size > 1) {
            MPI_Recv(out, 1, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Allreduce(in, out, 100, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        totals[ALLREDUCE] += 100;
    }
}

/* All ranks share one processor, of which each needs 20 ms a round. */
static void sharing(void)
{
    struct timespec now;
    cpu_set_t       mine, first;

    CPU_ZERO(&first);
    sched_getaffinity(0, sizeof(mine), &mine);
    for (int i = 0; CPU_COUNT(&first) == 0; i++) {
        if (CPU_ISSET(i, &mine)) {
            CPU_SET(i, &first);
        }
    }
    sched_setaffinity(0, sizeof(first), &first);
    for (int i = 0; i < 10; i++) {
        int64_t until;

        MPI_Barrier(MPI_COMM_WORLD);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        until = 1000000000 * (int64_t)now.tv_sec + now.tv_nsec + 20000000;
        do {
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        } while (1000000000 * (int64_t)now.tv_sec + now.tv_nsec < until);
        MPI_Allreduce(in, out, 100, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        totals[ALLREDUCE] += 100;
    }
}

/* It looks whether a collective is complete, computes, and waits. */
static void looking(void)
{
    for (int i = 0; i < 10; i++) {
        MPI_Request request;
        int         flag;

        MPI_Iallreduce(in, out, 100, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        usleep(5000);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        look(out, sizeof(float) * 100);
        totals[ALLREDUCE] += 100;
    }
}

static void *beside(void *comm)
{
    static float x[10], y[10];

    for (int i = 0; i < 50; i++) {
        MPI_Allreduce(x, y, 10, MPI_FLOAT, MPI_SUM, *(MPI_Comm *)comm);
    }
    return NULL;
}

static void by_threads(void)
{
    pthread_t thread;
    MPI_Comm  comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    pthread_create(&thread, NULL, beside, &comm);
    for (int i = 0; i < 200; i++) {
        MPI_Allreduce(in, out, 20, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        totals[ALLREDUCE] += 20;
    }
    pthread_join(thread, NULL);
    MPI_Comm_free(&comm);
}

static void by_another_thread(void)
{
    MPI_Comm  comm = MPI_COMM_WORLD;
    pthread_t thread;

    pthread_create(&thread, NULL, beside, &comm);
    pthread_join(thread, NULL);
    totals[ALLREDUCE] += 500;
}

static void persistent(void)
{
    MPI_Request request[2];

    ALLREDUCE_INIT(in, out, 300, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]);
    ALLREDUCE_INIT(in, out + MOST, 300, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request[1]);
    for (int i = 0; i < 30; i++) {
        MPI_Startall(2, request);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        look(out, sizeof(float) * 300);
        totals[ALLREDUCE] += 600;
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

/* A random number of its own on each rank. */
static int draw_here(int below)
{
    static uint64_t here;

    here = here == 0 ? 77 + (uint64_t)rank : here * 6364136223846793005u + 1442695040888963407u;
    return (int)((here >> 33) % (uint64_t)below);
}

/* Which collective is complete first is drawn by each rank: of those that are complete everywhere,
 * the program asks for one, or for some, as MPI might find them. */
static void in_turn(void)
{
    enum { N = 4 };

    for (int i = 0; i < 40; i++) {
        MPI_Request request[N], some[N];
        int         index, flag, n, indices[N], at[N] = {0, 1, 2, 3};

        for (int k = 0; k < N; k++) {
            MPI_Iallreduce(in, out + k * MOST, 100 * (k + 1), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                           &request[k]);
            totals[ALLREDUCE] += 100 * (k + 1);
        }
        for (int k = 0; k < N; k += flag) { /* until all are complete: none is completed by this */
            MPI_Request_get_status(request[k], &flag, MPI_STATUS_IGNORE);
        }
        for (int k = N - 1; k > 0; k--) { /* MPI looks in the order of the array */
            const int j = draw_here(k + 1), other = at[k];

            at[k] = at[j];
            at[j] = other;
        }
        for (int k = 0; k < N; k++) {
            some[k] = request[at[k]];
        }
        MPI_Waitany(N, some, &index, MPI_STATUS_IGNORE);
        MPI_Testany(N, some, &index, &flag, MPI_STATUS_IGNORE);
        if (draw_here(2) == 0) {
            MPI_Waitany(N, some, &index, MPI_STATUS_IGNORE);
        }
        MPI_Waitsome(N, some, &n, indices, MPI_STATUSES_IGNORE);
        MPI_Waitall(N, some, MPI_STATUSES_IGNORE);
    }
}

/* A message is complete long before the collective beside it can be. */
static void beside_a_message(void)
{
    for (int i = 0; i < 10; i++) {
        MPI_Request request[2];
        int         index;

        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            usleep(10000);
            MPI_Send(in, 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
            usleep(2000);
        }
        MPI_Iallreduce(in, out, 100, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request[0]);
        totals[ALLREDUCE] += 100;
        if (rank == 0) {
            MPI_Irecv(out + MOST, 1, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, &request[1]);
            MPI_Waitany(2, request, &index, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    }
}

/* MPI_Startall takes long, of messages and of collectives. */
static void started_slowly(void)
{
    MPI_Request request[3];
    const int   next = (rank + 1) % size, before = (rank + size - 1) % size;

    ALLREDUCE_INIT(in, out, 300, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]);
    ALLREDUCE_INIT(in, out + MOST, 300, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request[1]);
    MPI_Send_init(in, 1, MPI_FLOAT, next, 0, MPI_COMM_WORLD, &request[2]);
    for (int i = 0; i < 10; i++) {
        MPI_Startall(2, request);
        MPI_Startall(1, &request[2]);
        MPI_Recv(out + 2 * MOST, 1, MPI_FLOAT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
        totals[ALLREDUCE] += 600;
    }
    for (int i = 0; i < 3; i++) {
        MPI_Request_free(&request[i]);
    }
}

/* Rank 0's first call is from another place, so that the loop that it is in begins one call
 * later. */
static void of_levels(void)
{
    for (int i = 0; i < 10; i++) {
        if (rank == 0 && i == 0) {
            MPI_Bcast(wide, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            look(wide, 1);
        } else {
            MPI_Bcast(wide, 10, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        }
        if (rank == size - 1) {
            usleep(2000);
        }
        MPI_Allreduce(in, out, 20, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        totals[BCAST] += 10;
        totals[ALLREDUCE] += 20;
    }
}

/* More places than are told apart, each with a word for the start and one for the wait; two are
 * under way at a time. 512 functions of 40 places, as compilers take long for long functions. */
static MPI_Request from_place[2];
static int         places;
static const char *volatile function; /* or the compiler makes one of all */

static void of_one_place(void)
{
    totals[ALLREDUCE] += 1;
    if (++places % 2 == 0) {
        MPI_Waitall(2, from_place, MPI_STATUSES_IGNORE);
    }
}

/* clang-format off */
#define PLACE                                                                                      \
    MPI_Iallreduce(in, out + places % 2, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,                    \
                   &from_place[places % 2]);                                                       \
    of_one_place();
#define PLACES_8 PLACE PLACE PLACE PLACE PLACE PLACE PLACE PLACE
#define FUNCTION(name)                                                                             \
    static __attribute__((noinline)) void name(void)                                               \
    {                                                                                              \
        function = #name;                                                                          \
        PLACES_8 PLACES_8 PLACES_8 PLACES_8 PLACES_8                                               \
    }
#define CALL(name) name();
#define EACH_8(do, n) do(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7)
#define EACH_64(do, n)                                                                             \
    EACH_8(do, n##0) EACH_8(do, n##1) EACH_8(do, n##2) EACH_8(do, n##3)                            \
    EACH_8(do, n##4) EACH_8(do, n##5) EACH_8(do, n##6) EACH_8(do, n##7)
#define EACH_512(do, n)                                                                            \
    EACH_64(do, n##0) EACH_64(do, n##1) EACH_64(do, n##2) EACH_64(do, n##3)                        \
    EACH_64(do, n##4) EACH_64(do, n##5) EACH_64(do, n##6) EACH_64(do, n##7)

EACH_512(FUNCTION, places_)

static void of_many_places(void)
{
    EACH_512(CALL, places_)
}
/* clang-format on */

/* ---- all of it ----------------------------------------------------------------------------- */

static int run(const char *what, int number)
{
    if (strcmp(what, "forms") == 0) {
        all_forms();
    } else if (strcmp(what, "sizes") == 0) {
        of_different_sizes(number);
    } else if (strcmp(what, "long") == 0) {
        long_ones(number);
    } else if (strcmp(what, "order") == 0) {
        in_any_order(number);
    } else if (strcmp(what, "places") == 0) {
        from_places();
    } else if (strcmp(what, "again") == 0) {
        of_sizes_again();
    } else if (strcmp(what, "one") == 0) {
        by_one_rank();
    } else if (strcmp(what, "neighbours") == 0) {
        of_neighbours();
    } else if (strcmp(what, "slow") == 0) {
        by_the_slowest();
    } else if (strcmp(what, "sharing") == 0) {
        sharing();
    } else if (strcmp(what, "looking") == 0) {
        looking();
    } else if (strcmp(what, "threads") == 0) {
        by_threads();
    } else if (strcmp(what, "serialized") == 0) {
        by_another_thread();
    } else if (strcmp(what, "persistent") == 0) {
        persistent();
    } else if (strcmp(what, "turn") == 0) {
        in_turn();
    } else if (strcmp(what, "beside") == 0) {
        beside_a_message();
    } else if (strcmp(what, "slowly") == 0) {
        started_slowly();
    } else if (strcmp(what, "levels") == 0) {
        of_levels();
    } else if (strcmp(what, "many") == 0) {
        of_many_places();
    } else if (strcmp(what, "exit") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        exit(0);
    } else if (strcmp(what, "abort") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Abort(MPI_COMM_WORLD, 3);
    } else {
        return strcmp(what, "nothing") == 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    uint64_t    all[8];
    int         provided;

    MPI_Init_thread(&argc, &argv,
                    strcmp(what, "threads") == 0      ? MPI_THREAD_MULTIPLE
                    : strcmp(what, "serialized") == 0 ? MPI_THREAD_SERIALIZED
                                                      : MPI_THREAD_SINGLE,
                    &provided);
    if (strcmp(what, "threads") == 0 && provided != MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fill();
    if (!run(what, argc > 2 ? atoi(argv[2]) : 0)) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    look(out, sizeof(out));
    look(wide, sizeof(wide));
    PMPI_Gather(&sum, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (int r = 0; r < size && rank == 0; r++) {
        printf("sum %d %016llx\n", r, (unsigned long long)all[r]);
    }
    for (int o = 0; o < OPERATIONS && rank == 0; o++) {
        printf("total %s %.6f\n", names[o], totals[o]);
    }
    MPI_Finalize();
    return 0;
}
