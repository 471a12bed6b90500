/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/device.c - calls with buffers in "device memory": a driver that is none
 * (device_driver.c) says of one buffer that it is. Those must reach MPI as they are, so their
 * results are exact; calls with other buffers are compressed, so theirs are not.
 *
 *     device FILE     the driver
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#define COUNT 5000

static float plain[2][COUNT], device[2][8 * COUNT];
static int   rank, size, wrong;

/* Sums of a few of them are exact, and a codec of 8 bits does not keep them. */
static float value(int i)
{
    return 1.0f + (float)(i % COUNT % 97) / 1024.0f;
}

/* Are the values what MPI would give, all of them? */
static int exact(const float *got, int times)
{
    for (int i = 0; i < COUNT; i++) {
        if (got[i] != value(i) * (float)times) {
            return 0;
        }
    }
    return 1;
}

static void check(const char *what, int got, int want)
{
    if (got != want) {
        printf("rank %d: %s is %s\n", rank, what, got ? "exact" : "not exact");
        wrong++;
    }
}

static void fill(float *values, int n)
{
    for (int i = 0; i < n; i++) {
        values[i] = value(i);
    }
}

/* Rank 0 sends nothing and has no share: its device memory does not count. */
static void idle(void)
{
    int counts[2][8], at[8] = {0};

    for (int r = 0; r < size; r++) {
        counts[0][r] = rank == 1 && r == 0 ? COUNT : 0;
        counts[1][r] = rank == 0 && r == 1 ? COUNT : 0;
    }
    MPI_Alltoallv(rank == 0 ? device[0] : plain[0], counts[0], at, MPI_FLOAT, plain[1], counts[1],
                  at, MPI_FLOAT, MPI_COMM_WORLD);
    check("Alltoallv of host memory, device memory where nothing is sent",
          rank == 0 && exact(plain[1], 1), 0);
    for (int r = 0; r < size; r++) {
        counts[0][r] = r == 1 ? COUNT : 0;
    }
    MPI_Reduce_scatter(plain[0], rank == 0 ? device[1] : plain[1], counts[0], MPI_FLOAT, MPI_SUM,
                       MPI_COMM_WORLD);
    check("Reduce_scatter of host memory, device memory without a share",
          rank == 1 && exact(plain[1], size), 0);
    for (int r = 0; r < size; r++) {
        at[r] = 0;
    }
    MPI_Allgatherv(rank == 0 ? device[0] : plain[0], counts[0][rank], MPI_FLOAT, plain[1],
                   counts[0], at, MPI_FLOAT, MPI_COMM_WORLD);
    check("Allgatherv of host memory, device memory where nothing is sent", exact(plain[1], 1), 0);
}

/* Pairs of floats, COUNT / 10 of them from each rank to each: exact where they stay as they are. */
static void pieces(void)
{
    MPI_Datatype pair;
    int          counts[8], at[8];

    MPI_Type_contiguous(2, MPI_FLOAT, &pair);
    MPI_Type_commit(&pair);
    for (int r = 0; r < size; r++) {
        counts[r] = COUNT / 10;
        at[r]     = 0;
    }
    memset(device[1], 0, sizeof(device[1]));
    MPI_Alltoallv(device[0], counts, at, pair, device[1], counts, at, pair, MPI_COMM_WORLD);
    for (int i = COUNT / 5; i < COUNT; i++) {
        device[1][i] = value(i);
    }
    check("Alltoallv of device memory", exact(device[1], 1), 1);
    MPI_Type_free(&pair);
}

static void calls(void)
{
    const int one = 1, sum = size;

    fill(plain[0], COUNT);
    fill(device[0], 8 * COUNT);
    MPI_Allreduce(plain[0], plain[1], COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check("Allreduce of host memory", exact(plain[1], sum), 0);
    MPI_Allreduce(device[0], device[1], COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check("Allreduce of device memory", exact(device[1], sum), 1);
    MPI_Reduce(device[0], device[1], COUNT, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    check("Reduce of device memory", rank != 0 || exact(device[1], sum), 1);
    MPI_Reduce(plain[0], rank == 0 ? plain[1] : device[1], COUNT, MPI_FLOAT, MPI_SUM, 0,
               MPI_COMM_WORLD);
    check("Reduce of host memory, device memory where nothing is received",
          rank == 0 && exact(plain[1], sum), 0);
    idle();
    MPI_Reduce_scatter_block(device[0], device[1], COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check("Reduce_scatter_block of device memory", exact(device[1], sum), 1);
    memset(device[1], 0, sizeof(device[1]));
    MPI_Allgather(device[0], COUNT, MPI_FLOAT, device[1], COUNT, MPI_FLOAT, MPI_COMM_WORLD);
    check("Allgather of device memory", exact(device[1] + (size - 1) * COUNT, one), 1);
    memset(device[1], 0, sizeof(device[1]));
    MPI_Alltoall(device[0], COUNT, MPI_FLOAT, device[1], COUNT, MPI_FLOAT, MPI_COMM_WORLD);
    check("Alltoall of device memory", exact(device[1], one), 1);
    pieces();
    MPI_Bcast(device[0], COUNT, MPI_FLOAT, 0, MPI_COMM_WORLD);
    check("Bcast of device memory", exact(device[0], one), 1);
}

int main(int argc, char **argv)
{
    void *driver, *symbol;
    int   all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    driver = dlopen(argv[argc - 1], RTLD_NOW);
    symbol = driver != NULL ? dlsym(driver, "device_memory") : NULL;
    if (symbol == NULL || size > 8) {
        printf("no driver %s\n", argv[argc - 1]);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    ((void **)symbol)[0] = device;
    ((void **)symbol)[1] = (char *)device + sizeof(device);
    calls();
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
