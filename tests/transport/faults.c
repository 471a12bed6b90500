/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/faults.c - MPI calls that fail and memory that is missing on one rank, injected
 * through the table of MPI calls and the limit of the buffer pool. Last argument: number of ranks.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include <thinwire/thinwire.h>

#include "runtime/transport/comm/comm.h"

#define COUNT 50000

static int   rank, size, failures;
static char  log_text[4096];
static float in[COUNT], out[COUNT];

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("rank %d: %s:%d: not so: %s\n", rank, __FILE__, __LINE__, #condition);          \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static void take_log(void *arg, tw_log_level_t level, int log_rank, const char *line)
{
    (void)arg;
    (void)level;
    (void)log_rank;
    strncat(log_text, line, sizeof(log_text) - strlen(log_text) - 2);
    strcat(log_text, "\n");
}

static tw_context_t *new_context(void)
{
    tw_context_t *ctx = NULL;

    log_text[0] = '\0';
    if (tw_context_create(&ctx) != TW_OK || tw_context_set_log(ctx, take_log, NULL) != TW_OK) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return ctx;
}

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
    tw_mpi_ops_t  mpi = tw_mpi_default;
    tw_context_t *ctx;
    tw_comm_t    *comm;
    tw_request_t *request = NULL;
    tw_status_t   status;
    int           done;

    if (size == 1) {
        return; /* nothing is sent */
    }
    setenv("THINWIRE_TIMEOUT", "1", 1);
    setenv("THINWIRE_NODE_RANKS", "1", 1); /* messages, not the node's memory */
    ctx       = new_context();
    mpi.Isend = failing_isend;
    CHECK(tw_comm_create_with(ctx, &mpi, MPI_COMM_WORLD, &comm) == TW_OK);
    calls_left = -1;
    CHECK(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL) == TW_OK);
    calls_left = rank == 0 ? 1 : -1;
    status     = tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL);
    CHECK(status == (rank == 0 ? TW_ERR_MPI : TW_ERR_TIMEOUT));
    CHECK(tw_comm_status(comm) == status);
    CHECK(strstr(log_text, rank == 0 ? "MPI_Isend failed" : "waiting for rank") != NULL);
    CHECK(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL) == TW_ERR_DEAD);
    CHECK(tw_iallreduce(comm, in, out, COUNT, TW_SUM, NULL, &request) == TW_ERR_DEAD);
    CHECK(tw_test(&request, &done) == TW_OK && done == 1);
    CHECK(tw_comm_destroy(comm) == TW_OK);
    tw_context_destroy(ctx);
    unsetenv("THINWIRE_TIMEOUT");
    unsetenv("THINWIRE_NODE_RANKS");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void a_duplicate_that_fails(void)
{
    tw_mpi_ops_t  mpi  = tw_mpi_default;
    tw_context_t *ctx  = new_context();
    tw_comm_t    *comm = NULL;

    mpi.Comm_dup = failing_dup;
    CHECK(tw_comm_create_with(ctx, &mpi, MPI_COMM_WORLD, &comm) == TW_ERR_MPI);
    CHECK(comm == NULL);
    tw_context_destroy(ctx);
}

/* ---- memory that is missing on one rank ------------------------------------------------------ */

/* The last rank may not grow: all ranks are told, none hangs, and the communicator still works. By
 * messages: operations in the node's memory need no more than was agreed on with it. */
static void memory_that_one_rank_lacks(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm;
    tw_request_t *plan     = NULL;
    float         small[4] = {1, 2, 3, 4}, sum[4];

    setenv("THINWIRE_NODE_RANKS", "1", 1);
    ctx = new_context();
    CHECK(tw_comm_create(ctx, MPI_COMM_WORLD, &comm) == TW_OK);
    CHECK(tw_allreduce(comm, small, sum, 4, TW_SUM, NULL) == TW_OK);
    if (rank == size - 1) {
        comm->pool.limit = comm->pool.bytes;
    }
    CHECK(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL) == TW_ERR_NO_MEMORY);
    CHECK(tw_allreduce_init(comm, in, out, COUNT, TW_SUM, NULL, &plan) == TW_ERR_NO_MEMORY);
    CHECK(plan == NULL);
    CHECK(strstr(log_text, "a rank has no") != NULL);
    CHECK(tw_allreduce(comm, small, sum, 4, TW_SUM, NULL) == TW_OK);
    CHECK(sum[3] == 4.0f * (float)size);
    comm->pool.limit = UINT64_MAX;
    CHECK(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL) == TW_OK);
    CHECK(tw_comm_destroy(comm) == TW_OK);
    tw_context_destroy(ctx);
    unsetenv("THINWIRE_NODE_RANKS");
}

/* The last rank may not grow when the node's memory is to be made: no rank uses it, then or later.
 */
static void memory_that_one_rank_lacks_beside_the_nodes(void)
{
    tw_context_t *ctx = new_context();
    tw_comm_t    *comm;
    float         small[4] = {1, 2, 3, 4}, sum[4];

    CHECK(tw_comm_create(ctx, MPI_COMM_WORLD, &comm) == TW_OK);
    if (rank == size - 1) {
        comm->pool.limit = comm->pool.bytes;
    }
    CHECK(tw_allreduce(comm, small, sum, 4, TW_SUM, NULL) == TW_ERR_NO_MEMORY);
    comm->pool.limit = UINT64_MAX;
    CHECK(tw_allreduce(comm, small, sum, 4, TW_SUM, NULL) == TW_OK);
    CHECK(sum[3] == 4.0f * (float)size);
    CHECK(comm->node.state != TW_NODE_THERE);
    CHECK(tw_comm_destroy(comm) == TW_OK);
    tw_context_destroy(ctx);
}

/* A shell's `ulimit -f` on the lowest rank: files may not be as large as the node's memory, and the
 * signal that comes with trying would end the process. All exchange messages. */
static void files_that_may_not_be_large(void)
{
    tw_context_t *ctx = new_context();
    tw_comm_t    *comm;
    struct rlimit limit, before;
    float         small[4] = {1, 2, 3, 4}, sum[4];

    getrlimit(RLIMIT_FSIZE, &before);
    limit          = before;
    limit.rlim_cur = 1 << 20;
    CHECK(tw_comm_create(ctx, MPI_COMM_WORLD, &comm) == TW_OK);
    CHECK(rank != 0 || setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(tw_allreduce(comm, small, sum, 4, TW_SUM, NULL) == TW_OK);
    CHECK(sum[3] == 4.0f * (float)size);
    CHECK(tw_allreduce(comm, in, out, COUNT, TW_SUM, NULL) == TW_OK);
    CHECK(comm->node.state != TW_NODE_THERE);
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(tw_comm_destroy(comm) == TW_OK);
    tw_context_destroy(ctx);
}

int main(int argc, char **argv)
{
    int all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc > 1 && atoi(argv[argc - 1]) == size);
    for (int i = 0; i < COUNT; i++) {
        in[i] = (float)(i % 17) - 8.0f;
    }
    a_duplicate_that_fails();
    memory_that_one_rank_lacks();
    memory_that_one_rank_lacks_beside_the_nodes();
    files_that_may_not_be_large();
    a_send_that_fails();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#if defined(__SANITIZE_ADDRESS__)
    __lsan_do_leak_check();
#endif
    MPI_Finalize();
    return all != 0;
}
