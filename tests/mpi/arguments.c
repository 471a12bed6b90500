/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/arguments.c - arguments and settings that are wrong, or at the end of what is right: a
 * clear status, nothing sent, nobody hangs, and the next call works.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

static t_log_t log_of_case;

static float x[4096], y[4096];

/* ---- settings ---------------------------------------------------------------------------------
 */

/* One setting, on one rank or on all: the context is refused (then *status_p says so), or the
 * communicator is, on all ranks, or it works. */
static tw_comm_t *try_setting(const char *text, int only, tw_context_t **ctx_p,
                              tw_status_t *status_p)
{
    const char *const settings[] = {text, NULL};
    tw_comm_t        *comm       = NULL;

    t_note("THINWIRE_%s", text);
    *ctx_p = NULL;
    t_settings_put(only < 0 || only == t_rank ? settings : NULL);
    *status_p = tw_context_create(ctx_p);
    if (*status_p == TW_OK) {
        T_OK(tw_context_set_log(*ctx_p, t_log_take, &log_of_case));
        *status_p = tw_comm_create(*ctx_p, MPI_COMM_WORLD, &comm);
        T_CHECK((comm != NULL) == (*status_p == TW_OK), "an output was set on failure");
    }
    t_settings_take_out(settings);
    return comm;
}

static void settings_at_their_ends(void)
{
    static const char *const good[] = {
        "CHUNK=1",      "CHUNK=inf",     "CHUNK=",    "MESSAGE_LIMIT=1", "MESSAGE_LIMIT=2147483647",
        "WINDOW=1",     "WINDOW=8",      "TIMEOUT=0", "CHECK=yes",       "ALLREDUCE=direct",
        "DIRECT_MAX=0", "DIRECT_MAX=inf"};
    uint64_t      random = t_seed;
    tw_context_t *ctx;
    tw_status_t   status;
    t_shape_t     shape;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        tw_comm_t *comm = try_setting(good[i], -1, &ctx, &status);

        T_CHECK(status == TW_OK, "%s", tw_status_name(status));
        for (int k = 0; comm != NULL && k < T_OPS; k++) {
            t_shape_drawn(&shape, (t_op_t)k, &random, 600);
            t_job_once(comm, &shape);
        }
        t_comm_done(comm, ctx);
    }
}

/* Zero bytes, or more than an MPI message can hold: refused, by all or before anything is sent; or
 * it works. One rank alone with such a setting takes all with it. */
static void an_impossible_setting_on_one_rank(void)
{
    static const char *const bad[] = {"CHUNK=0", "MESSAGE_LIMIT=0", "MESSAGE_LIMIT=3G",
                                      "MESSAGE_LIMIT=inf"};
    tw_context_t            *ctx;
    tw_status_t              status;
    int                      mine, all;

    for (size_t i = 0; i < 2 * sizeof(bad) / sizeof(bad[0]); i++) {
        tw_comm_t *comm;

        log_of_case = (t_log_t){0};
        comm        = try_setting(bad[i / 2], i % 2 == 0 ? -1 : t_size - 1, &ctx, &status);
        mine        = status == TW_OK;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        T_CHECK(all == 0 || all == t_size, "%s here, but %d ranks have a communicator",
                tw_status_name(status), all);
        T_CHECK(ctx == NULL || comm != NULL ||
                    t_log_holds(MPI_COMM_WORLD, &log_of_case, "THINWIRE_"),
                "no line names the setting");
        if (comm != NULL) {
            T_OK(tw_comm_destroy(comm));
        }
        tw_context_destroy(ctx);
    }
}

/* ---- wrong arguments ------------------------------------------------------------------------ */

static void communicators_that_cannot_be(void)
{
    MPI_Comm      half, inter;
    tw_comm_t    *comm = NULL;
    tw_context_t *ctx  = t_context_logged(&log_of_case);

    T_STATUS(tw_comm_create(NULL, MPI_COMM_WORLD, &comm), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_create(ctx, MPI_COMM_WORLD, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_create(ctx, MPI_COMM_NULL, &comm), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_destroy(NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_comm_status(NULL), TW_ERR_INVALID_ARG);
    T_CHECK(tw_comm_rank(NULL) == -1 && tw_comm_size(NULL) == 0, "rank and size of NULL");
    T_CHECK(tw_comm_node(NULL, 0) == -1, "node of NULL");
    if (t_size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, t_rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - t_rank % 2, 7, &inter);
        log_of_case = (t_log_t){0};
        T_STATUS(tw_comm_create(ctx, inter, &comm), TW_ERR_UNSUPPORTED);
        T_CHECK(log_of_case.lines == 1, "%d lines: %s", log_of_case.lines, log_of_case.text);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    T_CHECK(comm == NULL, "an output was set on failure");
    tw_context_destroy(ctx);
}

/* Each on the last rank alone: such errors are local, nothing is sent, and afterwards all is well.
 */
static void wrong_arguments(tw_comm_t *comm)
{
    const size_t   many = SIZE_MAX / 2, p = (size_t)t_size;
    const tw_how_t wrong_algorithm = {.algorithm = (tw_algorithm_t)7},
                   wrong_flags     = {.flags = 0x80};
    size_t        counts[T_RANKS_MAX], far[T_RANKS_MAX];
    tw_request_t *request = NULL;

    for (int r = 0; r < T_RANKS_MAX; r++) {
        counts[r] = SIZE_MAX / 3;
        far[r]    = SIZE_MAX - 4;
    }
    T_STATUS(tw_allreduce(NULL, x, y, 1, TW_SUM, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce(comm, NULL, y, 1, TW_SUM, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce(comm, x, NULL, 1, TW_SUM, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce(comm, TW_IN_PLACE, NULL, 1, TW_SUM, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce(comm, x, y, 1, (tw_reduction_t)TW_REDUCTION_ROWS, NULL),
             TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce(comm, x, y, 1, TW_SUM, &wrong_algorithm), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce(comm, x, y, 1, TW_SUM, &wrong_flags), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce(comm, x, y, many, TW_SUM, NULL), TW_ERR_RANGE);
    T_STATUS(tw_iallreduce(comm, x, y, 1, TW_SUM, NULL, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce_init(comm, x, y, 1, TW_SUM, NULL, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_iallreduce(comm, NULL, y, 1, TW_SUM, NULL, &request), TW_ERR_INVALID_ARG);
    T_STATUS(tw_bcast(comm, x, 1, -1, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_bcast(comm, x, 1, t_size, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_bcast(comm, NULL, 1, 0, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_bcast(comm, x, many, 0, NULL), TW_ERR_RANGE);
    T_STATUS(tw_bcast(comm, x, 1, 0, &wrong_flags), TW_ERR_INVALID_ARG);
    T_STATUS(tw_reduce(comm, x, y, 1, TW_SUM, t_size, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_reduce(comm, x, NULL, 1, TW_SUM, t_rank, NULL), TW_ERR_INVALID_ARG);
    if (t_size > 1) { /* in place is for the root */
        T_STATUS(tw_reduce(comm, TW_IN_PLACE, y, 1, TW_SUM, 0, NULL), TW_ERR_INVALID_ARG);
    }
    T_STATUS(tw_allgather(comm, x, y, many / p + 1, NULL), TW_ERR_RANGE);
    T_STATUS(tw_allgather(comm, x, NULL, 1, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allgatherv(comm, x, y, NULL, NULL, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allgatherv(comm, x, y, counts, NULL, NULL), TW_ERR_RANGE);
    T_STATUS(tw_alltoall(comm, x, y, many / p + 1, NULL), TW_ERR_RANGE);
    T_STATUS(tw_alltoall(comm, NULL, y, 1, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_alltoallv(comm, x, NULL, NULL, y, counts, NULL, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_alltoallv(comm, x, counts, NULL, y, NULL, NULL, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_alltoallv(comm, x, counts, NULL, y, counts, NULL, NULL), TW_ERR_RANGE);
    for (int r = 0; r < T_RANKS_MAX; r++) {
        counts[r] = 8;
    }
    T_STATUS(tw_allgatherv(comm, x, y, counts, far, NULL), TW_ERR_RANGE);
    T_STATUS(tw_alltoallv(comm, x, counts, far, y, counts, NULL, NULL), TW_ERR_RANGE);
    T_STATUS(tw_reduce_scatter(comm, x, y, NULL, TW_SUM, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_reduce_scatter_block(comm, x, y, many / p + 1, TW_SUM, NULL), TW_ERR_RANGE);
    T_STATUS(tw_reduce_scatter_block(comm, x, y, 1, (tw_reduction_t)-1, NULL), TW_ERR_INVALID_ARG);
    T_CHECK(request == NULL, "an output was set on failure");
}

static void wrong_arguments_are_local_errors(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm  = t_comm_logged(NULL, &log_of_case, &ctx);
    t_shape_t     shape = {.kind = T_ALLREDUCE, .spec = "", .count = 50};
    tw_stats_t    before, after;

    T_OK(tw_comm_stats(comm, &before));
    if (t_rank == t_size - 1) {
        wrong_arguments(comm);
    }
    T_OK(tw_comm_stats(comm, &after));
    T_CHECK(after.messages_sent == before.messages_sent && after.calls == before.calls,
            "something was sent");
    T_OK(tw_comm_status(comm));
    t_job_once(comm, &shape);
    t_comm_done(comm, ctx);
}

/* Whether there is a device is agreed on, where calls say that their memory is one's. */
static void no_device(void)
{
    const tw_exec_t device    = {.memory = TW_MEMORY_CUDA};
    const tw_how_t  on_device = {.exec = &device};
    t_shape_t       shape     = {.kind = T_ALLREDUCE, .spec = "", .count = 50};
    tw_context_t   *ctx;
    tw_comm_t      *comm = t_comm_logged(NULL, &log_of_case, &ctx);

    T_STATUS(tw_allreduce(comm, x, y, 1, TW_SUM, &on_device), TW_ERR_UNSUPPORTED);
    T_OK(tw_comm_status(comm));
    t_job_once(comm, &shape);
    t_comm_done(comm, ctx);
}

/* No buffer is needed where nothing moves. */
static void nothing_needs_no_buffer(void)
{
    const size_t none[T_RANKS_MAX] = {0};

    T_OK(tw_bcast(t_world, NULL, 0, 0, NULL));
    T_OK(tw_allreduce(t_world, NULL, NULL, 0, TW_SUM, NULL));
    T_OK(tw_reduce(t_world, NULL, NULL, 0, TW_SUM, 0, NULL));
    T_OK(tw_allgather(t_world, NULL, NULL, 0, NULL));
    T_OK(tw_allgatherv(t_world, NULL, NULL, none, NULL, NULL));
    T_OK(tw_alltoall(t_world, NULL, NULL, 0, NULL));
    T_OK(tw_alltoallv(t_world, NULL, none, NULL, NULL, none, NULL, NULL));
    T_OK(tw_reduce_scatter(t_world, NULL, NULL, none, TW_SUM, NULL));
    T_OK(tw_reduce_scatter_block(t_world, NULL, NULL, 0, TW_SUM, NULL));
}

static const t_case_t cases[] = {
    {"settings at their ends", settings_at_their_ends, 1},
    {"an impossible setting on one rank", an_impossible_setting_on_one_rank, 1},
    {"communicators that cannot be", communicators_that_cannot_be, 1},
    {"wrong arguments are local errors", wrong_arguments_are_local_errors, 1},
    {"no device", no_device, 1},
    {"nothing needs no buffer", nothing_needs_no_buffer, 1},
};

T_MAIN(cases)
