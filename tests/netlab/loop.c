/* SPDX-License-Identifier: BSD-3-Clause
 * tests/netlab/loop.c - one collective again and again, until it fails: the job whose link cut.sh
 * cuts.
 *
 *     loop OPERATION CODEC COUNT end      the rank that is told of an error ends the job
 *     loop OPERATION CODEC COUNT stay     it gives up the communicator, and all meet again by MPI's
 *     own
 *                                         barrier, once somebody has mended the link
 *
 * COUNT: float32 values of the vector, or of the block for each rank. Sums, broadcasts and blocks
 * are checked as long as they arrive. Rank 0 prints "running" when the third call is complete, and
 * "over" after the barrier.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include <thinwire/thinwire.h>

typedef struct loop {
    const char *operation;
    size_t      count;
    int         rank, size;
    tw_comm_t  *comm;
    tw_how_t    how;
    float      *send, *recv; /* count values for each rank */
} loop_t;

static _Noreturn void end(const loop_t *l, const char *what)
{
    fprintf(stderr, "loop: rank %d: %s: %s\n", l->rank, l->operation, what);
    sleep(1); /* the others have the time to say what they saw */
    MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

static void must(const loop_t *l, tw_status_t status)
{
    if (status != TW_OK) {
        end(l, tw_status_text(status));
    }
}

static tw_status_t call(loop_t *l)
{
    if (strcmp(l->operation, "allreduce") == 0) {
        return tw_allreduce(l->comm, l->send, l->recv, l->count, TW_SUM, &l->how);
    }
    if (strcmp(l->operation, "bcast") == 0) {
        return tw_bcast(l->comm, l->rank == 0 ? l->send : l->recv, l->count, 0, &l->how);
    }
    return tw_alltoall(l->comm, l->send, l->recv, l->count, &l->how);
}

/* What rank r sends to this one is all r + 1. */
static void check(const loop_t *l)
{
    const int    alltoall = strcmp(l->operation, "alltoall") == 0;
    const size_t n        = alltoall ? l->count * (size_t)l->size : l->count;
    const float  sum      = (float)(l->size * (l->size + 1) / 2);

    for (size_t i = 0; i < n; i += 997) {
        const float want = alltoall                             ? (float)(i / l->count + 1)
                           : strcmp(l->operation, "bcast") == 0 ? 1.0F
                                                                : sum;

        if (l->recv[i] != want && !(l->rank == 0 && strcmp(l->operation, "bcast") == 0)) {
            end(l, "a wrong result");
        }
    }
}

int main(int argc, char **argv)
{
    static loop_t l; /* its buffers stay reachable, for leak checkers */
    const int     stay  = argc > 4 && strcmp(argv[4], "stay") == 0;
    tw_context_t *ctx   = NULL;
    tw_codec_t   *codec = NULL;
    tw_status_t   status;

    l.operation = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &l.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &l.size);
    l.count = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    l.send  = malloc((l.count * (size_t)l.size + 1) * sizeof(float));
    l.recv  = calloc(l.count * (size_t)l.size + 1, sizeof(float));
    if (l.send == NULL || l.recv == NULL) {
        end(&l, "no memory");
    }
    for (size_t i = 0; i < l.count * (size_t)l.size; i++) {
        l.send[i] = (float)(l.rank + 1);
    }
    must(&l, tw_context_create(&ctx));
    must(&l, tw_comm_create(ctx, MPI_COMM_WORLD, &l.comm));
    must(&l, tw_codec_create(ctx, argc > 2 ? argv[2] : "", TW_F32, &codec, NULL, 0));
    l.how.codec = codec;
    for (int calls = 1; (status = call(&l)) == TW_OK; calls++) {
        check(&l);
        if (l.rank == 0 && calls == 3) {
            puts("running");
            fflush(stdout);
        }
    }
    if (!stay) {
        end(&l, tw_status_text(status));
    }
    /* Messages under way may yet arrive: in memory that the communicator has abandoned, or in ours.
     */
    tw_codec_destroy(codec);
    tw_comm_destroy(l.comm);
    tw_context_destroy(ctx);
    MPI_Barrier(MPI_COMM_WORLD);
    if (l.rank == 0) {
        puts("over");
    }
#if defined(__SANITIZE_ADDRESS__)
    __lsan_do_leak_check(); /* before the MPI library unloads what its stacks point into */
#endif
    MPI_Finalize();
    return 0;
}
