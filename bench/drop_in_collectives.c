/* SPDX-License-Identifier: BSD-3-Clause
 * bench/drop_in_collectives.c - from which size on does the drop-in pay?
 *
 * Run it under `thinwire run --codec SPEC --threshold 1`: MPI_ functions then go through the
 * drop-in, PMPI_ ones do not. Both alternate in one run, on normal random numbers; medians over the
 * repetitions of the slowest rank's time. Arguments: [LARGEST_BYTES [REPETITIONS]].
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "tools/measure.h"

enum { MOST_REPETITIONS = 101 };

typedef struct bench {
    float *in, *out;
    int    count, ranks;
} bench_t;

static const char *const operations[] = {"allreduce", "bcast", "allgather", "alltoall"};

/* By PMPI_, which is MPI itself, or by MPI_. */
static void call(int operation, int native, const bench_t *b)
{
    const int n = b->count / b->ranks;

    switch (operation) {
    case 0:
        (native ? PMPI_Allreduce : MPI_Allreduce)(b->in, b->out, b->count, MPI_FLOAT, MPI_SUM,
                                                  MPI_COMM_WORLD);
        break;
    case 1:
        (native ? PMPI_Bcast : MPI_Bcast)(b->in, b->count, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
    case 2:
        (native ? PMPI_Allgather : MPI_Allgather)(b->in, n, MPI_FLOAT, b->out, n, MPI_FLOAT,
                                                  MPI_COMM_WORLD);
        break;
    default:
        (native ? PMPI_Alltoall : MPI_Alltoall)(b->in, n, MPI_FLOAT, b->out, n, MPI_FLOAT,
                                                MPI_COMM_WORLD);
    }
}

/* Time of the slowest rank, on all of them. */
static double once(int operation, int native, const bench_t *b)
{
    double start, mine, slowest = 0.0;

    PMPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    call(operation, native, b);
    mine = MPI_Wtime() - start;
    PMPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
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
    data_normal(b.in, largest / sizeof(float), (uint64_t)rank + 1, 1.0);
    if (rank == 0) {
        printf("%d ranks, medians of %d alternating calls, milliseconds\n", b.ranks, repetitions);
        printf("%-10s %10s %12s %12s %8s\n", "operation", "bytes", "native", "drop-in", "ratio");
    }
    for (int op = 0; op < (int)(sizeof(operations) / sizeof(operations[0])); op++) {
        for (size_t bytes = 1024; bytes <= largest; bytes *= 2) {
            b.count = (int)(bytes / sizeof(float));
            once(op, 1, &b);
            once(op, 0, &b);
            for (int i = 0; i < repetitions; i++) {
                native[i]  = once(op, 1, &b);
                through[i] = once(op, 0, &b);
            }
            if (rank == 0) {
                const double other = measure_median(native, (size_t)repetitions),
                             ours  = measure_median(through, (size_t)repetitions);

                printf("%-10s %10zu %12.3f %12.3f %8.2f\n", operations[op], bytes, 1e3 * other,
                       1e3 * ours, ours / other);
                fflush(stdout);
            }
        }
    }
    free(b.in);
    free(b.out);
    MPI_Finalize();
    return 0;
}
