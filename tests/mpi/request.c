/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/request.c - nonblocking calls and plans: many at once, completed in any order, started
 * many times; progress; what the completion calls return; several communicators.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

#define MANY 24

/* A random order, another one on every rank. */
static void shuffle(int *order, int n, uint64_t *random)
{
    for (int i = 0; i < n; i++) {
        order[i] = i;
    }
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)t_below(random, (size_t)i + 1), old = order[i];

        order[i] = order[k];
        order[k] = old;
    }
}

static void mixed_kinds_completed_in_any_order(void)
{
    static t_job_t jobs[MANY];
    tw_request_t  *requests[MANY] = {NULL};
    uint64_t       shared = t_seed, own = t_seed + 1 + (unsigned)t_rank;
    int            order[MANY];

    for (int turn = 0; turn < 4; turn++) {
        t_jobs_open(jobs, MANY, t_world, &shared, 5000);
        for (int i = 0; i < MANY; i++) {
            t_shape_note(&jobs[i].shape);
            T_OK(t_job_start(&jobs[i], &requests[i]));
        }
        shuffle(order, MANY, &own);
        for (int i = 0; i < MANY; i++) {
            t_shape_note(&jobs[order[i]].shape);
            T_OK(tw_wait(&requests[order[i]]));
            T_CHECK(requests[order[i]] == NULL, "the request is still there");
        }
        t_jobs_close(jobs, MANY);
    }
}

static void tested_until_all_are_done(void)
{
    static t_job_t jobs[MANY];
    tw_request_t  *requests[MANY] = {NULL};
    uint64_t       shared = t_seed + 100, own = t_seed + 101 + (unsigned)t_rank;
    int            left = MANY;

    t_jobs_open(jobs, MANY, t_world, &shared, 5000);
    for (int i = 0; i < MANY; i++) {
        T_OK(t_job_start(&jobs[i], &requests[i]));
    }
    while (left > 0) {
        const int i    = (int)t_below(&own, MANY);
        int       done = 7;

        if (requests[i] == NULL) {
            continue;
        }
        T_OK(tw_test(&requests[i], &done));
        T_CHECK(done == 0 || done == 1, "done is %d", done);
        T_CHECK((requests[i] == NULL) == (done == 1), "done is %d, the request is %p", done,
                (void *)requests[i]);
        left -= done == 1;
    }
    t_jobs_close(jobs, MANY);
}

/* Blocking calls while others are outstanding: they advance those. */
static void blocking_between_nonblocking(void)
{
    static t_job_t jobs[MANY];
    tw_request_t  *requests[MANY] = {NULL};
    uint64_t       shared         = t_seed + 200;

    t_jobs_open(jobs, MANY, t_world, &shared, 20000);
    for (int i = 0; i < MANY; i++) {
        t_shape_note(&jobs[i].shape);
        T_OK(t_job_issue(&jobs[i], i % 3 == 2 ? T_BLOCKING : T_NONBLOCKING, &requests[i]));
    }
    for (int i = MANY - 1; i >= 0; i--) {
        T_OK(tw_wait(&requests[i])); /* NULL for the blocking ones: complete */
    }
    t_jobs_close(jobs, MANY);
}

/* While a rank waits only for small operations, a large one that was started before is carried
 * through by those calls: when the last of them is done, waiting for it moves nothing more. The
 * small ones are sent in the same order by all, so the ranks cannot run apart. */
static void any_call_advances_all(void)
{
    t_shape_t     large = {.kind = T_ALLREDUCE, .dtype = TW_F32, .spec = "tree8", .count = 100003};
    t_shape_t     small = {.kind = T_ALLTOALL, .dtype = TW_F32, .spec = "", .count = 3};
    t_job_t       a, b;
    tw_request_t *request = NULL;
    tw_stats_t    before, after;

    large.algorithm = TW_ALGORITHM_TWO_PASS;
    large.seed = small.seed = t_seed;
    t_job_open(&a, t_world, &large, NULL, NULL);
    t_job_open(&b, t_world, &small, NULL, NULL);
    t_job_fill(&a, 0);
    T_OK(t_job_start(&a, &request));
    for (int i = 0; i < 200; i++) {
        t_job_turn(&b, T_NONBLOCKING, (uint64_t)i);
    }
    T_OK(tw_comm_stats(t_world, &before));
    T_OK(tw_wait(&request));
    T_OK(tw_comm_stats(t_world, &after));
    T_CHECK(after.messages_sent == before.messages_sent, "%llu messages were left for the end",
            (unsigned long long)(after.messages_sent - before.messages_sent));
    t_job_check(&a);
    t_job_close(&a);
    t_job_close(&b);
}

static void plans_of_every_kind_many_times(void)
{
    static t_job_t jobs[2 * T_OPS];
    tw_request_t  *plans[2 * T_OPS] = {NULL};
    uint64_t       shared = t_seed + 300, own = t_seed + 301 + (unsigned)t_rank;
    int            order[2 * T_OPS];

    for (int i = 0; i < 2 * T_OPS; i++) {
        t_shape_t shape;

        t_shape_drawn(&shape, (t_op_t)(i % T_OPS), &shared, 3000);
        t_shape_note(&shape);
        t_job_open(&jobs[i], t_world, &shape, NULL, NULL);
        T_OK(t_job_plan(&jobs[i], &plans[i]));
        T_CHECK(plans[i] != NULL && tw_request_algorithm(plans[i]) != NULL, "no plan");
    }
    for (uint64_t round = 0; round < 12; round++) {
        for (int i = 0; i < 2 * T_OPS; i++) {
            t_job_fill(&jobs[i], round);
            T_OK(tw_start(plans[i]));
        }
        shuffle(order, 2 * T_OPS, &own);
        for (int k = 0; k < 2 * T_OPS; k++) {
            tw_request_t *same = plans[order[k]];
            int           done = round % 2 == 0;

            t_shape_note(&jobs[order[k]].shape);
            if (done) {
                T_OK(tw_wait(&plans[order[k]]));
            }
            while (!done) {
                T_OK(tw_test(&plans[order[k]], &done));
            }
            T_CHECK(plans[order[k]] == same, "a plan did not stay");
            t_job_check(&jobs[order[k]]);
        }
    }
    for (int i = 0; i < 2 * T_OPS; i++) {
        T_OK(tw_request_free(&plans[i]));
        T_CHECK(plans[i] == NULL, "a freed plan is not NULL");
        t_job_close(&jobs[i]);
    }
}

/* Counts and displacements are copied: the caller may overwrite them at once. */
static void a_plan_keeps_its_own_counts(void)
{
    size_t        counts[T_RANKS_MAX], displacements[T_RANKS_MAX];
    float         x[3] = {1.5f, 2.5f, (float)t_rank}, y[4 * T_RANKS_MAX];
    tw_request_t *plan = NULL;

    for (int r = 0; r < t_size; r++) {
        counts[r]        = 3;
        displacements[r] = 4u * (unsigned)r;
    }
    T_OK(tw_allgatherv_init(t_world, x, y, counts, displacements, NULL, &plan));
    memset(counts, 0xff, sizeof(counts));
    memset(displacements, 0xff, sizeof(displacements));
    T_OK(tw_start(plan));
    T_OK(tw_wait(&plan));
    for (int r = 0; r < t_size; r++) {
        const float want[3] = {1.5f, 2.5f, (float)r};

        T_SAME(TW_F32, y + 4 * r, want, 3);
    }
    T_OK(tw_request_free(&plan));
}

static void completion_calls_answer(void)
{
    float         x[100] = {0}, y[100];
    tw_request_t *none = NULL, *plan = NULL, *request = NULL;
    int           done = 0;

    T_OK(tw_wait(&none));
    T_OK(tw_test(&none, &done));
    T_CHECK(done == 1, "NULL is not complete");
    T_OK(tw_request_free(&none));
    T_STATUS(tw_start(NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_wait(NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_test(NULL, &done), TW_ERR_INVALID_ARG);
    T_STATUS(tw_test(&none, NULL), TW_ERR_INVALID_ARG);

    T_OK(tw_allreduce_init(t_world, x, y, 100, TW_SUM, NULL, &plan));
    done = 0;
    T_OK(tw_test(&plan, &done)); /* a plan that is not running is complete */
    T_CHECK(done == 1 && plan != NULL, "a plan that does not run is not complete");
    T_OK(tw_wait(&plan));
    T_STATUS(tw_test(&plan, NULL), TW_ERR_INVALID_ARG);

    T_OK(tw_request_free(&plan));

    T_OK(tw_iallreduce(t_world, x, y, 100, TW_SUM, NULL, &request));
    T_STATUS(tw_start(request), TW_ERR_INVALID_ARG);
    T_STATUS(tw_request_free(&request), TW_ERR_INVALID_ARG);
    T_CHECK(request != NULL, "a nonblocking request was taken away");
    T_OK(tw_wait(&request));
    T_CHECK(request == NULL, "a completed request is left");
    T_OK(tw_wait(&request));
}

/* From tw_start() until tw_wait() or tw_test() says that it is complete, however far it has got: at
 * first the other ranks have not started it, then it has been carried to its end by other calls. */
static void a_plan_runs_until_it_is_completed(void)
{
    t_log_t       log;
    tw_context_t *ctx;
    tw_comm_t    *comm   = t_comm_logged(NULL, &log, &ctx);
    float         x[100] = {0}, y[100], z[1];
    tw_request_t *plan   = NULL;

    T_OK(tw_allreduce_init(comm, x, y, 100, TW_SUM, NULL, &plan));
    for (int late = 0; late < t_size; late++) {
        if (t_rank == late) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        T_OK(tw_start(plan));
        T_STATUS(tw_start(plan), TW_ERR_BUSY);
        T_STATUS(tw_request_free(&plan), TW_ERR_BUSY);
        T_CHECK(plan != NULL, "a busy plan was taken away");
        if (t_rank != late) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        T_OK(tw_allreduce(comm, x, z, 1, TW_SUM, NULL));
        T_STATUS(tw_start(plan), TW_ERR_BUSY);
        T_OK(tw_wait(&plan));
    }
    log.lines = 0;
    T_STATUS(tw_comm_destroy(comm), TW_ERR_BUSY); /* the plan is left */
    T_CHECK(log.lines == 1, "%d lines: %s", log.lines, log.text);
    T_OK(tw_request_free(&plan));
    t_comm_done(comm, ctx);
}

/* how is read during the call only. */
static void how_may_go_away(void)
{
    tw_request_t *request = NULL, *plan = NULL;
    tw_how_t     *how = t_malloc(sizeof(*how));
    float         x[500], y[500], z[500], want[500];

    t_fill(TW_F32, t_seed, 0, 500, x);
    *how = (tw_how_t){.codec = t_codec("int8", TW_F32)};
    T_OK(tw_allreduce(t_world, x, want, 500, TW_SUM, how));
    T_OK(tw_iallreduce(t_world, x, y, 500, TW_SUM, how, &request));
    T_OK(tw_allreduce_init(t_world, x, z, 500, TW_SUM, how, &plan));
    memset(how, 0xee, sizeof(*how));
    free(how);
    T_OK(tw_start(plan));
    T_OK(tw_wait(&request));
    T_OK(tw_wait(&plan));
    T_SAME(TW_F32, y, want, 500);
    T_SAME(TW_F32, z, want, 500);
    T_OK(tw_request_free(&plan));
}

/* Several communicators over the same and over some of the ranks, all busy at once. */
static void several_communicators(void)
{
    enum { COMMS = 4, EACH = 6 };
    static t_job_t jobs[COMMS][EACH];
    tw_request_t  *requests[COMMS][EACH] = {{NULL}};
    tw_comm_t     *comms[COMMS];
    MPI_Comm       half, back;
    int            left = COMMS * EACH;
    uint64_t       shared[COMMS];

    MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, t_rank, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -t_rank, &back); /* the other way round */
    comms[0] = t_comm(t_ctx, MPI_COMM_WORLD);
    comms[1] = t_comm(t_ctx, half);
    comms[2] = t_comm(t_ctx, MPI_COMM_WORLD);
    comms[3] = t_comm(t_ctx, back);
    MPI_Comm_free(&half);
    MPI_Comm_free(&back);
    T_CHECK(tw_comm_rank(comms[3]) == t_size - 1 - t_rank, "rank %d", tw_comm_rank(comms[3]));
    T_CHECK(tw_comm_size(comms[1]) == (t_size + 1 - t_rank % 2) / 2, "size %d",
            tw_comm_size(comms[1]));
    for (int c = 0; c < COMMS; c++) {
        shared[c] = t_seed + 400 + (unsigned)c * 10 + (c == 1 ? (unsigned)t_rank % 2 : 0);
        t_jobs_open(jobs[c], EACH, comms[c], &shared[c], 8000);
    }
    for (int i = 0; i < EACH; i++) {
        for (int c = 0; c < COMMS; c++) {
            T_OK(t_job_start(&jobs[c][i], &requests[c][i]));
        }
    }
    while (left > 0) {
        for (int k = 0; k < COMMS * EACH; k++) {
            tw_request_t **request = &requests[(k + t_rank) % COMMS][k / COMMS];
            int            done    = 0;

            if (*request != NULL) {
                T_OK(tw_test(request, &done));
                left -= done;
            }
        }
    }
    for (int c = 0; c < COMMS; c++) {
        t_jobs_close(jobs[c], EACH);
        T_OK(tw_comm_destroy(comms[c]));
    }
}

/* More operations than MPI has tags to give to them at once must not be mixed up. */
static void a_long_series(void)
{
    enum { SERIES = 3000 };
    const tw_how_t how   = {.codec = t_codec("bitpack:2", TW_F32)};
    float          x[4]  = {1.0f, 2.0f, 4.0f, 0.0f}, y[4];
    size_t         wrong = 0;

    for (int i = 0; i < SERIES; i++) {
        x[3] = (float)(i % 128);
        T_OK(tw_allreduce(t_world, x, y, 4, TW_SUM, &how));
        wrong += y[0] != (float)t_size || y[3] != x[3] * (float)t_size;
    }
    T_CHECK(wrong == 0, "%zu of %d sums are wrong", wrong, (int)SERIES);
}

/* Bytes that this rank, or its progress thread, sends when it starts this; the others have not
 * begun. */
static uint64_t sent_by_start(const tw_comm_t *comm, tw_request_t *plan)
{
    tw_stats_t before, after;
    int        done;

    T_OK(tw_comm_stats(comm, &before));
    T_OK(tw_start(plan));
    T_OK(tw_test(&plan, &done)); /* a pass by this thread, if there is another that would make it */
    T_OK(tw_comm_stats(comm, &after));
    return after.bytes_sent - before.bytes_sent;
}

/* As long as an operation has rounds to begin, those behind it take one at a time. */
static void the_oldest_has_the_link(void)
{
    static const char *const settings[] = {"CHUNK=1k", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm    = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    t_shape_t                shape   = {.kind = T_ALLREDUCE, .dtype = TW_F32, .spec = ""};
    tw_request_t            *plan[3] = {NULL};
    t_job_t                  job[3];
    uint64_t                 sent[3];

    shape.algorithm = TW_ALGORITHM_TWO_PASS;
    shape.count     = (size_t)t_size * 2501; /* 10 messages for each rank */
    for (int i = 0; i < 3; i++) {
        shape.seed = t_seed + (unsigned)i;
        t_job_open(&job[i], comm, &shape, NULL, NULL);
        T_OK(t_job_plan(&job[i], &plan[i]));
        t_job_fill(&job[i], 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3 && t_rank == 0; i++) {
        sent[i] = sent_by_start(comm, plan[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3 && t_rank > 0; i++) {
        T_OK(tw_start(plan[i]));
    }
    for (int i = 2; i >= 0; i--) {
        T_OK(tw_wait(&plan[i]));
        t_job_check(&job[i]);
        T_OK(tw_request_free(&plan[i]));
        t_job_close(&job[i]);
    }
    if (t_rank == 0 && t_size > 1) {
        T_CHECK(sent[1] > 0 && 2 * sent[1] < sent[0] && sent[1] == sent[2],
                "%llu, %llu and %llu bytes were sent by three in a row",
                (unsigned long long)sent[0], (unsigned long long)sent[1],
                (unsigned long long)sent[2]);
    }
    t_comm_done(comm, ctx);
}

/* ---- messages between two ranks -------------------------------------------------------------- */

#define MESSAGE_MOST 300000

static unsigned char message_byte(int from, int to, int tag, size_t i)
{
    return (unsigned char)((size_t)(from * 31 + to * 7 + tag) + i * 13 + (i >> 8));
}

static size_t message_size(int from, int to, int tag)
{
    static const size_t sizes[] = {0, 1, 7, 4097, 70001, MESSAGE_MOST};

    return sizes[(from + 2 * to + tag) % 6];
}

static int message_complete(tw_message_t **message_p)
{
    int done = 0, peer = -2;

    while (!done && *message_p != NULL) {
        T_OK(tw_message_test(message_p, &done, &peer));
    }
    T_CHECK(*message_p == NULL, "a complete message was not released");
    return peer;
}

/* All to all by messages, which are started in another order on every rank, before, after and among
 * those of collectives. */
static void messages_of_all_to_all(void)
{
    enum { TAGS = 2, MOST = T_RANKS_MAX * TAGS };
    unsigned char *out[MOST], *in[MOST];
    tw_message_t  *sent[MOST], *received[MOST];
    const int      all = t_size * TAGS, tags[TAGS] = {0, TW_MESSAGE_TAGS - 1};
    int            order[MOST];
    uint64_t       random = t_seed + (uint64_t)t_rank;
    float          value = 1.0F, sum = 0.0F;
    tw_request_t  *request = NULL;

    T_OK(tw_iallreduce(t_world, &value, &sum, 1, TW_SUM, NULL, &request));
    for (int pass = 0; pass < 2; pass++) {
        shuffle(order, all, &random);
        for (int k = 0; k < all; k++) {
            const int    i = order[k], peer = i / TAGS, tag = tags[i % TAGS];
            const size_t n = message_size(t_rank, peer, i % TAGS),
                         m = message_size(peer, t_rank, i % TAGS);

            if (pass == 0) {
                out[i] = t_alloc(n, 1);
                for (size_t b = 0; b < n; b++) {
                    out[i][b] = message_byte(t_rank, peer, tag, b);
                }
                T_OK(tw_message_send(t_world, out[i], n, peer, tag, &sent[i]));
            } else {
                in[i] = t_alloc(m, 3);
                T_OK(tw_message_recv(t_world, in[i], m, peer, tag, &received[i]));
            }
        }
    }
    shuffle(order, all, &random);
    for (int k = 0; k < all; k++) {
        const int    i = order[k], peer = i / TAGS, tag = tags[i % TAGS];
        const size_t m = message_size(peer, t_rank, i % TAGS);

        t_expect("sender", (uint64_t)message_complete(&received[i]), (uint64_t)peer);
        t_expect("receiver", (uint64_t)message_complete(&sent[i]), (uint64_t)peer);
        for (size_t b = 0; b < m; b++) {
            if (in[i][b] != message_byte(peer, t_rank, tag, b)) {
                T_CHECK(0, "byte %zu of %zu from rank %d with tag %d is wrong", b, m, peer, tag);
                break;
            }
        }
        t_free(in[i]);
        t_free(out[i]);
    }
    T_OK(tw_wait(&request));
    T_CHECK(sum == (float)t_size, "the sum beside messages is %g", (double)sum);
}

/* Rank 0 receives of any rank; all others send as many as there are ranks. */
static void messages_of_any_rank(void)
{
    int from[T_RANKS_MAX] = {0};

    for (int k = 0; k < t_size * (t_size - 1); k++) {
        int           said    = -1;
        tw_message_t *message = NULL;

        if (t_rank == 0) {
            T_OK(tw_message_recv(t_world, &said, sizeof(said), TW_ANY_RANK, 5, &message));
            T_CHECK(message_complete(&message) == said, "the message of rank %d has another sender",
                    said);
            from[said >= 0 ? said : 0]++;
        } else if (k < t_size) {
            T_OK(tw_message_send(t_world, &t_rank, sizeof(t_rank), 0, 5, &message));
            message_complete(&message);
        }
    }
    for (int r = 1; r < t_size && t_rank == 0; r++) {
        t_expect("messages of a rank", (uint64_t)from[r], (uint64_t)t_size);
    }
}

static void messages_with_wrong_arguments(void)
{
    tw_message_t *message = NULL;
    int           done = 0, byte = 0;

    T_STATUS(tw_message_send(t_world, &byte, 1, t_size, 0, &message), TW_ERR_RANGE);
    T_STATUS(tw_message_send(t_world, &byte, 1, TW_ANY_RANK, 0, &message), TW_ERR_RANGE);
    T_STATUS(tw_message_send(t_world, &byte, 1, 0, TW_MESSAGE_TAGS, &message), TW_ERR_RANGE);
    T_STATUS(tw_message_recv(t_world, &byte, 1, 0, -1, &message), TW_ERR_RANGE);
    T_STATUS(tw_message_recv(t_world, &byte, (size_t)1 << 31, TW_ANY_RANK, 0, &message),
             TW_ERR_RANGE);
    T_STATUS(tw_message_recv(t_world, NULL, 1, 0, 0, &message), TW_ERR_INVALID_ARG);
    T_STATUS(tw_message_send(NULL, &byte, 1, 0, 0, &message), TW_ERR_INVALID_ARG);
    T_STATUS(tw_message_test(&message, &done, NULL), TW_ERR_INVALID_ARG);
}

static const t_case_t cases[] = {
    {"mixed kinds completed in any order", mixed_kinds_completed_in_any_order, 1},
    {"tested until all are done", tested_until_all_are_done, 1},
    {"blocking between nonblocking", blocking_between_nonblocking, 1},
    {"any call advances all", any_call_advances_all, 1},
    {"the oldest has the link", the_oldest_has_the_link, 1},
    {"plans of every kind many times", plans_of_every_kind_many_times, 1},
    {"a plan keeps its own counts", a_plan_keeps_its_own_counts, 1},
    {"completion calls answer", completion_calls_answer, 1},
    {"a plan runs until it is completed", a_plan_runs_until_it_is_completed, 1},
    {"how may go away", how_may_go_away, 1},
    {"several communicators", several_communicators, 1},
    {"a long series", a_long_series, 1},
    {"messages of all to all", messages_of_all_to_all, 1},
    {"messages of any rank", messages_of_any_rank, 2},
    {"messages with wrong arguments", messages_with_wrong_arguments, 1},
};

T_MAIN(cases)
