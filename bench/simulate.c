/* SPDX-License-Identifier: BSD-3-Clause
 * bench/simulate.c - the library's allreduce in two passes and through the grid on simulated hosts:
 * run by simulate.sh under SimGrid's smpirun, which lets the ranks really call each other and gives
 * every message the time that the simulated network takes. Computation takes no time.
 *
 * usage: simulate BYTES... (of float32, encoded as fp32; at most 64 KiB for each row of the grid,
 * so that a vector travels in one round)
 *
 * A test of messages would cost simulated time of its own each time that it is called. So it waits
 * instead, which with one round is the same schedule.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <thinwire/thinwire.h>

#include "runtime/transport/comm/comm.h"

static int wait_all(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    *flag = 1;
    return MPI_Waitall(count, requests, statuses);
}

/* Seconds per call, of the slowest rank; messages of the first rank per call. */
static double measure(tw_comm_t *comm, size_t count, tw_algorithm_t algorithm, unsigned *messages)
{
    enum { CALLS = 2 };
    const tw_how_t how = {.algorithm = algorithm};
    float         *x = calloc(count, sizeof(float)), *y = calloc(count, sizeof(float));
    double         start = 0.0, mine, slowest = 0.0;
    tw_stats_t     stats;

    for (int call = 0; call <= CALLS; call++) {
        if (call == 1) { /* the first lines the ranks up and reserves memory */
            tw_comm_stats_reset(comm);
            start = MPI_Wtime();
        }
        if (x == NULL || y == NULL || tw_allreduce(comm, x, y, count, TW_SUM, &how) != TW_OK) {
            fprintf(stderr, "simulate: an allreduce failed\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    mine = (MPI_Wtime() - start) / CALLS;
    tw_comm_stats(comm, &stats);
    *messages = (unsigned)(stats.messages_sent / CALLS);
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    free(x);
    free(y);
    return slowest;
}

/* What THINWIRE_ALLREDUCE=auto takes. */
static const char *choice(tw_comm_t *comm, size_t count)
{
    static float  nothing;
    tw_request_t *plan = NULL;
    const char   *name = "none";

    if (tw_allreduce_init(comm, &nothing, &nothing, count, TW_SUM, NULL, &plan) == TW_OK) {
        name = tw_request_algorithm(plan);
        tw_request_free(&plan);
    }
    return name;
}

int main(int argc, char **argv)
{
    tw_mpi_ops_t  ops  = tw_mpi_default;
    tw_context_t *ctx  = NULL;
    tw_comm_t    *comm = NULL;

    MPI_Init(&argc, &argv);
    ops.Testall = wait_all;
    if (tw_context_create(&ctx) != TW_OK ||
        tw_comm_create_with(ctx, &ops, MPI_COMM_WORLD, &comm) != TW_OK) {
        fprintf(stderr, "simulate: no communicator\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 1; i < argc; i++) {
        const size_t count = (size_t)strtoull(argv[i], NULL, 10) / sizeof(float);
        unsigned     passes_messages, grid_messages;
        const double passes = measure(comm, count, TW_ALGORITHM_TWO_PASS, &passes_messages);
        const double grid   = measure(comm, count, TW_ALGORITHM_GRID, &grid_messages);
        const char  *name   = choice(comm, count);

        if (tw_comm_rank(comm) == 0) {
            printf("| %d | %zu | %u | %.0f | %u | %.0f | %.2f | %s |\n", tw_comm_size(comm),
                   count * sizeof(float), passes_messages, passes * 1e6, grid_messages, grid * 1e6,
                   passes / grid, name);
            fflush(stdout);
        }
    }
    tw_comm_destroy(comm);
    tw_context_destroy(ctx);
    MPI_Finalize();
    return 0;
}
