/* SPDX-License-Identifier: BSD-3-Clause
 * bench/transfer.c - how long a vector takes from one rank to another and, encoded anew, back: half
 * of that. For figure5.sh; on two ranks.
 *
 *     mpirun -n 2 ... bin/transfer bcast|allreduce CODECS VALUES...
 *
 * bcast: rank 0 sends to rank 1 and rank 1 to rank 0, each by a broadcast, so that one clock times
 * it; allreduce: the sum of both, as it is. The contenders, MPI's own call and thinwire with each
 * codec of a list with spaces, take turns. Prints "VALUES CODEC SECONDS", the codec of MPI being
 * "MPI": the median over at most 100 repetitions, at least 7, for about half a second each.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#include "tools/measure.h"

#define CONTENDERS_MAX  16
#define REPETITIONS_MAX 100
#define LEAST           7
#define BUDGET          0.5 /* seconds for a contender */

typedef struct transfer {
    const char *operation;
    tw_comm_t  *comm;
    float      *send, *recv;
    int         values, contenders;
    const char *name[CONTENDERS_MAX];
    tw_codec_t *codec[CONTENDERS_MAX]; /* NULL: MPI */
} transfer_t;

static void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        fprintf(stderr, "transfer: %s: %s\n", what, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void run(const transfer_t *t, int c)
{
    const tw_how_t how    = {.codec = t->codec[c]};
    const size_t   values = (size_t)t->values;

    if (strcmp(t->operation, "allreduce") == 0) {
        if (t->codec[c] == NULL) {
            MPI_Allreduce(t->send, t->recv, t->values, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        } else {
            must(tw_allreduce(t->comm, t->send, t->recv, values, TW_SUM, &how), t->name[c]);
        }
        return;
    }
    for (int root = 0; root < 2; root++) {
        float *x = tw_comm_rank(t->comm) == root ? t->send : t->recv;

        if (t->codec[c] == NULL) {
            MPI_Bcast(x, t->values, MPI_FLOAT, root, MPI_COMM_WORLD);
        } else {
            must(tw_bcast(t->comm, x, values, root, &how), t->name[c]);
        }
    }
}

/* Seconds of one repetition, on rank 0, whose clock sees both ways. */
static double once(const transfer_t *t, int c)
{
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    run(t, c);
    return (MPI_Wtime() - start) / (strcmp(t->operation, "bcast") == 0 ? 2.0 : 1.0);
}

static void measure(const transfer_t *t)
{
    static double seconds[CONTENDERS_MAX][REPETITIONS_MAX];
    double        all = MPI_Wtime();
    int           repetitions;

    for (int r = 0; r < 2; r++) { /* the first brings pages, connections and memory */
        all = r == 0 ? all : MPI_Wtime();
        for (int c = 0; c < t->contenders; c++) {
            once(t, c);
        }
    }
    all         = BUDGET * t->contenders / (MPI_Wtime() - all);
    repetitions = all > REPETITIONS_MAX ? REPETITIONS_MAX : all < LEAST ? LEAST : (int)all;
    MPI_Bcast(&repetitions, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; r < repetitions; r++) {
        for (int c = 0; c < t->contenders; c++) {
            seconds[c][r] = once(t, c);
        }
    }
    for (int c = 0; c < t->contenders && tw_comm_rank(t->comm) == 0; c++) {
        printf("%d %s %.9g\n", t->values, t->name[c],
               measure_median(seconds[c], (size_t)repetitions));
    }
}

int main(int argc, char **argv)
{
    static transfer_t t;
    tw_context_t     *ctx = NULL;
    int               size, rank;
    char             *rest = NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 4 || size != 2) {
        fputs("usage: mpirun -n 2 transfer bcast|allreduce CODECS VALUES...\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    t.operation = argv[1];
    must(tw_context_create(&ctx), "tw_context_create");
    must(tw_comm_create(ctx, MPI_COMM_WORLD, &t.comm), "tw_comm_create");
    t.name[t.contenders++] = "MPI";
    for (char *s = strtok_r(argv[2], " ", &rest); s != NULL && t.contenders < CONTENDERS_MAX;
         s       = strtok_r(NULL, " ", &rest)) {
        t.name[t.contenders] = s;
        must(tw_codec_create(ctx, s, TW_F32, &t.codec[t.contenders++], NULL, 0), s);
    }
    for (int a = 3; a < argc; a++) {
        t.values = atoi(argv[a]);
        t.send   = malloc((size_t)t.values * sizeof(float));
        t.recv   = calloc((size_t)t.values, sizeof(float));
        if (t.values < 1 || t.send == NULL || t.recv == NULL) {
            fprintf(stderr, "transfer: %s values: accepted: as many as memory can hold\n", argv[a]);
            MPI_Abort(MPI_COMM_WORLD, 2);
            return 2;
        }
        data_normal(t.send, (size_t)t.values, (uint64_t)rank + 1, 1.0);
        measure(&t);
        free(t.recv);
        free(t.send);
    }
    for (int c = 1; c < t.contenders; c++) {
        tw_codec_destroy(t.codec[c]);
    }
    tw_comm_destroy(t.comm);
    tw_context_destroy(ctx);
    MPI_Finalize();
    return 0;
}
