/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/faults.c - MPI calls that fail and memory that is missing on one rank, injected
 * through the table of MPI calls and the limit of the buffer pool.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/transport/api/open.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/shm/segment.h"
#include "tests/mpi/harness.h"

#define COUNT 50000

static const char *const apart[] = {"NODE_RANKS=1", NULL}; /* messages, not the node's memory */
static t_log_t           log_of_case;
static float             in[COUNT], out[COUNT];

/* ---- MPI calls that fail on rank 0 ----------------------------------------------------------- */

static int calls_left; /* until one fails; -1: never */

static int maybe_fail(int result)
{
    if (calls_left > 0) {
        calls_left--;
    }
    return calls_left == 0 ? MPI_ERR_OTHER : result;
}

static int failing_isend(const void *buffer, int count, MPI_Datatype type, int peer, int tag,
                         MPI_Comm comm, MPI_Request *request)
{
    if (calls_left == 1) {
        calls_left = 0;
        return MPI_ERR_OTHER;
    }
    return maybe_fail(MPI_Isend(buffer, count, type, peer, tag, comm, request));
}

static int failing_dup(MPI_Comm comm, MPI_Comm *dup)
{
    (void)comm;
    (void)dup;
    return MPI_ERR_OTHER;
}

/* An MPI_Isend fails on rank 0: rank 0 says so, the others give up waiting, and all are dead. */
static void a_send_that_fails(void)
{
    static const char *const settings[] = {"TIMEOUT=1", "NODE_RANKS=1", NULL};
    tw_mpi_ops_t             mpi        = tw_mpi_default;
    tw_context_t            *ctx;
    tw_comm_t               *comm;
    tw_request_t            *request = NULL;
    tw_status_t              status;
    int                      done = 0;

    t_settings_put(settings);
    ctx       = t_context_logged(&log_of_case);
    mpi.Isend = failing_isend;
    T_OK(tw_comm_create_with(ctx, &mpi, MPI_COMM_WORLD, &comm));
    t_settings_take_out(settings);
    calls_left = -1;
    T_OK(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL));
    calls_left = t_rank == 0 ? 1 : -1;
    status     = t_rank == 0 ? TW_ERR_MPI : TW_ERR_TIMEOUT;
    T_STATUS(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL), status);
    T_STATUS(tw_comm_status(comm), status);
    T_CHECK(strstr(log_of_case.text, t_rank == 0 ? "MPI_Isend failed" : "waiting for rank") != NULL,
            "the log says: %s", log_of_case.text);
    T_STATUS(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL), TW_ERR_DEAD);
    T_STATUS(tw_iallreduce(comm, in, out, COUNT, TW_SUM, NULL, &request), TW_ERR_DEAD);
    T_OK(tw_test(&request, &done));
    T_CHECK(done == 1, "no request is not complete");
    t_comm_done(comm, ctx);
}

static void a_duplicate_that_fails(void)
{
    tw_mpi_ops_t  mpi  = tw_mpi_default;
    tw_context_t *ctx  = t_context();
    tw_comm_t    *comm = NULL;

    mpi.Comm_dup = failing_dup;
    T_STATUS(tw_comm_create_with(ctx, &mpi, MPI_COMM_WORLD, &comm), TW_ERR_MPI);
    T_CHECK(comm == NULL, "an output was set on failure");
    tw_context_destroy(ctx);
}

/* ---- memory that is missing on one rank ------------------------------------------------------ */

/* The communicator adds up. */
static void sums(tw_comm_t *comm)
{
    const float small[4] = {1, 2, 3, 4};
    float       sum[4];

    T_OK(tw_allreduce(comm, small, sum, 4, TW_SUM, NULL));
    T_CHECK(sum[3] == 4.0f * (float)t_size, "the sum is %g", (double)sum[3]);
}

/* The last rank may not grow: all ranks are told, none hangs, and the communicator still works. By
 * messages: operations in the node's memory need no more than was agreed on with it. */
static void memory_that_one_rank_lacks(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm = t_comm_logged(apart, &log_of_case, &ctx);
    tw_request_t *plan = NULL;

    sums(comm);
    if (t_rank == t_size - 1) {
        comm->pool.limit = comm->pool.bytes;
    }
    T_STATUS(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL), TW_ERR_NO_MEMORY);
    T_STATUS(tw_allreduce_init(comm, in, out, COUNT, TW_SUM, NULL, &plan), TW_ERR_NO_MEMORY);
    T_CHECK(plan == NULL, "an output was set on failure");
    T_CHECK(strstr(log_of_case.text, "a rank has no") != NULL, "the log says: %s",
            log_of_case.text);
    sums(comm);
    comm->pool.limit = UINT64_MAX;
    T_OK(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL));
    t_comm_done(comm, ctx);
}

/* The last rank may not grow when the node's memory is to be made: no rank uses it, then or later.
 */
static void memory_that_one_rank_lacks_beside_the_nodes(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm = t_comm_logged(NULL, &log_of_case, &ctx);

    if (t_rank == t_size - 1) {
        comm->pool.limit = comm->pool.bytes;
    }
    T_STATUS(tw_allreduce(comm, in, out, 4, TW_SUM, NULL), TW_ERR_NO_MEMORY);
    comm->pool.limit = UINT64_MAX;
    sums(comm);
    T_CHECK(comm->node->state != TW_NODE_THERE, "the node's memory is used");
    t_comm_done(comm, ctx);
}

/* A shell's `ulimit -f` on the lowest rank: files may not be as large as the node's memory, and the
 * signal that comes with trying would end the process. All exchange messages. */
static void files_that_may_not_be_large(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm = t_comm_logged(NULL, &log_of_case, &ctx);
    struct rlimit limit, before;

    getrlimit(RLIMIT_FSIZE, &before);
    limit          = before;
    limit.rlim_cur = 1 << 20;
    T_CHECK(t_rank != 0 || setrlimit(RLIMIT_FSIZE, &limit) == 0, "no limit");
    sums(comm);
    T_OK(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL));
    T_CHECK(comm->node->state != TW_NODE_THERE, "the node's memory is used");
    T_CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0, "the limit stays");
    t_comm_done(comm, ctx);
}

static const t_case_t cases[] = {
    {"a duplicate that fails", a_duplicate_that_fails, 1},
    {"memory that one rank lacks", memory_that_one_rank_lacks, 1},
    {"memory that one rank lacks beside the node's", memory_that_one_rank_lacks_beside_the_nodes,
     1},
    {"files that may not be large", files_that_may_not_be_large, 1},
    {"a send that fails", a_send_that_fails, 2},
};

T_MAIN(cases)
