/* SPDX-License-Identifier: BSD-3-Clause
 * global_statistics.c - batch normalisation over the examples of all ranks.
 *
 *     mpicc -o global_statistics global_statistics.c $(pkg-config --cflags --libs thinwire) -lm
 *     mpirun -n 4 ./global_statistics
 *
 * Ranks have few examples each, and not equally many. Their moments are merged exactly, and the two
 * sums of the backward pass added up. The gradients of a rank's examples and the running statistics
 * are compared with those of one rank that has all examples.
 */
#include <math.h>
#include <stdio.h>

#include <thinwire/thinwire.h>

enum { N = 21, C = 5, NUMBERS = 1 + 2 * C }; /* examples of all ranks, channels */
static float x[N][C], dy[N][C];              /* what the layer gets, forward and back */

typedef struct result {
    float dx[N][C], running[2 * C]; /* means, then variances */
} result_t;

static void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        fprintf(stderr, "%s: %s\n", what, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void normalise(tw_context_t *ctx, MPI_Comm mpi, result_t *result)
{
    const tw_statistics_config_t config           = {.channels = C, .states = 2 * C};
    const size_t                 channels         = C;
    double                       moments[NUMBERS] = {0}, sums[2 * C] = {0}, mean[C], scale[C];
    tw_comm_t                   *comm;
    tw_statistics_t             *statistics;

    must(tw_comm_create(ctx, mpi, &comm), "communicator");
    must(tw_statistics_create(comm, &config, &statistics), "statistics");
    /* This rank has the examples from .. to - 1; rank 0 has a double share. */
    const int rank = tw_comm_rank(comm), shares = tw_comm_size(comm) + 1;
    const int from = rank == 0 ? 0 : (rank + 1) * N / shares, to = (rank + 2) * N / shares;
    for (int i = from; i < to; i++) { /* count, means, squared distances from them */
        double one[NUMBERS] = {1};
        for (int c = 0; c < C; c++) {
            one[1 + c] = x[i][c];
        }
        tw_moments_merge(moments, one, C);
    }
    must(tw_statistics_moments(statistics, (double *[]){moments}, &channels, 1), "moments");
    for (int c = 0; c < C; c++) {
        mean[c]  = moments[1 + c];
        scale[c] = 1 / sqrt(moments[1 + C + c] / moments[0] + 1e-5);
        result->running[c] += 0.1f * (float)mean[c];
        result->running[C + c] += 0.1f * (float)(moments[1 + C + c] / moments[0]);
    }
    for (int i = from; i < to; i++) {
        for (int c = 0; c < C; c++) {
            sums[c] += dy[i][c];
            sums[C + c] += dy[i][c] * (x[i][c] - mean[c]) * scale[c];
        }
    }
    must(tw_statistics_sums(statistics, (double *[]){sums}, &channels, 1), "sums");
    for (int i = from; i < to; i++) {
        for (int c = 0; c < C; c++) {
            const double xhat = (x[i][c] - mean[c]) * scale[c];
            result->dx[i][c]  = (float)(scale[c] * (dy[i][c] - (sums[c] + xhat * sums[C + c]) / N));
        }
    }
    must(tw_statistics_running(statistics, result->running, &channels, 1), "running statistics");
    must(tw_statistics_destroy(statistics), "statistics");
    must(tw_comm_destroy(comm), "communicator");
}

int main(int argc, char **argv)
{
    static result_t all, one;
    tw_context_t   *ctx;
    double          apart = 0;

    MPI_Init(&argc, &argv);
    must(tw_context_create(&ctx), "context");
    for (int i = 0; i < N * C; i++) {
        x[i / C][i % C]  = 100 + sinf((float)i * (float)i);
        dy[i / C][i % C] = cosf((float)i * (float)i);
    }
    normalise(ctx, MPI_COMM_WORLD, &all);
    normalise(ctx, MPI_COMM_SELF, &one);
    for (int i = 0; i < N * C; i++) { /* 0 in all: of another rank */
        const double dx = all.dx[i / C][i % C];
        apart           = fmax(apart, dx != 0 ? fabs(dx - one.dx[i / C][i % C]) : 0);
        apart = fmax(apart, i < 2 * C ? fabs((double)all.running[i] - one.running[i]) : 0);
    }
    printf("gradients and running statistics are at most %.1e apart from one rank's\n", apart);
    tw_context_destroy(ctx);
    MPI_Finalize();
    return apart < 1e-5 ? 0 : 1;
}
