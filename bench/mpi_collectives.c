/* SPDX-License-Identifier: BSD-3-Clause
 * bench/mpi_collectives.c - how long MPI's own collectives take, nothing else:
 * netlab-collectives.sh searches the settings of Open MPI with it.
 *
 *     mpirun ... bin/mpi-collectives allreduce|bcast|alltoall REPETITIONS BYTES...
 *
 * BYTES of float32 of the vector, of alltoall of the block for one rank. Prints "BYTES SECONDS" for
 * each: the median over the repetitions (after one that does not count) of the slowest rank.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "tools/measure.h"

#define REPETITIONS_MAX 100

static void run(const char *operation, const float *send, float *recv, int count)
{
    if (operation[0] == 'b') {
        MPI_Bcast(recv, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    } else if (strcmp(operation, "allreduce") == 0) {
        MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else {
        MPI_Alltoall(send, count, MPI_FLOAT, recv, count, MPI_FLOAT, MPI_COMM_WORLD);
    }
}

static double median(const char *operation, int repetitions, const float *send, float *recv,
                     int count)
{
    double seconds[REPETITIONS_MAX];

    for (int r = -1; r < repetitions; r++) {
        double mine;

        MPI_Barrier(MPI_COMM_WORLD);
        mine = MPI_Wtime();
        run(operation, send, recv, count);
        mine = MPI_Wtime() - mine;
        MPI_Allreduce(&mine, &seconds[r < 0 ? 0 : r], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    return measure_median(seconds, (size_t)repetitions);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int a = 3; a < argc; a++) {
        const int    repetitions = atoi(argv[2]);
        const size_t count       = strtoul(argv[a], NULL, 10) / sizeof(float),
                     values      = count * (size_t)size;
        float *send = malloc(values * sizeof(float)), *recv = malloc(values * sizeof(float));
        double seconds;

        if (repetitions < 1 || repetitions > REPETITIONS_MAX || count == 0 || send == NULL ||
            recv == NULL) {
            fprintf(stderr,
                    "mpi-collectives: %s %s: accepted: 1 to %d repetitions, sizes that memory can "
                    "hold\n",
                    argv[2], argv[a], REPETITIONS_MAX);
            MPI_Abort(MPI_COMM_WORLD, 2);
            return 2;
        }
        for (size_t i = 0; i < values; i++) {
            send[i] = recv[i] = 1.0F / (float)(i + 1);
        }
        seconds = median(argv[1], repetitions, send, recv, (int)count);
        if (rank == 0) {
            printf("%s %.9g\n", argv[a], seconds);
        }
        free(recv);
        free(send);
    }
    MPI_Finalize();
    return 0;
}
