/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/timeout.c - THINWIRE_TIMEOUT: a rank that does not come is reported, and everything on
 * the communicator after that says that it is dead; ranks that are only slow, or were away, are
 * not.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mpi/job.h"

#define LIMIT 0.5 /* seconds */

static t_log_t log_of_case;

static tw_comm_t *impatient(int check, tw_context_t **ctx_p)
{
    const char *const settings[] = {"TIMEOUT=0.5", check ? "CHECK=1" : NULL, NULL};

    return t_comm_logged(settings, &log_of_case, ctx_p);
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
    tw_comm_t     *comm = impatient(0, &ctx);
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

/* The calls that agree on something first, on memory that none of them has yet, or on being the
 * same call, do not wait for ever either. */
static void agreement_that_is_not_answered(void)
{
    static const char *const what[] = {"the first call", "a checked call", "a new feedback object",
                                       "the norm of one", "saving one"};

    for (int way = 0; way < 5; way++) {
        tw_context_t  *ctx;
        tw_comm_t     *comm = impatient(way == 1, &ctx);
        tw_feedback_t *fb = NULL, *other = NULL;
        FILE          *stream = way == 4 && t_rank == 0 ? tmpfile() : NULL;
        float          x[64]  = {0}, y[64];
        double         norm;

        t_note("%s", what[way]);
        if (way >= 3) {
            T_OK(tw_feedback_create(comm, "f", TW_F32, 64, &fb));
        }
        if (t_rank != t_size - 1) {
            const double start = MPI_Wtime();
            tw_status_t  status;

            status = way == 2   ? tw_feedback_create(comm, "g", TW_F32, 64, &other)
                     : way == 3 ? tw_feedback_norm(fb, &norm)
                     : way == 4 ? tw_feedback_save(fb, stream)
                                : tw_allreduce(comm, x, y, 64, TW_SUM, NULL);
            T_STATUS(status, TW_ERR_TIMEOUT);
            T_CHECK(MPI_Wtime() - start < LIMIT + 3.0, "it took %g s", MPI_Wtime() - start);
            T_STATUS(tw_allreduce(comm, x, y, 64, TW_SUM, NULL), TW_ERR_DEAD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        tw_feedback_destroy(fb);
        t_comm_done(comm, ctx);
        if (stream != NULL) {
            fclose(stream);
        }
    }
}

/* The rank that did not come comes after all, when the others have given up and released all they
 * had. Its messages must not arrive in memory that has since become something else. */
static void a_rank_that_comes_too_late(void)
{
    enum { N = 700 };
    tw_context_t *ctx;
    tw_comm_t    *comm = impatient(0, &ctx);
    float         x[N] = {0}, y[N];
    void         *memory[64];
    int           changed = 0;
    tw_status_t   status;

    T_OK(tw_allreduce(comm, x, y, N, TW_SUM, NULL));
    if (t_rank != t_size - 1) {
        T_STATUS(tw_allreduce(comm, x, y, N, TW_SUM, NULL), TW_ERR_TIMEOUT);
        t_comm_done(comm, ctx);
        for (int i = 0; i < 64; i++) { /* as likely as not, the same memory */
            memory[i] = t_malloc((size_t)1 << (10 + i % 8));
            memset(memory[i], 0x77, (size_t)1 << (10 + i % 8));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == t_size - 1) {
        for (int i = 0; i < N; i++) {
            x[i] = 1.0f;
        }
        /* What the others sent before they gave up may be all that it needs. */
        status = tw_allreduce(comm, x, y, N, TW_SUM, NULL);
        T_CHECK(status == TW_OK || status == TW_ERR_TIMEOUT, "%s", tw_status_name(status));
        t_comm_done(comm, ctx);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank != t_size - 1) {
        for (int i = 0; i < 64; i++) {
            for (size_t k = 0; k < (size_t)1 << (10 + i % 8); k++) {
                changed += ((unsigned char *)memory[i])[k] != 0x77;
            }
            free(memory[i]);
        }
        T_CHECK(changed == 0, "%d bytes of memory have changed", changed);
    }
}

/* Slower than the rest, but within the limit. */
static void a_rank_that_is_late(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm  = impatient(0, &ctx);
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
    tw_comm_t    *comm       = impatient(0, &ctx);
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

/* Rank 0 starts, is away for longer than the limit, and then still has to wait a little for the
 * others: only time in which it looked counts. */
static void away_while_the_others_are_late(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm    = impatient(0, &ctx);
    t_shape_t     shape   = {.kind = T_ALLREDUCE, .spec = "tree8", .count = 3000};
    tw_request_t *request = NULL;
    t_job_t       job;

    t_job_once(comm, &shape);
    t_job_open(&job, comm, &shape, NULL, NULL);
    t_job_fill(&job, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank != 0) {
        away(1.9 * LIMIT);
    }
    T_OK(t_job_start(&job, &request));
    if (t_rank == 0) {
        away(1.5 * LIMIT);
    }
    T_OK(tw_wait(&request));
    t_job_check(&job);
    t_job_close(&job);
    t_comm_done(comm, ctx);
}

/* Stop this process for so many seconds, some time after now; what is written to `at` when it goes
 * on says so to the others. The child is to be waited for. */
static pid_t stop_me(double after, double seconds, volatile int *gone_on)
{
    const pid_t child = fork();

    if (child == 0) {
        away(after);
        kill(getppid(), SIGSTOP);
        away(seconds);
        kill(getppid(), SIGCONT);
        away(0.1 * LIMIT);
        *gone_on = 1;
        _exit(0);
    }
    return child;
}

/* Memory that the ranks of this machine share. */
static volatile int *shared_word(MPI_Comm machine, MPI_Win *window)
{
    MPI_Aint bytes;
    int      unit, rank;
    void    *at;

    MPI_Comm_rank(machine, &rank);
    MPI_Win_allocate_shared(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, machine, &at,
                            window);
    MPI_Win_shared_query(*window, 0, &bytes, &unit, &at);
    if (rank == 0) {
        *(volatile int *)at = 0;
    }
    MPI_Barrier(machine);
    return at;
}

/* What rank 0 waits in while it is stopped. */
typedef enum where { IN_SHORT, IN_LONG_BCAST, IN_MESSAGES, IN_AGREEMENT, IN_TEST, WHERES } where_t;

static void wait_in(tw_comm_t *comm, where_t where, float *x, size_t n)
{
    tw_how_t      lossy   = {.codec = t_codec("tree8", TW_F32)};
    tw_request_t *request = NULL;
    int           done    = 0;

    switch (where) {
    case IN_SHORT:
        T_OK(tw_allreduce(comm, TW_IN_PLACE, x, 5, TW_SUM, NULL));
        break;
    case IN_LONG_BCAST:
        T_OK(tw_bcast(comm, x, n, t_size - 1, NULL));
        break;
    case IN_MESSAGES:
        T_OK(tw_allreduce(comm, TW_IN_PLACE, x, n, TW_SUM, &lossy));
        break;
    case IN_AGREEMENT: /* on memory for more than ever before */
        T_OK(tw_allreduce(comm, TW_IN_PLACE, x, 2 * n, TW_SUM, &lossy));
        break;
    default:
        T_OK(tw_iallreduce(comm, TW_IN_PLACE, x, n, TW_SUM, NULL, &request));
        while (!done && tw_comm_status(comm) == TW_OK) {
            T_OK(tw_test(&request, &done));
        }
        T_CHECK(done, "not done");
    }
}

/* Rank 0 waits, and is stopped for longer than the limit, as by Ctrl-Z or a machine that sleeps.
 * The others, busy elsewhere, come when it goes on. Nobody waited in vain for that long. */
static void a_rank_that_is_stopped_while_it_waits(void)
{
    enum { N = 9000 };
    tw_context_t *ctx;
    tw_comm_t    *comm = impatient(0, &ctx);
    float        *x    = calloc(2 * N, sizeof(float));
    MPI_Comm      machine;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    for (int where = 0; where < WHERES && x != NULL; where++) {
        MPI_Win       window;
        volatile int *gone_on = shared_word(machine, &window);
        pid_t         child   = -1;

        t_note("way %d", where);
        T_OK(tw_bcast(comm, x, N, 0, NULL));
        if (where == IN_MESSAGES || where == IN_TEST) { /* so that nothing is to be agreed on */
            wait_in(comm, (where_t)where, x, N);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (t_rank == 0) {
            child = stop_me(0.05 * LIMIT, 1.5 * LIMIT, gone_on);
        }
        while (t_rank != 0 && *gone_on == 0) {
            away(0.005);
        }
        wait_in(comm, (where_t)where, x, N);
        if (t_rank == 0) {
            waitpid(child, NULL, 0);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_free(&window);
    }
    MPI_Comm_free(&machine);
    free(x);
    t_comm_done(comm, ctx);
}

/* A rank that is stopped for longer than the limit while the others wait for it is one that does
 * not come: they give up. It finds that out itself, or had all that it needed. */
static void a_rank_that_is_stopped_while_others_wait(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm = impatient(0, &ctx);
    MPI_Comm      machine;
    MPI_Win       window;
    volatile int *gone_on;
    float         x[5] = {0};

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    gone_on = shared_word(machine, &window);
    T_OK(tw_allreduce(comm, TW_IN_PLACE, x, 5, TW_SUM, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == t_size - 1) {
        const pid_t child = stop_me(0.0, 2.5 * LIMIT, gone_on);
        tw_status_t status;

        while (*gone_on == 0) {
            away(0.005); /* stopped in here */
        }
        status = tw_allreduce(comm, TW_IN_PLACE, x, 5, TW_SUM, NULL);
        T_CHECK(status == TW_OK || status == TW_ERR_TIMEOUT, "%s", tw_status_name(status));
        waitpid(child, NULL, 0);
    } else {
        T_STATUS(tw_allreduce(comm, TW_IN_PLACE, x, 5, TW_SUM, NULL), TW_ERR_TIMEOUT);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    t_last_is_named(&log_of_case);
    MPI_Win_free(&window);
    MPI_Comm_free(&machine);
    t_comm_done(comm, ctx);
}

/* Each of many ranks comes late, by less than the limit: together by more. */
static void ranks_that_come_one_after_the_other(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm = impatient(0, &ctx);
    float         x[5] = {1, 2, 3, 4, 5};

    T_OK(tw_allreduce(comm, TW_IN_PLACE, x, 5, TW_SUM, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    away(0.65 * LIMIT * (t_rank < 2 ? t_rank : 2));
    T_OK(tw_allreduce(comm, TW_IN_PLACE, x, 5, TW_SUM, NULL));
    t_comm_done(comm, ctx);
}

/* A limit of this communicator alone, and a call that another thread ends. */
static void *end_it(void *comm)
{
    away(LIMIT / 5);
    T_OK(tw_comm_abort(comm));
    return NULL;
}

static void limits_of_one_communicator(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm[2] = {t_comm_logged(NULL, &log_of_case, &ctx), NULL};
    pthread_t     thread;
    float         x[5] = {0};

    T_OK(tw_comm_create(ctx, MPI_COMM_WORLD, &comm[1]));
    T_STATUS(tw_comm_set_timeout(comm[0], strtod("nan", NULL)), TW_ERR_INVALID_ARG);
    T_OK(tw_comm_set_timeout(comm[0], LIMIT));
    if (t_rank > 0) {
        T_STATUS(tw_allreduce(comm[0], TW_IN_PLACE, x, 5, TW_SUM, NULL), TW_ERR_TIMEOUT);
        T_CHECK(pthread_create(&thread, NULL, end_it, comm[1]) == 0, "no thread");
        T_STATUS(tw_allreduce(comm[1], TW_IN_PLACE, x, 5, TW_SUM, NULL), TW_ERR_DEAD);
        pthread_join(thread, NULL);
    } else {
        T_OK(tw_comm_abort(comm[0]));
        T_OK(tw_comm_abort(comm[1]));
    }
    T_STATUS(tw_allreduce(comm[1], TW_IN_PLACE, x, 5, TW_SUM, NULL), TW_ERR_DEAD);
    MPI_Barrier(MPI_COMM_WORLD);
    T_OK(tw_comm_destroy(comm[1]));
    t_comm_done(comm[0], ctx);
}

static const t_case_t cases[] = {
    {"a rank that is late", a_rank_that_is_late, 1},
    {"all were away", all_were_away, 1},
    {"away while the others are late", away_while_the_others_are_late, 1},
    {"a rank that is stopped while it waits", a_rank_that_is_stopped_while_it_waits, 2},
    {"a rank that is stopped while others wait", a_rank_that_is_stopped_while_others_wait, 2},
    {"ranks that come one after the other", ranks_that_come_one_after_the_other, 3},
    {"a rank that does not come", a_rank_that_does_not_come, 2},
    {"a large vector that is not fetched", a_large_vector_that_is_not_fetched, 2},
    {"requests that are never answered", requests_that_are_never_answered, 2},
    {"agreement that is not answered", agreement_that_is_not_answered, 2},
    {"a rank that comes too late", a_rank_that_comes_too_late, 2},
    {"limits of one communicator", limits_of_one_communicator, 2},
};

T_MAIN(cases)
