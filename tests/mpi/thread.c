/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/thread.c - THINWIRE_PROGRESS=thread: operations go on while their program does
 * something else, and nothing but that changes. And threads of the program on communicators of one
 * context, each on its own.
 */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
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
static void moves(const char *progress, bool by_call)
{
    const char *const settings[] = {progress, "NODE_RANKS=1", "CHUNK=1k", NULL};
    const size_t      n          = 100000;
    const tw_how_t    how        = {.codec = t_codec("bitpack:2", TW_F32)};
    float            *in         = t_malloc(n * sizeof(float));
    float            *out        = t_malloc(n * sizeof(float));
    float            *want       = t_malloc(n * sizeof(float));
    tw_context_t     *ctx;
    tw_comm_t        *comm    = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    tw_request_t     *request = NULL;
    uint64_t          all;

    if (by_call) {
        T_OK(tw_comm_start_progress(comm));
        T_OK(tw_comm_start_progress(comm));
    }
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

static void moves_while_nobody_calls(void)
{
    moves("PROGRESS=thread", false);
}

/* tw_comm_start_progress() instead of the setting. */
static void moves_by_call(void)
{
    T_CHECK(tw_comm_start_progress(NULL) == TW_ERR_INVALID_ARG, "accepted %s", "NULL");
    moves("PROGRESS=none", true);
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

typedef struct sleeper {
    tw_request_t *request;
    tw_status_t   status;
    int           done;
} sleeper_t;

static void *sleeps(void *argument)
{
    sleeper_t *sleeper = argument;

    sleeper->status = tw_wait_for(&sleeper->request, (int)(1000 * PATIENCE), &sleeper->done);
    return NULL;
}

/* Rank 0 waits in one thread and starts the next operation in another; the others begin after
 * that. */
static void starts_while_it_waits(void)
{
    static const char *const settings[] = {"PROGRESS=thread", NULL};
    sleeper_t                sleeper    = {.status = TW_ERR_DEAD};
    tw_request_t            *second     = NULL;
    float                    x = (float)t_rank, a = -1, b = -1, want = 0;
    int                      done = 1;
    pthread_t                thread;
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);

    T_CHECK(tw_wait_for(NULL, 0, &done) == TW_ERR_INVALID_ARG, "accepted %s", "NULL");
    T_CHECK(tw_wait_for(&second, -1, &done) == TW_ERR_INVALID_ARG, "accepted %d", -1);
    T_OK(tw_wait_for(&second, 0, &done));
    T_CHECK(done == 1, "no request is not complete");
    for (int r = 0; r < t_size; r++) {
        want += (float)r;
    }
    T_OK(tw_allreduce(comm, &x, &a, 1, TW_SUM,
                      NULL)); /* what the first call makes, all ranks make */
    a = -1;
    if (t_rank > 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    T_OK(tw_iallreduce(comm, &x, &a, 1, TW_SUM, NULL, &sleeper.request));
    if (t_rank == 0 && t_size > 1) {
        T_OK(tw_wait_for(&sleeper.request, 1, &done));
        T_CHECK(done == 0, "complete without the others");
    }
    T_CHECK(pthread_create(&thread, NULL, sleeps, &sleeper) == 0, "no thread");
    usleep(t_rank == 0 ? 20000 : 0); /* it sleeps, most likely */
    T_OK(tw_iallreduce(comm, &x, &b, 1, TW_SUM, NULL, &second));
    if (t_rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    T_OK(tw_wait(&second));
    pthread_join(thread, NULL);
    T_CHECK(sleeper.status == TW_OK && sleeper.done == 1 && sleeper.request == NULL, "%s, done %d",
            tw_status_text(sleeper.status), sleeper.done);
    T_CHECK(a == want && b == want, "%g and %g", (double)a, (double)b);
    t_comm_done(comm, ctx);
}

/* ---- threads of the program ------------------------------------------------------------------ */

#define THREADS 3
#define ROUNDS  12
#define VALUES  5000

typedef struct worker {
    pthread_t          id;
    pthread_barrier_t *together;
    tw_context_t      *ctx;
    MPI_Comm           parent; /* its own */
    int                number, wrong;
    tw_status_t        worst;
} worker_t;

static void note_status(worker_t *worker, tw_status_t status)
{
    worker->worst = status < worker->worst ? status : worker->worst;
}

/* One communicator: made, used with codecs of its own, gone. */
static void one_communicator(worker_t *worker, int round)
{
    static const char *const specs[] = {"auto:0.01", "bitpack:4", "tree8", "onebit"};
    float                   *x = calloc(2 * VALUES, sizeof(*x)), *y = x + VALUES;
    tw_codec_t              *codec = NULL;
    tw_comm_t               *comm  = NULL;
    tw_feedback_t           *fb    = NULL;
    tw_how_t                 how   = {.codec = NULL};

    pthread_barrier_wait(worker->together); /* all of them at once */
    note_status(worker, tw_comm_create(worker->ctx, worker->parent, &comm));
    note_status(worker, tw_codec_create(worker->ctx, specs[(worker->number + round) % 4], TW_F32,
                                        &codec, NULL, 0));
    if (worker->worst == TW_OK) {
        for (int i = 0; i < VALUES; i++) {
            x[i] = (float)worker->number;
        }
        how.codec = codec;
        note_status(worker, tw_allreduce(comm, x, y, VALUES, TW_SUM, &how));
        worker->wrong += y[VALUES - 1] != (float)(t_size * worker->number);
        note_status(worker, tw_feedback_create(comm, "x", TW_F32, VALUES, &fb));
        how.feedback = fb;
        note_status(worker, tw_allreduce(comm, x, y, VALUES, TW_SUM, &how));
        worker->wrong += y[0] != (float)(t_size * worker->number);
        tw_feedback_destroy(fb);
    }
    tw_codec_destroy(codec);
    note_status(worker, tw_comm_destroy(comm));
    free(x);
}

static void *work(void *argument)
{
    worker_t *worker = argument;

    for (int round = 0; round < ROUNDS; round++) {
        one_communicator(worker, round);
    }
    return NULL;
}

/* What communicators of a context share must bear it. Everything is used for the first time by all
 * threads at once: calibration and recorded decisions, too. */
static void threads_with_communicators_of_their_own(void)
{
    static worker_t   workers[THREADS];
    pthread_barrier_t together;
    tw_context_t     *ctx;
    char              path[400];
    const char       *scratch = getenv("TW_SCRATCH");

    snprintf(path, sizeof(path), "%s/decisions.%d", scratch != NULL ? scratch : "/tmp", t_size);
    remove(path);
    MPI_Barrier(MPI_COMM_WORLD);
    setenv("THINWIRE_DECISIONS", path, 1);
    ctx = t_context();
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.together = &together, .ctx = ctx, .number = i + 1};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].parent);
    }
    for (int i = 0; i < THREADS; i++) {
        T_CHECK(pthread_create(&workers[i].id, NULL, work, &workers[i]) == 0, "no thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].id, NULL);
        T_CHECK(workers[i].worst == TW_OK, "thread %d: %s", i, tw_status_text(workers[i].worst));
        T_CHECK(workers[i].wrong == 0, "thread %d: %d sums are wrong", i, workers[i].wrong);
        MPI_Comm_free(&workers[i].parent);
    }
    pthread_barrier_destroy(&together);
    unsetenv("THINWIRE_DECISIONS");
    tw_context_destroy(ctx);
    remove(path);
}

/* Not a test: what ThreadSanitizer must report (tests/threads.sh). */
static int race_counter;

static void *race_on_purpose(void *argument)
{
    for (int i = 0; i < 1000; i++) {
        race_counter++;
    }
    return argument;
}

static void a_race(void)
{
    pthread_t both[2];

    if (getenv("TW_RACE") != NULL) {
        for (int i = 0; i < 2; i++) {
            pthread_create(&both[i], NULL, race_on_purpose, NULL);
        }
        for (int i = 0; i < 2; i++) {
            pthread_join(both[i], NULL);
        }
    }
}

static const t_case_t cases[] = {
    {"moves while nobody calls", moves_while_nobody_calls, 2},
    {"moves by a thread that a call started", moves_by_call, 2},
    {"wakes up again", wakes_up_again, 1},
    {"starts operations while a thread waits", starts_while_it_waits, 1},
    {"threads with communicators of their own", threads_with_communicators_of_their_own, 1},
    {"a race, if asked for", a_race, 1},
};

int main(int argc, char **argv)
{
    t_thread_level = MPI_THREAD_MULTIPLE;
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
