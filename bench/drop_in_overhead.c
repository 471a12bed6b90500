/* SPDX-License-Identifier: BSD-3-Clause
 * bench/drop_in_overhead.c - what the drop-in costs a small MPI_Allreduce that it only watches.
 *
 * Run it on 1 rank under `thinwire run`: MPI_Allreduce then goes through the drop-in,
 * PMPI_Allreduce does not. Batches of both alternate; medians of the time per call. The drop-in
 * promises at most 0.3 us more; with --record, at most another 0.3 us.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "tools/measure.h"

enum { BATCHES = 201, CALLS = 2000 };

static double batch_us(int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm))
{
    float        in = 1.0f, out = 0.0f;
    const double start = MPI_Wtime();

    for (int i = 0; i < CALLS; i++) {
        allreduce(&in, &out, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    return (MPI_Wtime() - start) * 1e6 / CALLS;
}

int main(int argc, char **argv)
{
    static double wrapped[BATCHES], native[BATCHES], extra[BATCHES];
    double        difference;
    int           ranks = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    batch_us(MPI_Allreduce);
    batch_us(PMPI_Allreduce);
    for (int b = 0; b < BATCHES; b++) {
        native[b]  = batch_us(PMPI_Allreduce);
        wrapped[b] = batch_us(MPI_Allreduce);
        extra[b]   = wrapped[b] - native[b];
    }
    difference = measure_median(extra, BATCHES); /* sorts them */
    printf("MPI_Allreduce of 1 float, %d rank%s%s, medians of %d batches of %d calls\n", ranks,
           ranks == 1 ? "" : "s", getenv("THINWIRE_RECORD") != NULL ? ", recorded" : "", BATCHES,
           CALLS);
    printf("PMPI_Allreduce  %7.3f us\nMPI_Allreduce   %7.3f us\ndifference      %7.3f us "
           "(quartiles %.3f to %.3f)\n",
           measure_median(native, BATCHES), measure_median(wrapped, BATCHES), difference,
           extra[BATCHES / 4], extra[3 * BATCHES / 4]);
    MPI_Finalize();
    return 0;
}
