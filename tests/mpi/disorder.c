/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/disorder.c - an MPI library that is slow and moody: it says "not yet" at random, so
 * that pieces, stages and operations overlap in orders that a quiet machine never shows; one
 * with very few tags, so that they repeat; and one that reads what it sends as late as it may.
 * Results must be the model's all the same.
 *
 * The calls are changed through the transport's table of MPI calls; this test links its inside.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/transport/api/open.h"
#include "runtime/transport/comm/comm.h"
#include "tests/mpi/job.h"

#define MANY 16

static uint64_t mood;     /* random numbers of this rank alone */
static int      patience; /* of 1024 completion tests, how many are passed on */
static int      few_tags;

static int         hold; /* 1: the next request that is tested becomes the held one */
static MPI_Request held = MPI_REQUEST_NULL; /* "not yet" for as long as this is set */

/* Sends that read their data late: persistent requests, in the order of the calls. */
#define LATE_MOST 4096
static struct {
    MPI_Request request;
    int         peer, begun;
} late[LATE_MOST];
static int lates, few_begin; /* of 1024 chances to begin, how many are taken */

static int late_isend(const void *bytes, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                      MPI_Request *request)
{
    int result;

    if (lates == LATE_MOST) {
        return MPI_ERR_OTHER; /* too many sends for this test */
    }
    result              = MPI_Send_init(bytes, n, type, peer, tag, comm, request);
    late[lates].request = *request;
    late[lates].peer    = peer;
    late[lates++].begun = 0;
    return result;
}

/* Some of them begin: to each rank in the order of the calls. */
static void late_begin(void)
{
    unsigned held_up = 0; /* bits of ranks */

    for (int i = 0; i < lates; i++) {
        const unsigned peer = 1u << late[i].peer;

        if (late[i].begun || (held_up & peer) != 0) {
            continue;
        }
        if ((int)t_below(&mood, 1024) < few_begin) {
            late[i].begun = 1;
            MPI_Start(&late[i].request);
        } else {
            held_up |= peer;
        }
    }
}

/* MPI_Test, also of those. */
static int late_test(MPI_Request *request, int *flag)
{
    int i = 0, result;

    while (i < lates && late[i].request != *request) {
        i++;
    }
    if (i == lates) {
        return MPI_Test(request, flag, MPI_STATUS_IGNORE);
    }
    if (!late[i].begun) {
        return MPI_SUCCESS;
    }
    result = MPI_Test(request, flag, MPI_STATUS_IGNORE);
    if (*flag) {
        MPI_Request_free(request);
        memmove(&late[i], &late[i + 1], (size_t)(--lates - i) * sizeof(late[0]));
    }
    return result;
}

/* Each of the requests, if it likes. */
static int moody_testsome(int n, MPI_Request requests[], int *count, int which[],
                          MPI_Status statuses[])
{
    int result = MPI_SUCCESS;

    (void)statuses;
    *count = 0;
    late_begin();
    if (hold) {
        held = requests[0];
        hold = 0;
    }
    for (int i = 0; i < n && result == MPI_SUCCESS; i++) {
        int flag = 0;

        if (requests[i] != held && (int)t_below(&mood, 1024) < patience) {
            result = late_test(&requests[i], &flag);
        }
        if (flag) {
            which[(*count)++] = i;
        }
    }
    return result;
}

/* The smallest number of tags that the standard allows. */
static int poor_comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
    static int tags = 32767;

    if (few_tags && key == MPI_TAG_UB) {
        memcpy(value, &(int *){&tags}, sizeof(int *));
        *flag = 1;
        return MPI_SUCCESS;
    }
    return MPI_Comm_get_attr(comm, key, value, flag);
}

static tw_comm_t *strange_comm(const char *const *settings, tw_context_t **ctx_p)
{
    static tw_mpi_ops_t mpi;
    tw_comm_t          *comm = NULL;

    mpi               = tw_mpi_default;
    mpi.Testsome      = moody_testsome;
    mpi.Isend         = few_begin > 0 ? late_isend : MPI_Isend;
    mpi.Comm_get_attr = poor_comm_get_attr;
    mood              = t_seed + 77u * (unsigned)t_rank;
    t_settings_put(settings);
    *ctx_p = t_context();
    T_OK(tw_comm_create_with(*ctx_p, &mpi, MPI_COMM_WORLD, &comm));
    t_settings_take_out(settings);
    return comm;
}

/* Many operations at once on a communicator whose messages complete when they like. */
static void overlap(tw_comm_t *comm, uint64_t shared, int turns)
{
    static t_job_t jobs[MANY];
    tw_request_t  *requests[MANY] = {NULL};

    for (int turn = 0; turn < turns; turn++) {
        t_jobs_open(jobs, MANY, comm, &shared, 3000);
        for (int i = 0; i < MANY; i++) {
            T_OK(t_job_start(&jobs[i], &requests[i]));
        }
        t_jobs_wait(jobs, MANY, requests);
        t_jobs_close(jobs, MANY);
    }
}

static void messages_complete_when_they_like(void)
{
    static const char *const windows[] = {"WINDOW=1", "WINDOW=3", "WINDOW=8"};

    few_tags = 0;
    for (int w = 0; w < 3; w++) {
        const char *const settings[] = {windows[w], "CHUNK=512", "MESSAGE_LIMIT=1000", NULL};
        tw_context_t     *ctx;
        tw_comm_t        *comm;

        patience = 64 + 256 * w;
        comm     = strange_comm(settings, &ctx);
        overlap(comm, t_seed + (unsigned)w, 4);
        t_comm_done(comm, ctx);
    }
}

/* The algorithm that cuts it into pieces for all ranks. */
static tw_algorithm_t in_pieces(t_op_t kind)
{
    return kind == T_ALLREDUCE || kind == T_REDUCE ? TW_ALGORITHM_TWO_PASS : TW_ALGORITHM_AUTO;
}

/* Operations of some hundred pieces, eight in flight: now and then one piece is held up while
 * dozens of later ones go by. Each must arrive in its own place. */
static void a_piece_that_stays_behind(void)
{
    static const char *const settings[] = {"CHUNK=256", "WINDOW=8", NULL};
    t_shape_t                shape      = {.spec = "", .count = 40000};
    tw_context_t            *ctx;
    tw_comm_t               *comm;

    few_tags = 0;
    patience = 32;
    comm     = strange_comm(settings, &ctx);
    for (int i = 0; i < 2 * T_OPS; i++) {
        shape.kind      = (t_op_t)(i % T_OPS);
        shape.algorithm = in_pieces(shape.kind);
        shape.root      = i % t_size;
        shape.seed      = t_seed + (unsigned)i;
        for (int r = 0; r < t_size * t_size; r++) {
            shape.counts[r / t_size][r % t_size] = 10000 + 100u * (unsigned)r;
        }
        t_job_once(comm, &shape);
    }
    t_comm_done(comm, ctx);
}

/* What is sent is read when the message begins, at the latest when it is complete: nobody may have
 * written there. */
static void data_leave_late(void)
{
    static const char *const settings[] = {"CHUNK=256", "WINDOW=8", "NODE_RANKS=1", NULL};
    t_shape_t                shape      = {.spec = "", .count = 9000, .in_place = 1};
    const int                more       = getenv("TW_ALL") != NULL || t_size < 7 ? 8 : 3;
    tw_context_t            *ctx;
    tw_comm_t               *comm;

    few_tags  = 0;
    patience  = 1024;
    few_begin = 96;
    comm      = strange_comm(settings, &ctx);
    for (int i = 0; i < T_OPS + more; i++) {
        shape.kind      = i < T_OPS ? (t_op_t)i : T_REDUCE_SCATTER;
        shape.algorithm = in_pieces(shape.kind);
        shape.root      = i % t_size;
        shape.seed      = t_seed + (unsigned)i;
        for (int r = 0; r < t_size * t_size; r++) {
            const unsigned turn = (unsigned)((r / t_size + r % t_size + i) % t_size);

            /* One ends before others begin another piece, and begins between two pieces of what is
             * received. */
            shape.counts[r / t_size][r % t_size] = turn == 0 ? 100 : 9 * 256 * (turn % 3);
        }
        t_job_once(comm, &shape);
    }
    t_comm_done(comm, ctx);
    few_begin = 0;
}

/* Ranks in different moods: one rushes ahead, one drags behind. */
static void some_ranks_are_slower(void)
{
    static const char *const settings[] = {"CHUNK=256", "WINDOW=8", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm;

    few_tags = 0;
    patience = t_rank % 2 == 0 ? 1024 : 64;
    comm     = strange_comm(settings, &ctx);
    overlap(comm, t_seed + 10, 4);
    t_comm_done(comm, ctx);
}

/* The messages of the first operation do not come; all later ones must not wait for them. */
static void one_operation_does_not_hold_up_others(void)
{
    enum { LATER = 6 };
    static const t_op_t kinds[LATER] = {T_ALLREDUCE, T_BCAST,          T_ALLGATHER,
                                        T_ALLTOALL,  T_REDUCE_SCATTER, T_REDUCE};
    t_shape_t           shape        = {.kind = T_ALLREDUCE, .spec = "tree8", .count = 3000};
    tw_request_t       *first = NULL, *request = NULL;
    tw_context_t       *ctx;
    t_job_t             slow, job;
    tw_comm_t          *comm;

    few_tags = 0;
    patience = 1024;
    comm     = strange_comm(NULL, &ctx);
    t_job_once(comm, &shape); /* the ranks agree on memory */
    shape.count = 40;
    t_job_open(&slow, comm, &shape, NULL, NULL);
    t_job_fill(&slow, 0);
    hold = 1;
    T_OK(t_job_start(&slow, &first));
    for (int i = 0; i < LATER; i++) {
        const double start = MPI_Wtime();
        int          done  = 0;

        shape.kind = kinds[i];
        for (int r = 0; r < t_size; r++) {
            shape.counts[0][r] = 40;
        }
        t_shape_note(&shape);
        t_job_open(&job, comm, &shape, NULL, NULL);
        t_job_fill(&job, 0);
        T_OK(t_job_start(&job, &request));
        while (!done && MPI_Wtime() - start < 20.0) {
            T_OK(tw_test(&request, &done));
        }
        T_CHECK(done, "it waits for the first operation");
        if (!done) {
            held = MPI_REQUEST_NULL;
            T_OK(tw_wait(&request));
        }
        t_job_check(&job);
        t_job_close(&job);
    }
    hold = 0;
    held = MPI_REQUEST_NULL;
    T_OK(tw_wait(&first));
    t_job_check(&slow);
    t_job_close(&slow);
    t_comm_done(comm, ctx);
}

/* With the fewest tags that an MPI library may have, they repeat after a few operations. */
static void tags_repeat(void)
{
    static const char *const settings[] = {"CHUNK=256", "WINDOW=8", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm;
    float                    x[4]  = {1.0f, 2.0f, 4.0f, 0.0f}, y[4];
    size_t                   wrong = 0;

    few_tags = 1;
    patience = 768;
    comm     = strange_comm(settings, &ctx);
    for (int i = 0; i < 4; i++) {
        overlap(comm, t_seed + 20 + (unsigned)i, 1);
        for (int k = 0; k < 700; k++) {
            x[3] = (float)(k % 128);
            T_OK(tw_allreduce(comm, x, y, 4, TW_SUM, NULL));
            wrong += y[0] != (float)t_size || y[3] != x[3] * (float)t_size;
        }
    }
    T_CHECK(wrong == 0, "%zu sums are wrong", wrong);
    t_comm_done(comm, ctx);
}

/* More operations outstanding than the tags can tell apart: they must wait for one another, not be
 * mixed up. */
static void more_at_once_than_tags(void)
{
    enum { AT_ONCE = 1500 };
    tw_context_t  *ctx;
    tw_comm_t     *comm;
    tw_request_t **requests = calloc(AT_ONCE, sizeof(requests[0]));
    float         *x = t_malloc(AT_ONCE * sizeof(float)), *y = t_malloc(AT_ONCE * sizeof(float));
    size_t         wrong = 0;
    const tw_how_t how   = {.algorithm = TW_ALGORITHM_TWO_PASS};

    few_tags = 1;
    patience = 2;
    comm     = strange_comm(NULL, &ctx);
    for (int i = 0; i < AT_ONCE; i++) {
        x[i] = (float)i;
        T_OK(tw_iallreduce(comm, &x[i], &y[i], 1, TW_SUM, &how, &requests[i]));
    }
    for (int i = AT_ONCE - 1; i >= 0; i--) {
        T_OK(tw_wait(&requests[i]));
        wrong += y[i] != (float)(i * t_size);
    }
    T_CHECK(wrong == 0, "%zu of %d sums are wrong", wrong, (int)AT_ONCE);
    t_comm_done(comm, ctx);
    free(requests);
    free(x);
    free(y);
}

static const t_case_t cases[] = {
    {"messages complete when they like", messages_complete_when_they_like, 1},
    {"a piece that stays behind", a_piece_that_stays_behind, 1},
    {"data leave late", data_leave_late, 1},
    {"some ranks are slower", some_ranks_are_slower, 1},
    {"one operation does not hold up others", one_operation_does_not_hold_up_others, 2},
    {"tags repeat", tags_repeat, 1},
    {"more at once than tags", more_at_once_than_tags, 1},
};

T_MAIN(cases)
