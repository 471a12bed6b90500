/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/timeout.c - THINWIRE_TIMEOUT: a rank that does not come is reported, and everything on
 * the communicator after that says that it is dead; ranks that are only slow, or were away, are
 * not.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"

#define LIMIT 0.5 /* seconds */

static t_log_t log_of_case;

static tw_comm_t *impatient(tw_context_t **ctx_p)
{
    static const char *const settings[] = {"TIMEOUT=0.5", NULL};
    tw_comm_t               *comm;

    log_of_case.lines   = 0;
    log_of_case.text[0] = '\0';
    t_settings_put(settings);
    *ctx_p = t_context();
    T_OK(tw_context_set_log(*ctx_p, t_log_take, &log_of_case));
    comm = t_comm(*ctx_p, MPI_COMM_WORLD);
    t_settings_take_out(settings);
    return comm;
}

static void away(double seconds)
{
    usleep((useconds_t)(seconds * 1e6));
}

static void everything_says_dead(tw_comm_t *comm, tw_request_t *plan, tw_feedback_t *fb)
{
    const double   start               = MPI_Wtime();
    float          x[8]                = {0}, y[8 * T_RANKS_MAX];
    size_t         counts[T_RANKS_MAX] = {0};
    tw_request_t  *request             = NULL;
    tw_feedback_t *other               = NULL;
    double         norm;

    T_STATUS(tw_bcast(comm, x, 1, 0, NULL), TW_ERR_DEAD);
    T_STATUS(tw_allgather(comm, x, y, 1, NULL), TW_ERR_DEAD);
    T_STATUS(tw_allgatherv(comm, x, y, counts, NULL, NULL), TW_ERR_DEAD);
    T_STATUS(tw_alltoall(comm, x, y, 1, NULL), TW_ERR_DEAD);
    T_STATUS(tw_alltoallv(comm, x, counts, NULL, y, counts, NULL, NULL), TW_ERR_DEAD);
    T_STATUS(tw_allreduce(comm, x, y, 1, TW_SUM, NULL), TW_ERR_DEAD);
    T_STATUS(tw_reduce(comm, x, y, 1, TW_SUM, 0, NULL), TW_ERR_DEAD);
    T_STATUS(tw_reduce_scatter(comm, x, y, counts, TW_SUM, NULL), TW_ERR_DEAD);
    T_STATUS(tw_reduce_scatter_block(comm, x, y, 1, TW_SUM, NULL), TW_ERR_DEAD);
    T_STATUS(tw_iallreduce(comm, x, y, 1, TW_SUM, NULL, &request), TW_ERR_DEAD);
    T_CHECK(request == NULL, "an output was set on failure");
    T_STATUS(tw_start(plan), TW_ERR_DEAD);
    T_STATUS(tw_feedback_create(comm, "f", TW_F32, 8, &other), TW_ERR_DEAD);
    T_STATUS(tw_feedback_norm(fb, &norm), TW_ERR_DEAD);
    T_STATUS(tw_feedback_save(fb, t_rank == 0 ? stderr : NULL), TW_ERR_DEAD);
    T_CHECK(MPI_Wtime() - start < 0.4, "it took %g s to say so", MPI_Wtime() - start);
}

static void give_up(int blocking, size_t count)
{
    tw_context_t  *ctx;
    tw_comm_t     *comm = impatient(&ctx);
    float         *x = calloc(2 * count, sizeof(float)), *y = x + count;
    tw_request_t  *plan = NULL, *first = NULL, *second = NULL;
    tw_feedback_t *fb = NULL;
    int            lines;

    T_OK(tw_feedback_create(comm, "f", TW_F32, 8, &fb));
    T_OK(tw_allreduce_init(comm, x, y, count, TW_SUM, NULL, &plan));
    T_OK(tw_allreduce(comm, x, y, count, TW_SUM, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank != t_size - 1) { /* the last rank takes no part */
        const double start = MPI_Wtime();

        if (blocking) {
            T_STATUS(tw_allreduce(comm, x, y, count, TW_SUM, NULL), TW_ERR_TIMEOUT);
        } else {
            T_OK(tw_iallreduce(comm, x, y, count, TW_SUM, NULL, &first));
            T_OK(tw_ibcast(comm, x, count, t_size - 1, NULL, &second));
            T_STATUS(tw_wait(&first), TW_ERR_TIMEOUT);
            T_CHECK(first == NULL, "a failed request is left");
            T_CHECK(tw_wait(&second) != TW_OK && second == NULL, "the second request");
        }
        T_CHECK(MPI_Wtime() - start > 0.8 * LIMIT && MPI_Wtime() - start < LIMIT + 3.0,
                "it took %g s", MPI_Wtime() - start);
        T_STATUS(tw_comm_status(comm), TW_ERR_TIMEOUT);
        everything_says_dead(comm, plan, fb);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log_of_case, "rank"), "no line names a rank");
    lines = log_of_case.lines;
    T_CHECK(t_rank == t_size - 1 || lines >= 1, "no line");
    T_OK(tw_request_free(&plan));
    tw_feedback_destroy(fb);
    t_comm_done(comm, ctx);
    MPI_Barrier(MPI_COMM_WORLD);
    free(x);
}

static void a_rank_that_does_not_come(void)
{
    give_up(1, 100);
}
static void a_large_vector_that_is_not_fetched(void)
{
    give_up(1, 300000);
}
static void requests_that_are_never_answered(void)
{
    give_up(0, 5000);
}

/* Slower than the rest, but within the limit. */
static void a_rank_that_is_late(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm  = impatient(&ctx);
    t_shape_t     shape = {.kind = T_ALLREDUCE, .spec = "tree8", .count = 50000};

    for (int late = 0; late < t_size && late < 2; late++) {
        if (t_rank == late) {
            away(0.4 * LIMIT);
        }
        t_job_once(comm, &shape);
    }
    t_comm_done(comm, ctx);
}

/* All were busy elsewhere for longer than the limit: between two calls, and between start and wait.
 * Nobody waited in vain, so nothing is dead. */
static void all_were_away(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm       = impatient(&ctx);
    t_shape_t     shape[2]   = {{.kind = T_ALLREDUCE, .spec = "", .count = 200000},
                                {.kind = T_ALLTOALL, .spec = "onebit", .count = 100}};
    tw_request_t *request[2] = {NULL, NULL};
    t_job_t       job[2];

    shape[0].algorithm = TW_ALGORITHM_TWO_PASS;
    t_job_once(comm, &shape[0]);
    away(1.5 * LIMIT);
    t_job_once(comm, &shape[1]);
    for (int i = 0; i < 2; i++) {
        t_job_open(&job[i], comm, &shape[i], NULL, NULL);
        t_job_fill(&job[i], 1);
        T_OK(t_job_start(&job[i], &request[i]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    away(1.5 * LIMIT);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i >= 0; i--) {
        T_OK(tw_wait(&request[i]));
        t_job_check(&job[i]);
        t_job_close(&job[i]);
    }
    t_comm_done(comm, ctx);
}

static const t_case_t cases[] = {
    {"a rank that is late", a_rank_that_is_late, 1},
    {"all were away", all_were_away, 1},
    {"a rank that does not come", a_rank_that_does_not_come, 2},
    {"a large vector that is not fetched", a_large_vector_that_is_not_fetched, 2},
    {"requests that are never answered", requests_that_are_never_answered, 2},
};

int main(int argc, char **argv)
{
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
