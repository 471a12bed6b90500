/* SPDX-License-Identifier: BSD-3-Clause
 * bench/lorenz96.c - lorenz96 [STEPS [VALUES]]: a field that varies slowly, for the drop-in: every
 * rank integrates a member of an ensemble of Lorenz's model of 1996 (F = 8, Runge-Kutta of order 4,
 * time step 0.01), of VALUES doubles; each step sums the members, and gathers a part of each, on
 * all ranks.
 *
 *     mpirun -n 4 thinwire run --max-abs-error 1e-4 --double --verify 16 -- build/bin/lorenz96
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#define FORCING 8.0
#define STEP    0.01

static void slope(const double *x, size_t n, double *dx)
{
    for (size_t i = 0; i < n; i++) {
        dx[i] = (x[(i + 1) % n] - x[(i + n - 2) % n]) * x[(i + n - 1) % n] - x[i] + FORCING;
    }
}

/* x += h times the mean of four slopes; room for 3 n values. */
static void advance(double *x, size_t n, double *room)
{
    static const double at[] = {0.5, 0.5, 1.0, 0.0}, weight[] = {1.0, 2.0, 2.0, 1.0};
    double             *y = room, *k = room + n, *sum = room + 2 * n;

    for (size_t i = 0; i < n; i++) {
        y[i]   = x[i];
        sum[i] = 0.0;
    }
    for (int stage = 0; stage < 4; stage++) {
        slope(y, n, k);
        for (size_t i = 0; i < n; i++) {
            sum[i] += weight[stage] * k[i];
            y[i] = x[i] + STEP * at[stage] * k[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        x[i] += STEP / 6.0 * sum[i];
    }
}

int main(int argc, char **argv)
{
    const int    steps = argc > 1 ? atoi(argv[1]) : 2000;
    const size_t n     = argc > 2 ? (size_t)atol(argv[2]) : 65536;
    double      *x = calloc(6 * n, sizeof(*x)), *sum = x + n, *all = x + 2 * n, *room = x + 3 * n;
    int          rank, size, part;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    part = (int)(n / (size_t)size);
    for (size_t i = 0; x != NULL && i < n; i++) {
        x[i] = FORCING + 1e-2 * (double)((i * 7919 + (size_t)rank * 104729) % 1000) / 1000.0;
    }
    for (int step = 0; x != NULL && step < steps; step++) {
        advance(x, n, room);
        MPI_Allreduce(x, sum, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allgather(x, part, MPI_DOUBLE, all, part, MPI_DOUBLE, MPI_COMM_WORLD);
    }
    if (rank == 0 && x != NULL) {
        printf("%d steps of %zu values: mean of the first %.6f, of rank %d %.6f\n", steps, n,
               sum[0] / size, size - 1, all[(size_t)part * (size_t)(size - 1)]);
    }
    MPI_Finalize();
    if (x == NULL) {
        return 1;
    }
    free(x);
    return 0;
}
