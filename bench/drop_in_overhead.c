/* SPDX-License-Identifier: BSD-3-Clause
 * bench/drop_in_overhead.c - what the drop-in costs small calls that it only watches.
 *
 * Run it on 1 rank under `thinwire run`: the MPI_ function then goes through the drop-in, its PMPI_
 * twin does not. Batches of both alternate; medians of the time per call, and the difference of the
 * quickest batches, which other load disturbs least. A message goes from the rank to
 * itself. The drop-in promises at most 0.3 us more a collective, and 0.05 us a message; with
 * --record, at most another 0.3 us a collective.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "tools/measure.h"

enum { BATCHES = 201, CALLS = 2000 };

static double       buffer[16], arrived[16];
static MPI_Datatype pairs; /* 4 doubles of 8 */
static MPI_Request  persistent[2];

static void allreduce(void)
{
    MPI_Allreduce(buffer, arrived, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void allreduce_native(void)
{
    PMPI_Allreduce(buffer, arrived, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void sendrecv(void)
{
    MPI_Sendrecv(buffer, 1, MPI_DOUBLE, 0, 0, arrived, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void sendrecv_native(void)
{
    PMPI_Sendrecv(buffer, 1, MPI_DOUBLE, 0, 0, arrived, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
}

static void derived(void)
{
    MPI_Sendrecv(buffer, 1, pairs, 0, 0, arrived, 1, pairs, 0, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void derived_native(void)
{
    PMPI_Sendrecv(buffer, 1, pairs, 0, 0, arrived, 1, pairs, 0, 0, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
}

static void isend(void)
{
    MPI_Request requests[2];

    MPI_Irecv(arrived, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(buffer, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void isend_native(void)
{
    MPI_Request requests[2];

    PMPI_Irecv(arrived, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[0]);
    PMPI_Isend(buffer, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[1]);
    PMPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void start(void)
{
    MPI_Startall(2, persistent);
    MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
}

static void start_native(void)
{
    PMPI_Startall(2, persistent);
    PMPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
}

static double batch_us(void (*call)(void))
{
    const double begin = MPI_Wtime();

    for (int i = 0; i < CALLS; i++) {
        call();
    }
    return (MPI_Wtime() - begin) * 1e6 / CALLS;
}

static void measure(const char *name, void (*call)(void), void (*native)(void))
{
    static double through[BATCHES], beside[BATCHES], extra[BATCHES];

    batch_us(call);
    batch_us(native);
    for (int b = 0; b < BATCHES; b++) {
        beside[b]  = batch_us(native);
        through[b] = batch_us(call);
        extra[b]   = through[b] - beside[b];
    }
    measure_median(beside, BATCHES); /* sorts them */
    measure_median(through, BATCHES);
    measure_median(extra, BATCHES);
    printf("%-33s %8.3f %8.3f %8.3f (%.3f to %.3f) %8.3f\n", name, beside[BATCHES / 2],
           through[BATCHES / 2], extra[BATCHES / 2], extra[BATCHES / 4], extra[3 * BATCHES / 4],
           through[0] - beside[0]);
}

int main(int argc, char **argv)
{
    int ranks = 0, rank = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (ranks > 1) { /* its messages go to itself */
        if (rank == 0) {
            fprintf(stderr, "drop-in-overhead: %d ranks; accepted: 1\n", ranks);
        }
        MPI_Finalize();
        return 2;
    }
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Recv_init(arrived, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &persistent[0]);
    MPI_Send_init(buffer, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &persistent[1]);
    printf("1 rank%s, us a call, medians of %d batches of %d calls\n",
           getenv("THINWIRE_RECORD") != NULL ? ", recorded" : "", BATCHES, CALLS);
    printf("%-33s %8s %8s %8s (quartiles)      %8s\n", "", "PMPI_", "MPI_", "more", "of least");
    measure("Allreduce, 1 float", allreduce, allreduce_native);
    measure("Sendrecv, 1 double", sendrecv, sendrecv_native);
    measure("Sendrecv, a vector of 4 doubles", derived, derived_native);
    measure("Irecv, Isend, Waitall, 8 doubles", isend, isend_native);
    measure("Startall, Waitall, 8 doubles", start, start_native);
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);
    MPI_Type_free(&pairs);
    MPI_Finalize();
    return 0;
}
