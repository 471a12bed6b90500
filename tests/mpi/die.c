/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/die.c - a job in which the last rank dies in a way that the argument names; faults.sh
 * looks at how the job ends.
 *
 *     before   leaves before a collective that the others are in
 *     middle   leaves in the middle of one
 *     zero     the same, with status 0 but without MPI_Finalize
 *     killed   is killed in the middle of one
 *     nobody   nobody dies: the job must end well
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

#include <thinwire/thinwire.h>

#define COUNT 2000000

static void must(tw_status_t status, const char *what)
{
    if (status != TW_OK) {
        fprintf(stderr, "%s: %s\n", what, tw_status_text(status));
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* Starts a large allreduce, helps it along a little, and is gone. */
static void die(tw_comm_t *comm, float *x, const tw_how_t *how, const char *way)
{
    tw_request_t *request = NULL;
    int           done    = 0;

    if (strcmp(way, "before") == 0) {
        usleep(200000); /* the others are waiting by now */
        _exit(3);
    }
    must(tw_iallreduce(comm, x, x + COUNT, COUNT, TW_SUM, how, &request), "tw_iallreduce");
    for (int i = 0; i < 20 && !done; i++) {
        must(tw_test(&request, &done), "tw_test");
    }
    if (strcmp(way, "killed") == 0) {
        raise(SIGKILL);
    }
    _exit(strcmp(way, "zero") == 0 ? 0 : 3);
}

int main(int argc, char **argv)
{
    const char   *way   = argc > 1 ? argv[1] : "";
    const int     all   = strcmp(way, "nobody") == 0;
    tw_context_t *ctx   = NULL;
    tw_comm_t    *comm  = NULL;
    tw_codec_t   *codec = NULL;
    tw_how_t      how   = {0};
    float        *x     = calloc(2 * COUNT, sizeof(float));

    MPI_Init(&argc, &argv);
    must(tw_context_create(&ctx), "tw_context_create");
    must(tw_comm_create(ctx, MPI_COMM_WORLD, &comm), "tw_comm_create");
    must(tw_codec_create(ctx, "tree8", TW_F32, &codec, NULL, 0), "tw_codec_create");
    how.codec     = codec;
    how.algorithm = TW_ALGORITHM_TWO_PASS;
    must(tw_bcast(comm, x, COUNT, 0, NULL), "tw_bcast"); /* through the memory of the node */
    must(tw_allreduce(comm, x, x + COUNT, COUNT, TW_SUM, &how), "tw_allreduce");
    if (!all && tw_comm_rank(comm) == tw_comm_size(comm) - 1) {
        die(comm, x, &how, way);
    }
    for (int i = 0; all ? i < 3 : i < 1000000; i++) {
        must(tw_allreduce(comm, x, x + COUNT, COUNT, TW_SUM, &how), "tw_allreduce");
    }
    tw_codec_destroy(codec);
    must(tw_comm_destroy(comm), "tw_comm_destroy");
    tw_context_destroy(ctx);
    free(x);
    MPI_Finalize();
    return 0;
}
