/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/agreement.c - ranks that differ, and arguments that are wrong: everyone is told, with
 * the rank and the thing named, and nobody hangs.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

static t_log_t log_of_case;

static void the_log_names(int rank, const char *what)
{
    char text[32];

    snprintf(text, sizeof(text), "rank %d", rank);
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log_of_case, text), "no line names %s: %s", text,
            log_of_case.text);
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log_of_case, what), "no line says \"%s\": %s", what,
            log_of_case.text);
}

/* ---- THINWIRE_CHECK=1 ----------------------------------------------------------------------- */

static float x[4096], y[4096];

/* What all do (odd = 0), or what the odd rank does instead. */
static tw_status_t differing_call(tw_comm_t *comm, int way, int odd)
{
    tw_request_t *request = NULL;
    tw_how_t      how     = {0};
    size_t        counts[T_RANKS_MAX];
    tw_status_t   status;

    switch (way) {
    case 0: /* another operation */
        return odd ? tw_bcast(comm, x, 100, 0, NULL) : tw_allreduce(comm, x, y, 100, TW_SUM, NULL);
    case 1: /* another count */
        return tw_allreduce(comm, x, y, odd ? 99 : 100, TW_SUM, NULL);
    case 2: /* another codec */
        how.codec = t_codec(odd ? "bitpack:2" : "bitpack:3", TW_F32);
        return tw_allreduce(comm, x, y, 100, TW_SUM, &how);
    case 3: /* another option of a codec */
        how.codec = t_codec(odd ? "tree8:block=64" : "tree8", TW_F32);
        return tw_allgather(comm, x, y, 100, &how);
    case 4: /* another root */
        return tw_bcast(comm, x, 100, odd ? 0 : 1, NULL);
    case 5: /* another algorithm */
        how.algorithm = odd ? TW_ALGORITHM_DIRECT : TW_ALGORITHM_TWO_PASS;
        return tw_allreduce(comm, x, y, 100, TW_SUM, &how);
    case 6: /* another reduction */
        return tw_allreduce(comm, x, y, 100, odd ? TW_SUM : TW_AVERAGE, NULL);
    case 7: /* nonblocking */
        status = odd ? tw_ialltoall(comm, x, y, 5, NULL, &request)
                     : tw_iallgather(comm, x, y, 5, NULL, &request);
        T_CHECK(request == NULL, "a request was set on failure");
        return status;
    case 8: /* another type */
        how.codec = odd ? t_codec("bitpack:2", TW_F64) : t_codec("bitpack:2", TW_F32);
        return tw_allreduce(comm, x, y, 100, TW_SUM, &how);
    case 9: /* a larger one, for which memory would have to be agreed on */
        return tw_allreduce(comm, x, y, odd ? 4096 : 100, TW_SUM, NULL);
    case 10: /* other counts of a collective that MPI itself carries out */
        how.algorithm = TW_ALGORITHM_MPI;
        for (int r = 0; r < t_size; r++) {
            counts[r] = odd ? 6 : 4;
        }
        return tw_reduce_scatter(comm, x, y, counts, TW_SUM, &how);
    default: /* the same with a plan: said when it is made or when it is started */
        status = tw_alltoall_init(comm, x, y, odd ? 500 : 100, NULL, &request);
        if (status == TW_OK) {
            status = tw_start(request);
            T_OK(tw_request_free(&request));
        }
        return status;
    }
}

static void a_rank_that_calls_something_else_is_named(void)
{
    static const char *const settings[] = {"CHECK=1", NULL};
    static const char *const words[]    = {"bcast", "count=99", "bitpack:2", "block=64",
                                           "root",  "",         "",          "alltoall",
                                           "",      "4096",     "count",     "500"};
    tw_context_t            *ctx;
    tw_comm_t               *comm  = t_comm_logged(settings, &log_of_case, &ctx);
    t_shape_t                shape = {.kind = T_ALLREDUCE, .spec = "int8", .count = 500};

    for (int way = 0; way < 12; way++) {
        for (int odd = t_size - 1; odd >= 0; odd -= t_size > 2 ? t_size - 1 : t_size) {
            t_note("way %d, rank %d differs", way, odd);
            log_of_case = (t_log_t){0};
            T_STATUS(differing_call(comm, way, t_rank == odd), TW_ERR_MISMATCH);
            the_log_names(odd, words[way]);
            T_OK(tw_comm_status(comm));
            t_job_once(comm, &shape); /* it still works */
        }
    }
    t_comm_done(comm, ctx);
}

static void a_plan_started_out_of_order_is_named(void)
{
    static const char *const settings[] = {"CHECK=1", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_logged(settings, &log_of_case, &ctx);
    tw_request_t            *a = NULL, *b = NULL;

    T_OK(tw_allreduce_init(comm, x, y, 100, TW_SUM, NULL, &a));
    T_OK(tw_allreduce_init(comm, x, y, 200, TW_SUM, NULL, &b));
    log_of_case = (t_log_t){0};
    T_STATUS(tw_start(t_rank == t_size - 1 ? b : a), TW_ERR_MISMATCH);
    the_log_names(t_size - 1, "count=200");
    T_OK(tw_start(a));
    T_OK(tw_start(b));
    T_OK(tw_wait(&b));
    T_OK(tw_wait(&a));
    T_OK(tw_request_free(&a));
    T_OK(tw_request_free(&b));
    t_comm_done(comm, ctx);
}

static void nothing_to_complain_of(tw_comm_t *comm, size_t max)
{
    uint64_t  random = t_seed;
    t_shape_t shape;

    for (int i = 0; i < 5 * T_OPS; i++) {
        t_shape_drawn(&shape, (t_op_t)(i % T_OPS), &random, max);
        t_job_once(comm, &shape);
    }
    T_CHECK(log_of_case.lines == 0, "it complains: %s", log_of_case.text);
}

/* Checking must not refuse what is right: v-collectives whose counts differ by rank, too. */
static void checking_lets_right_calls_through(void)
{
    static const char *const settings[] = {"CHECK=1", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_logged(settings, &log_of_case, &ctx);

    nothing_to_complain_of(comm, 2000);
    t_comm_done(comm, ctx);
}

#ifndef MPICH_NUMVERSION
/* Without it MPI says of counts that differ no more than that a message did not fit. */
static void an_error_from_other_counts_says_where_to_look(void)
{
    static const char *const settings[] = {"BCAST=tree", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_logged(settings, &log_of_case, &ctx);
    const int                last = t_rank == t_size - 1;

    T_STATUS(tw_bcast(comm, x, last ? 50 : 100, 0, NULL), last ? TW_ERR_MPI : TW_OK);
    T_CHECK(!last || strstr(log_of_case.text, "THINWIRE_CHECK=1") != NULL,
            "no line says where to look: %s", log_of_case.text);
    t_comm_done(comm, ctx);
}
#endif

/* ---- settings that differ ------------------------------------------------------------------- */

static void ranks_with_other_wire_settings_are_named(void)
{
    static const char *const others[] = {
        "CHUNK=64k",          "MESSAGE_LIMIT=1M", "CHECK=1",      "WINDOW=5",
        "ALLREDUCE=two_pass", "DIRECT_MAX=1",     "BCAST=tree",   "ALLGATHER=grid",
        "ALLTOALL=pairwise",  "MESSAGE_COST=1k",  "TRANSPORT=ucx"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        const char *const settings[] = {others[i], NULL};
        tw_context_t     *ctx;
        tw_comm_t        *comm = NULL;
        char              name[64];

        t_note("%s on the last rank", others[i]);
        snprintf(name, sizeof(name), "THINWIRE_%.*s", (int)strcspn(others[i], "="), others[i]);
        t_settings_put(t_rank == t_size - 1 ? settings : NULL);
        ctx = t_context_logged(&log_of_case);
        T_STATUS(tw_comm_create(ctx, MPI_COMM_WORLD, &comm), TW_ERR_MISMATCH);
        T_CHECK(comm == NULL, "an output was set on failure");
        t_settings_take_out(settings);
        the_log_names(t_size - 1, name);
        tw_context_destroy(ctx);
    }
}

/* What does not matter on the wire may differ. */
static void other_settings_may_differ(void)
{
    char              threads[]  = "THREADS=1";
    const char *const settings[] = {threads,
                                    "CHUNK=256",
                                    t_rank % 2 == 0 ? "TIMEOUT=100" : "TIMEOUT=0",
                                    t_rank % 2 == 0 ? "CPU=scalar" : "CPU=auto",
                                    t_rank % 2 == 0 ? "LOG_LEVEL=error" : "LOG_LEVEL=warn",
                                    NULL};
    tw_context_t     *ctx;
    tw_comm_t        *comm;

    threads[8] = (char)('1' + t_rank % 3);
    comm       = t_comm_logged(settings, &log_of_case, &ctx);
    nothing_to_complain_of(comm, 3000);
    t_comm_done(comm, ctx);
}

/* Rank 0 writes them, at the end: it tries that at the start, and all are told. */
static void decisions_that_cannot_be_written(void)
{
    static const char *const settings[] = {"DECISIONS=/nowhere/at/all", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = NULL;

    t_settings_put(settings);
    ctx = t_context_logged(&log_of_case);
    T_STATUS(tw_comm_create(ctx, MPI_COMM_WORLD, &comm), TW_ERR_IO);
    t_settings_take_out(settings);
    T_CHECK(comm == NULL && log_of_case.lines == (t_rank == 0), "%d lines", log_of_case.lines);
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log_of_case, "/nowhere/at/all cannot be written: No such"),
            "%s", log_of_case.text);
    tw_context_destroy(ctx);
}

static const t_case_t cases[] = {
    {"decisions that cannot be written", decisions_that_cannot_be_written, 1},
    {"a rank that calls something else is named", a_rank_that_calls_something_else_is_named, 2},
    {"a plan started out of order is named", a_plan_started_out_of_order_is_named, 2},
    {"checking lets right calls through", checking_lets_right_calls_through, 1},
#ifndef MPICH_NUMVERSION /* whose Testall asks the handler of MPI_COMM_WORLD, which ends the job */
    {"an error from other counts says where to look", an_error_from_other_counts_says_where_to_look,
     2},
#endif
    {"ranks with other wire settings are named", ranks_with_other_wire_settings_are_named, 2},
    {"other settings may differ", other_settings_may_differ, 1},
};

T_MAIN(cases)
