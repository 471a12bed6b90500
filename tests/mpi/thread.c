/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/thread.c - THINWIRE_PROGRESS=thread: operations go on while their program does
 * something else, and nothing but that changes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"

#define PATIENCE 60.0 /* seconds until something counts as standing still */

static uint64_t sent(tw_comm_t *comm)
{
    tw_stats_t stats;

    T_OK(tw_comm_stats(comm, &stats)); /* which advances nothing */
    return stats.bytes_sent;
}

/* An operation of many more pieces than are in flight at once is under way, and nobody calls. */
static void moves_while_nobody_calls(void)
{
    static const char *const settings[] = {"PROGRESS=thread", "NODE_RANKS=1", "CHUNK=1k", NULL};
    const size_t             n          = 100000;
    const tw_how_t           how        = {.codec = t_codec("bitpack:2", TW_F32)};
    float                   *in         = t_malloc(n * sizeof(float));
    float                   *out        = t_malloc(n * sizeof(float));
    float                   *want       = t_malloc(n * sizeof(float));
    tw_context_t            *ctx;
    tw_comm_t               *comm    = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    tw_request_t            *request = NULL;
    uint64_t                 all;

    t_fill(TW_F32, t_seed + (unsigned)t_rank, 0, n, in);
    T_OK(tw_allreduce(comm, in, want, n, TW_SUM, &how));
    all = sent(comm);
    for (int turn = 0; turn < 5; turn++) {
        const double start = MPI_Wtime();

        T_OK(tw_comm_stats_reset(comm));
        memset(out, 0, n * sizeof(float));
        T_OK(tw_iallreduce(comm, in, out, n, TW_SUM, &how, &request));
        while (sent(comm) < all && MPI_Wtime() - start < PATIENCE) {
            usleep(1000);
        }
        T_CHECK(sent(comm) == all, "turn %d: %g s and it stands still", turn, PATIENCE);
        T_OK(tw_wait(&request));
        T_SAME(TW_F32, out, want, n);
    }
    t_comm_done(comm, ctx);
    free(want);
    free(out);
    free(in);
}

/* The thread has nothing to do for a while, again and again, and is needed again. */
static void wakes_up_again(void)
{
    static const char *const settings[] = {"PROGRESS=thread", NULL};
    float                    x[100], y[100];
    tw_context_t            *ctx;
    tw_comm_t               *comm    = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    tw_request_t            *request = NULL;

    for (int turn = 0; turn < 200; turn++) {
        int done = 0;

        for (int i = 0; i < 100; i++) {
            x[i] = (float)(i * turn);
        }
        T_OK(tw_iallreduce(comm, x, y, 100, TW_SUM, NULL, &request));
        if (turn % 3 == 0) {
            usleep(500);
        }
        while (turn % 2 == 0 && !done) {
            T_OK(tw_test(&request, &done));
        }
        T_OK(tw_wait(&request));
        T_CHECK(y[99] == (float)(99 * turn * t_size), "turn %d: %g", turn, (double)y[99]);
    }
    t_comm_done(comm, ctx);
}

static const t_case_t cases[] = {
    {"moves while nobody calls", moves_while_nobody_calls, 2},
    {"wakes up again", wakes_up_again, 1},
};

int main(int argc, char **argv)
{
    t_thread_level = MPI_THREAD_MULTIPLE;
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
