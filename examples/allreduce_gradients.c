/* SPDX-License-Identifier: BSD-3-Clause
 * allreduce_gradients.c - data-parallel gradient descent whose gradients travel as 1 bit or 8 bits.
 *
 *     mpicc -o allreduce_gradients allreduce_gradients.c $(pkg-config --cflags --libs thinwire) -lm
 *     mpirun -n 4 ./allreduce_gradients onebit
 *
 * Every rank has a target of its own and the loss |w - target|^2 / 2. The gradients are averaged by
 * tw_allreduce, so w goes to the mean of the targets. Error feedback adds what the encoding of one
 * step lost to the next step; without it onebit would not get there.
 */
#include <math.h>
#include <stdio.h>

#include <thinwire/thinwire.h>

enum { N = 20000, STEPS = 300 };

static float w[N], target[N], gradient[N], best[N];

static void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        fprintf(stderr, "%s: %s\n", what, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    const char    *spec = argc > 1 ? argv[1] : "onebit";
    char           why[256];
    tw_context_t  *ctx;
    tw_comm_t     *comm;
    tw_codec_t    *codec;
    tw_feedback_t *feedback;
    tw_stats_t     stats;
    double         left = 0, first = 0;

    MPI_Init(&argc, &argv);
    must(tw_context_create(&ctx), "context");
    must(tw_comm_create(ctx, MPI_COMM_WORLD, &comm), "communicator");
    must(tw_codec_create(ctx, spec, TW_F32, &codec, why, sizeof(why)), why);
    must(tw_feedback_create(comm, "gradient", TW_F32, N, &feedback), "feedback");
    for (int i = 0; i < N; i++) {
        target[i] = sinf((float)((i + 1) * (tw_comm_rank(comm) + 1)));
    }
    must(tw_allreduce(comm, target, best, N, TW_AVERAGE, NULL), "mean of the targets");
    must(tw_comm_stats_reset(comm), "counters");

    const tw_how_t how = {.codec = codec, .feedback = feedback};
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < N; i++) {
            gradient[i] = w[i] - target[i];
        }
        must(tw_allreduce(comm, TW_IN_PLACE, gradient, N, TW_AVERAGE, &how), "gradient");
        for (int i = 0; i < N; i++) {
            w[i] -= 0.1f * (float)(STEPS - step) / STEPS * gradient[i];
        }
    }
    for (int i = 0; i < N; i++) {
        left += pow(w[i] - best[i], 2);
        first += pow(best[i], 2);
    }
    left = sqrt(left / first);
    must(tw_comm_stats(comm, &stats), "counters");
    if (tw_comm_rank(comm) == 0) {
        printf("%s: after %d steps %.2g of the distance to the optimum is left; %.0f bytes sent in "
               "each, %.0f as float32\n",
               spec, STEPS, left, (double)stats.bytes_sent / STEPS,
               (double)stats.bytes_uncompressed / STEPS);
    }
    tw_feedback_destroy(feedback);
    tw_codec_destroy(codec);
    must(tw_comm_destroy(comm), "communicator");
    tw_context_destroy(ctx);
    MPI_Finalize();
    return left < 0.05 ? 0 : 1;
}
