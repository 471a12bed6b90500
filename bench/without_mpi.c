/* SPDX-License-Identifier: BSD-3-Clause
 * bench/without_mpi.c - time of collectives of float32, by libthinwire over MPI or, compiled with
 * THINWIRE_NO_MPI, by libthinwire-store: see without-mpi.sh.
 *
 *     without-mpi OPERATION BYTES REPEATS [CODEC | mpi]
 *
 * BYTES of the vector; of alltoall, of the block for one rank. "mpi" is that algorithm. Rank 0
 * prints the median of the slowest rank's milliseconds. Without MPI the processes have RANK,
 * WORLD_SIZE and TW_STORE, a folder in which they meet.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/thinwire.h>

#include "runtime/base/clock.h"
#ifdef THINWIRE_NO_MPI
#include "tests/store/folder.h"
#endif

static void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        fprintf(stderr, "without-mpi: %s: %s\n", what, tw_status_text(status));
        exit(1);
    }
}

static tw_comm_t *begin(tw_context_t *ctx)
{
    tw_comm_t *comm = NULL;

#ifdef THINWIRE_NO_MPI
    const tw_store_t store = t_folder(getenv("TW_STORE"));

    must(tw_comm_create_store(ctx, atoi(getenv("RANK")), atoi(getenv("WORLD_SIZE")), &store,
                              "without-mpi", NULL, &comm),
         "communicator");
#else
    MPI_Init(NULL, NULL);
    must(tw_comm_create(ctx, MPI_COMM_WORLD, &comm), "communicator");
#endif
    return comm;
}

static double run(tw_comm_t *comm, const char *operation, float *x, float *y, size_t n,
                  const tw_how_t *how)
{
    float    mine = 0.0f, all = 0.0f;
    uint64_t start;

    must(tw_allreduce(comm, &x[0], &y[0], 1, TW_SUM, NULL), "meeting");
    start = tw_clock_ns();
    must(strcmp(operation, "bcast") == 0      ? tw_bcast(comm, x, n, 0, how)
         : strcmp(operation, "alltoall") == 0 ? tw_alltoall(comm, x, y, n, how)
                                              : tw_allreduce(comm, x, y, n, TW_SUM, how),
         operation);
    mine = (float)(tw_clock_ns() - start) * 1e-6f;
    must(tw_allreduce(comm, &mine, &all, 1, TW_MAX, NULL), "slowest");
    return (double)all;
}

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const size_t  n       = argc > 3 ? strtoul(argv[2], NULL, 10) / sizeof(float) : 0;
    const int     repeats = argc > 3 ? atoi(argv[3]) : 0;
    tw_context_t *ctx     = NULL;
    tw_codec_t   *codec   = NULL;
    tw_how_t      how     = {0};
    double       *times   = calloc((size_t)repeats + 1, sizeof(*times));
    tw_comm_t    *comm;
    float        *x, *y;

    if (n == 0 || repeats < 1) {
        fprintf(stderr, "usage: without-mpi allreduce|bcast|alltoall BYTES REPEATS [CODEC]\n");
        return 2;
    }
    must(tw_context_create(&ctx), "context");
    comm = begin(ctx);
    if (argc > 4 && strcmp(argv[4], "mpi") == 0) {
        how.algorithm = TW_ALGORITHM_MPI;
    } else if (argc > 4) {
        must(tw_codec_create(ctx, argv[4], TW_F32, &codec, NULL, 0), argv[4]);
        how.codec = codec;
    }
    x = calloc(n * (size_t)tw_comm_size(comm), sizeof(*x));
    y = calloc(n * (size_t)tw_comm_size(comm), sizeof(*y));
    for (int i = 0; i <= repeats; i++) { /* the first opens connections */
        times[i > 0 ? i - 1 : 0] = run(comm, argv[1], x, y, n, &how);
    }
    qsort(times, (size_t)repeats, sizeof(*times), by_time);
    if (tw_comm_rank(comm) == 0) {
        printf("%-9s %zu bytes, %d ranks: %.2f ms (%.2f to %.2f)\n", argv[1], n * sizeof(float),
               tw_comm_size(comm), times[repeats / 2], times[0], times[repeats - 1]);
    }
    must(tw_comm_destroy(comm), "end");
    tw_codec_destroy(codec);
    tw_context_destroy(ctx);
#ifndef THINWIRE_NO_MPI
    MPI_Finalize();
#endif
    return 0;
}
