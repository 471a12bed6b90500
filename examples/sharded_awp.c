/* SPDX-License-Identifier: BSD-3-Clause
 * sharded_awp.c - each rank updates its share of the weights; copies travel in 1 to 4 bytes each.
 *
 *     mpicc -o sharded_awp sharded_awp.c $(pkg-config --cflags --libs thinwire) -lm
 *     mpirun -n 4 ./sharded_awp
 *
 * Least squares. The owner of a weight keeps it in float32 and gets its gradient, summed; all ranks
 * compute with copies, of 8 bits at first, of more once the norm of the masters hardly grows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/thinwire.h>

enum { N = 1024, ROWS = 512, STEPS = 140 };
static float x[ROWS][N], y[ROWS], weights[N], gradient[N];

static void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        fprintf(stderr, "%s: %s\n", what, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static float loss_and_gradient(tw_comm_t *comm) /* the latter of this rank's examples only */
{
    float loss = 0;
    memset(gradient, 0, sizeof(gradient));
    for (int k = tw_comm_rank(comm); k < ROWS; k += tw_comm_size(comm)) {
        float error = -y[k];
        for (int i = 0; i < N; i++) {
            error += x[k][i] * weights[i];
        }
        for (int i = 0; i < N; i++) {
            gradient[i] += error * x[k][i] / ROWS;
        }
        loss += error * error / (2 * ROWS);
    }
    must(tw_allreduce(comm, TW_IN_PLACE, &loss, 1, TW_SUM, NULL), "loss");
    return loss;
}

int main(int argc, char **argv)
{
    static const char *const  specs[] = {"", "bitpack:1", "bitpack:2", "bitpack:3", "fp32"};
    const tw_weights_config_t sharded = {.owners = TW_WEIGHTS_SHARDED};
    const tw_weights_group_t  group   = {"w", weights, gradient, NULL, N, 0, specs[1], NULL};
    tw_precision_t     awp = {.threshold = 0.01, .interval = 20, .step = 8, .first = 8, .last = 32};
    tw_context_t      *ctx;
    tw_comm_t         *comm;
    tw_weights_t      *w;
    tw_weights_share_t own; /* its masters are 0 at first */
    double             loss = 0, first = 0, norm;

    MPI_Init(&argc, &argv);
    must(tw_context_create(&ctx), "context");
    must(tw_comm_create(ctx, MPI_COMM_WORLD, &comm), "communicator");
    must(tw_weights_create(comm, &sharded, &group, 1, &w), "weights");
    must(tw_weights_share(w, 0, &own), "share");
    must(tw_precision_init(&awp), "precision");
    for (int i = 0; i < ROWS * N; i++) {
        x[i / N][i % N] = 2.0f * (float)rand() / (float)RAND_MAX - 1.0f;
        y[i / N] += x[i / N][i % N] * sinf((float)(i % N));
    }
    for (int step = 0; step <= STEPS; step++) {
        must(tw_weights_set_codec(w, 0, specs[tw_precision_bytes(awp.bits)]), "codec");
        must(tw_weights_send(w, 0), "send");
        must(tw_weights_wait(w, 0), "copies");
        loss  = loss_and_gradient(comm);
        first = step == 0 ? loss : first;
        if (step % 20 == 0 && tw_comm_rank(comm) == 0) {
            printf("step %3d: weights of %2d bits, loss %.3g\n", step, awp.bits, loss);
        }
        must(tw_weights_ready(w, 0), "gradient");
        must(tw_weights_sum(w, 0), "sum");
        for (size_t i = 0; i < own.count; i++) {
            own.master[i] -= 0.2f * own.gradient[i];
        }
        must(tw_weights_norms(w, TW_WEIGHTS_MASTERS, &norm), "norm");
        must(tw_precision_observe(&awp, norm, NULL), "precision");
    }
    tw_weights_destroy(w);
    must(tw_comm_destroy(comm), "communicator");
    tw_context_destroy(ctx);
    MPI_Finalize();
    return loss < 0.01 * first ? 0 : 1;
}
