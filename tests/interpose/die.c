/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/die.c - a job that ends in the way that the argument names; die.sh looks at how.
 * Unless another is named, it is the last rank that does something.
 *
 *     well         nothing happens: the job ends well
 *     none         there is not even a collective
 *     before       it leaves before a collective that the others are in
 *     middle       it leaves in the middle of one
 *     killed       it is killed in the middle of one
 *     finalize     it leaves while the others are in MPI_Finalize
 *     abort        it calls MPI_Abort with code 5 while the others are in a collective
 *     abort-end    it calls MPI_Abort while the others are in MPI_Finalize
 *     late         it comes to MPI_Finalize seven seconds after the others; the job ends well
 *     pending      all ranks finish with a request that was never completed, of a done collective
 *     no-finalize  all ranks end with exit(0), without MPI_Finalize
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#define COUNT 1000000

static float x[COUNT], y[COUNT];

static void add_up(int times)
{
    for (int i = 0; i < times; i++) {
        MPI_Allreduce(x, y, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Begins a large sum, helps it along a little, and is gone. */
static void leave_in_the_middle(const char *way)
{
    MPI_Request request;
    int         done = 0;

    MPI_Iallreduce(x, y, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 3 && !done; i++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    if (strcmp(way, "killed") == 0) {
        raise(SIGKILL);
    }
    _exit(3);
}

static void do_it(const char *way)
{
    if (strcmp(way, "before") == 0) {
        usleep(200000); /* the others are waiting by now */
        _exit(3);
    } else if (strcmp(way, "middle") == 0 || strcmp(way, "killed") == 0) {
        leave_in_the_middle(way);
    } else if (strcmp(way, "abort") == 0) {
        usleep(200000);
        MPI_Abort(MPI_COMM_WORLD, 5);
    } else if (strcmp(way, "finalize") == 0) {
        usleep(500000);
        _exit(3);
    } else if (strcmp(way, "abort-end") == 0) {
        usleep(500000);
        MPI_Abort(MPI_COMM_WORLD, 5);
    } else if (strcmp(way, "late") == 0) {
        sleep(7);
    }
}

int main(int argc, char **argv)
{
    const char *way   = argc > 1 ? argv[1] : "";
    const int   alone = strcmp(way, "before") == 0 || strcmp(way, "middle") == 0 ||
                      strcmp(way, "killed") == 0 || strcmp(way, "abort") == 0;
    MPI_Request request;
    int         rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)(rank + i % 7);
    }
    add_up(strcmp(way, "none") == 0 ? 0 : 2);
    if (strcmp(way, "pending") == 0) {
        MPI_Ibcast(x, COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(way, "no-finalize") == 0) {
        exit(0);
    } else if (rank == size - 1) {
        do_it(way);
    } else if (alone) {
        add_up(1000000);
    }
    MPI_Finalize();
    if (rank == 0) {
        printf("the end\n");
    }
    return 0;
}
