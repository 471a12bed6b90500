/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/drop_in.c - an MPI program with its vectors in device memory, under the drop-in: what
 * each call gives there is what the same call gives in host memory, bit by bit. By an MPI that
 * takes no device memory it would crash, so whatever arrives has been through the drop-in. TAP;
 * exit status 77: there is no device.
 */
#include "config.h"

#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 100003, MOST = 8 };

static int    rank, size, tests, failures;
static float *on[2], *off[2],
    *back; /* two vectors on the device, two in the host; [MOST][COUNT] each */

static void must(cudaError_t error)
{
    if (error != cudaSuccess) {
        printf("Bail out! rank %d: %s\n", rank, cudaGetErrorString(error));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void copy(void *to, const void *from)
{
    must(cudaMemcpy(to, from, sizeof(float) * MOST * COUNT, cudaMemcpyDefault));
}

/* ---- calls ---- */

static void allreduce(float *send, float *recv)
{
    MPI_Allreduce(send, recv, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void allreduce_in_place(float *send, float *recv)
{
    (void)send;
    MPI_Allreduce(MPI_IN_PLACE, recv, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void bcast(float *send, float *recv)
{
    (void)send;
    MPI_Bcast(recv, COUNT, MPI_FLOAT, size - 1, MPI_COMM_WORLD);
}

static void allgather(float *send, float *recv)
{
    MPI_Allgather(send, COUNT, MPI_FLOAT, recv, COUNT, MPI_FLOAT, MPI_COMM_WORLD);
}

static void alltoall(float *send, float *recv)
{
    MPI_Alltoall(send, COUNT / MOST, MPI_FLOAT, recv, COUNT / MOST, MPI_FLOAT, MPI_COMM_WORLD);
}

static void nonblocking(float *send, float *recv)
{
    MPI_Request request;

    MPI_Iallgather(send, COUNT, MPI_FLOAT, recv, COUNT, MPI_FLOAT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*call)(float *send, float *recv);
} calls[] = {{"MPI_Allreduce", allreduce}, {"MPI_Allreduce in place", allreduce_in_place},
             {"MPI_Bcast", bcast},         {"MPI_Allgather", allgather},
             {"MPI_Alltoall", alltoall},   {"MPI_Iallgather", nonblocking}};

/* Is it the same in both memories, and, by a codec that loses something, not what it began with? */
static void check(size_t i)
{
    int same, all = 0;

    for (size_t k = 0; k < (size_t)MOST * COUNT; k++) {
        off[0][k] = (float)((k + 77 * (size_t)rank) * 2654435761u % 100019) / 50000.0f - 1.0f;
        off[1][k] = -off[0][k];
    }
    copy(on[0], off[0]);
    copy(on[1], off[1]);
    calls[i].call(on[0], on[1]);
    calls[i].call(off[0], off[1]);
    copy(back, on[1]);
    same = memcmp(back, off[1], sizeof(float) * MOST * COUNT) == 0;
    copy(back, on[0]);
    same = same && memcmp(back, off[0], sizeof(float) * MOST * COUNT) == 0;
    MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    tests++;
    failures += !all;
    if (rank == 0) {
        printf("%sok %d - %d ranks, drop-in: %s\n", all ? "" : "not ", tests, size, calls[i].name);
    }
}

int main(int argc, char **argv)
{
    int devices = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 || size > MOST) {
        if (rank == 0) {
            printf("skipped: no CUDA device\n");
        }
        MPI_Finalize();
        return 77;
    }
    back = malloc(sizeof(float) * MOST * COUNT);
    for (int k = 0; k < 2; k++) {
        must(cudaMalloc((void **)&on[k], sizeof(float) * MOST * COUNT));
        off[k] = malloc(sizeof(float) * MOST * COUNT);
    }
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        check(i);
    }
    for (int k = 0; k < 2; k++) {
        must(cudaFree(on[k]));
        free(off[k]);
    }
    free(back);
    if (rank == 0) {
        printf("1..%d\n", tests);
    }
    MPI_Finalize();
    return failures > 0;
}
