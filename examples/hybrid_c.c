/* SPDX-License-Identifier: BSD-3-Clause
 * hybrid_c.c - a dense layer that is divided over the ranks, behind layers that all ranks have.
 *
 *     mpicc -o hybrid_c hybrid_c.c $(pkg-config --cflags --libs thinwire) -lm
 *     mpirun -n 4 ./hybrid_c
 *
 * Each rank has the inputs x of its own examples, from the layers below, and some units. To each
 * pass it gives a part of its examples (scheme c), and gets their gradients back, summed over all
 * units, for the layers below. Weights and gradients are compared with those of one rank alone.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <thinwire/thinwire.h>

enum { N = 96, IN = 24, UNITS = 10, STEPS = 8 }; /* N examples; 1, 2, 3 or 4 ranks divide them */
static float x[N * IN], want[N][UNITS];

typedef struct {
    float  w[UNITS][IN], gradient[UNITS][IN], gx[N * IN], loss;
    size_t rank, ranks, each; /* each: examples of a rank */
} model_t;

static void must(tw_status_t status) /* the library has said why */
{
    if (status != TW_OK) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* This rank's units, for the examples of one pass, which lie rank by rank. */
static int dense(void *user, const tw_hybrid_pass_t *pass)
{
    model_t     *m  = user;
    const float *in = pass->x;
    float       *to = pass->gx;
    memset(to, 0, pass->examples * IN * sizeof(*to));
    for (size_t r = 0; r < m->ranks; r++) {
        for (size_t k = 0; k < pass->count[r]; k++, in += IN, to += IN) {
            for (size_t u = m->rank; u < UNITS; u += m->ranks) {
                float error = -want[r * m->each + pass->first[r] + k][u];
                for (int i = 0; i < IN; i++) {
                    error += m->w[u][i] * in[i];
                }
                for (int i = 0; i < IN; i++) {
                    m->gradient[u][i] += error * in[i] / N;
                    to[i] += error * m->w[u][i];
                }
                m->loss += error * error / (2 * N);
            }
        }
    }
    return 0;
}

static void train(tw_context_t *ctx, MPI_Comm mpi, model_t *m)
{
    tw_hybrid_t *hybrid;
    tw_comm_t   *comm;
    must(tw_comm_create(ctx, mpi, &comm));
    *m      = (model_t){.rank = (size_t)tw_comm_rank(comm), .ranks = (size_t)tw_comm_size(comm)};
    m->each = N / m->ranks;
    const size_t first = m->rank * m->each * IN, counts[] = {m->each, m->each, m->each, m->each};
    const tw_hybrid_config_t config = {TW_SCHEME_C, .features = IN, .examples = counts};
    must(tw_hybrid_create(comm, &config, &hybrid));
    for (int step = 0; step < STEPS; step++) {
        m->loss = 0, memset(m->gradient, 0, sizeof(m->gradient));
        must(tw_hybrid_run(hybrid, x + first, m->gx + first, dense, m));
        for (int i = 0; i < IN * UNITS; i++) {
            m->w[i / IN][i % IN] -= 0.5f * m->gradient[i / IN][i % IN];
        }
    }
    must(tw_allreduce(comm, TW_IN_PLACE, &m->loss, 1, TW_SUM, NULL));
    tw_hybrid_destroy(hybrid);
    must(tw_comm_destroy(comm));
}

int main(int argc, char **argv)
{
    static model_t all, one; /* ranks, and one alone */
    tw_context_t  *ctx;
    double         apart = 0;
    MPI_Init(&argc, &argv);
    must(tw_context_create(&ctx));
    for (int i = 0; i < N * IN; i++) {
        x[i] = sinf((float)i * (float)i);
        want[i / IN][i % IN % UNITS] += x[i];
    }
    train(ctx, MPI_COMM_WORLD, &all);
    train(ctx, MPI_COMM_SELF, &one);
    for (size_t i = 0; i < N * IN; i++) { /* what this rank has not is 0 in all */
        const float *w = &all.w[i / IN % UNITS][i % IN], *same = &one.w[i / IN % UNITS][i % IN];
        apart = fmax(apart, all.gx[i] != 0 ? fabsf(all.gx[i] - one.gx[i]) : 0);
        apart = fmax(apart, *w != 0 ? fabsf(*w - *same) : 0);
    }
    printf("loss %.3g, on one rank %.3g; %.1e apart\n", all.loss, one.loss, apart);
    tw_context_destroy(ctx);
    MPI_Finalize();
    return apart < 1e-4 && one.loss < 0.3 ? 0 : 1;
}
