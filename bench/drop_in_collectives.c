/* SPDX-License-Identifier: BSD-3-Clause
 * bench/drop_in_collectives.c - from which size on does the drop-in pay?
 *
 * Run it under `thinwire run --codec SPEC --threshold 1`: MPI_ functions then go through the
 * drop-in, PMPI_ ones do not. Both alternate in one run, on normal random numbers; medians over the
 * repetitions of the slowest rank's time. Arguments: [LARGEST_BYTES [REPETITIONS]].
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

enum { MOST_REPETITIONS = 101 };

typedef struct bench {
    float *in, *out;
    int    count, ranks;
} bench_t;

typedef int (*bench_call_t)(const bench_t *b);

static int allreduce_mpi(const bench_t *b)
{
    return MPI_Allreduce(b->in, b->out, b->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static int allreduce_pmpi(const bench_t *b)
{
    return PMPI_Allreduce(b->in, b->out, b->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
static int bcast_mpi(const bench_t *b)
{
    return MPI_Bcast(b->in, b->count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}
static int bcast_pmpi(const bench_t *b)
{
    return PMPI_Bcast(b->in, b->count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}
static int alltoall_mpi(const bench_t *b)
{
    const int n = b->count / b->ranks;

    return MPI_Alltoall(b->in, n, MPI_FLOAT, b->out, n, MPI_FLOAT, MPI_COMM_WORLD);
}
static int alltoall_pmpi(const bench_t *b)
{
    const int n = b->count / b->ranks;

    return PMPI_Alltoall(b->in, n, MPI_FLOAT, b->out, n, MPI_FLOAT, MPI_COMM_WORLD);
}
static int allgather_mpi(const bench_t *b)
{
    const int n = b->count / b->ranks;

    return MPI_Allgather(b->in, n, MPI_FLOAT, b->out, n, MPI_FLOAT, MPI_COMM_WORLD);
}
static int allgather_pmpi(const bench_t *b)
{
    const int n = b->count / b->ranks;

    return PMPI_Allgather(b->in, n, MPI_FLOAT, b->out, n, MPI_FLOAT, MPI_COMM_WORLD);
}

static const struct {
    const char  *name;
    bench_call_t through, native;
} operations[] = {{"allreduce", allreduce_mpi, allreduce_pmpi},
                  {"bcast", bcast_mpi, bcast_pmpi},
                  {"allgather", allgather_mpi, allgather_pmpi},
                  {"alltoall", alltoall_mpi, alltoall_pmpi}};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Time of the slowest rank, on all of them. */
static double once(bench_call_t call, const bench_t *b)
{
    double start, mine, slowest = 0.0;

    PMPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    call(b);
    mine = MPI_Wtime() - start;
    PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void fill(float *values, size_t n, int rank)
{
    unsigned long long state = 0x9e3779b97f4a7c15ull * (unsigned long long)(rank + 1);

    for (size_t i = 0; i < n; i++) {
        double u[2];

        for (int k = 0; k < 2; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u[k] = ((double)(state >> 11) + 0.5) / 9007199254740992.0;
        }
        values[i] = (float)(sqrt(-2.0 * log(u[0])) * cos(6.283185307179586 * u[1]));
    }
}

int main(int argc, char **argv)
{
    const size_t  largest     = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : (size_t)4 << 20;
    int           repetitions = argc > 2 ? atoi(argv[2]) : 21;
    static double native[MOST_REPETITIONS], through[MOST_REPETITIONS];
    bench_t       b;
    int           rank = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
    repetitions = repetitions < 1                  ? 1
                  : repetitions > MOST_REPETITIONS ? MOST_REPETITIONS
                                                   : repetitions;
    b.in        = malloc(largest);
    b.out       = malloc(largest);
    if (b.in == NULL || b.out == NULL || largest < 4096) {
        fprintf(stderr,
                "usage: drop-in-collectives [LARGEST_BYTES (4096 or more) [REPETITIONS]]\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    fill(b.in, largest / sizeof(float), rank);
    if (rank == 0) {
        printf("%d ranks, medians of %d alternating calls, milliseconds\n", b.ranks, repetitions);
        printf("%-10s %10s %12s %12s %8s\n", "operation", "bytes", "native", "drop-in", "ratio");
    }
    for (size_t op = 0; op < sizeof(operations) / sizeof(operations[0]); op++) {
        for (size_t bytes = 1024; bytes <= largest; bytes *= 2) {
            b.count = (int)(bytes / sizeof(float));
            once(operations[op].native, &b);
            once(operations[op].through, &b);
            for (int i = 0; i < repetitions; i++) {
                native[i]  = once(operations[op].native, &b);
                through[i] = once(operations[op].through, &b);
            }
            qsort(native, (size_t)repetitions, sizeof(native[0]), compare);
            qsort(through, (size_t)repetitions, sizeof(through[0]), compare);
            if (rank == 0) {
                printf("%-10s %10zu %12.3f %12.3f %8.2f\n", operations[op].name, bytes,
                       1e3 * native[repetitions / 2], 1e3 * through[repetitions / 2],
                       through[repetitions / 2] / native[repetitions / 2]);
                fflush(stdout);
            }
        }
    }
    free(b.in);
    free(b.out);
    MPI_Finalize();
    return 0;
}
