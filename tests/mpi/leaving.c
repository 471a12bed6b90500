/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/leaving.c - a rank whose operation is complete turns to other things: it waits in plain
 * MPI for a rank that is still in the operation. What it has sent must arrive all the same, even if
 * the fabric took all that it could and the rest lies somewhere in this process.
 */
#include "config.h"

#include <string.h>

#include "tests/mpi/job.h"

#define COUNT 1000 /* floats in a message: short ones are copied */
#define MOST  4000 /* messages                                  */

static float x[COUNT];

/* Rank 0 sends until no more is taken, or all is. Returns the operations that are complete; one
 * more may be under way. */
static int send_all(tw_comm_t *comm, tw_request_t **request_p)
{
    int sent = 0, done = 1;

    for (; sent < MOST && done; sent += done) {
        const double start = MPI_Wtime();

        x[0] = (float)sent;
        T_OK(tw_ibcast(comm, x, COUNT, 0, NULL, request_p));
        done = 0;
        while (!done && MPI_Wtime() - start < 0.1) {
            T_OK(tw_test(request_p, &done));
        }
    }
    return sent;
}

static void take_one(tw_comm_t *comm, int number)
{
    x[0] = -1.0f;
    T_OK(tw_bcast(comm, x, COUNT, 0, NULL));
    T_CHECK(x[0] == (float)number, "message %d holds %g", number, (double)x[0]);
}

/* The last rank is told by MPI how many operations are complete, and meets rank 0 in MPI after
 * them. */
static void all_that_is_complete_arrives(void)
{
    const char *const settings[] = {"NODE_RANKS=1", NULL}; /* by messages */
    const int         in         = t_rank == 0 || t_rank == t_size - 1;
    tw_context_t     *ctx;
    tw_request_t     *request = NULL;
    tw_comm_t        *comm;
    MPI_Comm          pair;
    int               sent = 0;

    MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, t_rank, &pair);
    if (!in) {
        return;
    }
    comm = t_comm_under(settings, pair, &ctx);
    T_OK(tw_bcast(comm, x, COUNT, 0, NULL)); /* the ranks agree on memory */
    if (t_rank == 0) {
        sent = send_all(comm, &request);
    }
    MPI_Bcast(&sent, 1, MPI_INT, 0, pair);
    t_note("%d messages", sent);
    for (int i = 0; t_rank != 0 && i < sent; i++) {
        take_one(comm, i);
    }
    MPI_Barrier(pair);
    if (t_rank == 0) {
        T_OK(tw_wait(&request));
    } else if (sent < MOST) {
        take_one(comm, sent);
    }
    t_comm_done(comm, ctx);
    MPI_Comm_free(&pair);
}

static const t_case_t cases[] = {
    {"all that is complete arrives", all_that_is_complete_arrives, 2},
};

T_MAIN(cases)
