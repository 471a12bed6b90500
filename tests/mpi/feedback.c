/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/feedback.c - error feedback: nothing is lost, only late; and it is what the model says,
 * bit for bit, in every algorithm, across changes of algorithm, and around non-finite values.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

static const char *const specs[] = {"onebit",         "onebit:block=64", "tree8",  "tree8:block=64",
                                    "int8:block=192", "bitpack:2",       "static8"};

#define SPECS (sizeof(specs) / sizeof(specs[0]))

/* This rank's residual must be the model's, bit for bit. */
static void same_residual(tw_feedback_t *fb, const t_model_feedback_t *model, int rank)
{
    const size_t bytes = model->count * tw_dtype_size(model->dtype);
    void        *got = t_alloc(bytes, 4), *copy = t_malloc(bytes), *want = t_malloc(bytes);

    T_OK(tw_feedback_read(fb, got));
    memcpy(copy, got, bytes);
    t_model_feedback_read(model, rank, want);
    T_SAME(model->dtype, copy, want, model->count);
    t_free(got);
    free(copy);
    free(want);
}

/* A feedback object, its model, and a job with both. */
typedef struct fed {
    tw_feedback_t     *fb;
    t_model_feedback_t model;
    t_job_t            job;
} fed_t;

/* count: of the object. */
static void fed_open(fed_t *fed, tw_comm_t *comm, const t_shape_t *shape, size_t count)
{
    T_OK(tw_feedback_create(comm, "w1", shape->dtype, count, &fed->fb));
    t_model_feedback_open(&fed->model, shape->dtype, t_size, count);
    t_job_open(&fed->job, comm, shape, fed->fb, &fed->model);
}

static void fed_close(fed_t *fed)
{
    t_job_close(&fed->job);
    t_model_feedback_close(&fed->model);
    tw_feedback_destroy(fed->fb);
}

static void fed_turn(fed_t *fed, t_form_t form, uint64_t round)
{
    t_job_turn(&fed->job, form, round);
    same_residual(fed->fb, &fed->model, t_rank);
}

/* Euclidean norm, in double, of the sum of all ranks' residuals. */
static double norm_of_all(tw_feedback_t *fb, size_t count, double *total)
{
    float  *mine = t_malloc(count * sizeof(float));
    double *wide = t_malloc(count * sizeof(double)), square = 0;

    T_OK(tw_feedback_read(fb, mine));
    for (size_t i = 0; i < count; i++) {
        wide[i] = (double)mine[i];
    }
    MPI_Allreduce(wide, total, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++) {
        square += total[i] * total[i];
    }
    free(mine);
    free(wide);
    return sqrt(square);
}

/* Sum over the steps of the results, plus what is still held back = sum of all inputs, to
 * round-off. */
static void conserve(const char *spec, tw_algorithm_t algorithm, size_t count, int steps)
{
    tw_feedback_t *fb = NULL;
    float         *x = t_malloc(count * sizeof(float)), *y = t_malloc(count * sizeof(float));
    double        *given = t_malloc(3 * count * sizeof(double)), *got = given + count;
    double        *held = got + count, norm = 0, worst = 0, expected;
    tw_how_t       how = {.codec = t_codec(spec, TW_F32), .algorithm = algorithm};

    t_note("%s, algorithm %d, count %zu", spec, (int)algorithm, count);
    memset(given, 0, 3 * count * sizeof(double));
    T_OK(tw_feedback_create(t_world, "conserved", TW_F32, count, &fb));
    how.feedback = fb;
    for (int step = 0; step < steps; step++) {
        for (int r = 0; r < t_size; r++) {
            t_fill(TW_F32, t_seed + (unsigned)(step * 8 + r), 0, count, x);
            for (size_t i = 0; i < count; i++) {
                given[i] += (double)x[i];
            }
        }
        t_fill(TW_F32, t_seed + (unsigned)(step * 8 + t_rank), 0, count, x);
        T_OK(tw_allreduce(t_world, x, y, count, TW_SUM, &how));
        for (size_t i = 0; i < count; i++) {
            got[i] += (double)y[i];
        }
    }
    expected = norm_of_all(fb, count, held);
    for (size_t i = 0; i < count; i++) {
        const double off = fabs(got[i] + held[i] - given[i]);

        worst = off > worst ? off : worst;
    }
    /* Each step rounds each rank's value + residual and each addition, at magnitudes below 64. */
    T_CHECK(worst <= steps * (t_size + 2) * 64 * 0x1p-23, "%g is lost", worst);
    T_OK(tw_feedback_norm(fb, &norm));
    T_CHECK(fabs(norm - expected) <= 1e-6 * expected + 1e-12, "norm %.17g, not %.17g", norm,
            expected);
    T_CHECK(norm > 0, "a lossy codec lost nothing");
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, &norm, sizeof(norm));
    tw_feedback_destroy(fb);
    free(x);
    free(y);
    free(given);
}

static void nothing_is_lost(void)
{
    for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_GRID; a++) {
        conserve("onebit", (tw_algorithm_t)a, 5000, 60);
        conserve("onebit:block=64", (tw_algorithm_t)a, 701, 60);
        conserve("tree8", (tw_algorithm_t)a, 9001, 20);
        conserve("bitpack:1", (tw_algorithm_t)a, 701, 20);
    }
}

/* The direct algorithm, the two passes, the grid and reduce, step by step against the model. */
static void every_step_is_what_the_model_says(void)
{
    for (size_t s = 0; s < SPECS; s++) {
        for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_GRID; a++) {
            const t_shape_t shape = {.kind      = s % 3 == 2 ? T_REDUCE : T_ALLREDUCE,
                                     .spec      = specs[s],
                                     .count     = s % 2 == 0 ? 5003 : 701,
                                     .algorithm = (tw_algorithm_t)a,
                                     .reduction = (tw_reduction_t)(s % 2),
                                     .seed      = t_seed};
            fed_t           fed;

            t_shape_note(&shape);
            fed_open(&fed, t_world, &shape, shape.count);
            for (uint64_t step = 0; step < 5; step++) {
                fed_turn(&fed, T_BLOCKING, step);
            }
            fed_close(&fed);
        }
    }
}

static void reduce_scatters_feed_back_too(void)
{
    for (size_t s = 0; s < SPECS; s++) {
        t_shape_t shape = {.spec = specs[s], .count = 333, .seed = t_seed + s};
        size_t    total = 0;
        fed_t     fed;

        shape.kind = s % 2 == 0 ? T_REDUCE_SCATTER : T_REDUCE_SCATTER_BLOCK;
        for (int r = 0; r < t_size; r++) {
            shape.counts[0][r] = (size_t)(r * 97) % 400;
            total += shape.kind == T_REDUCE_SCATTER ? shape.counts[0][r] : shape.count;
        }
        t_shape_note(&shape);
        fed_open(&fed, t_world, &shape, total);
        for (uint64_t step = 0; step < 4; step++) {
            fed_turn(&fed, T_BLOCKING, step);
        }
        fed_close(&fed);
    }
}

/* One object through direct, two_pass, grid, other blocks (other owners) and a reduce-scatter:
 * second residuals fold into the first where the owners change, and the model knows when. */
static void it_folds_when_the_owners_change(void)
{
    static const struct {
        t_op_t         kind;
        const char    *spec;
        tw_algorithm_t algorithm;
    } steps[]                = {{T_ALLREDUCE, "onebit:block=64", TW_ALGORITHM_TWO_PASS},
                                {T_ALLREDUCE, "onebit:block=64", TW_ALGORITHM_GRID},
                                {T_ALLREDUCE, "onebit:block=64", TW_ALGORITHM_DIRECT},
                                {T_ALLREDUCE, "tree8:block=64", TW_ALGORITHM_TWO_PASS},
                                {T_REDUCE, "tree8:block=64", TW_ALGORITHM_TWO_PASS},
                                {T_ALLREDUCE, "onebit", TW_ALGORITHM_TWO_PASS},
                                {T_REDUCE_SCATTER_BLOCK, "onebit:block=64", TW_ALGORITHM_AUTO},
                                {T_ALLREDUCE, "int8:block=192", TW_ALGORITHM_TWO_PASS},
                                {T_ALLREDUCE, "tree8", TW_ALGORITHM_DIRECT},
                                {T_REDUCE, "bitpack:1", TW_ALGORITHM_TWO_PASS}};
    const size_t       count = 1000 * (size_t)t_size;
    tw_feedback_t     *fb    = NULL;
    t_model_feedback_t model;

    T_OK(tw_feedback_create(t_world, "w1", TW_F32, count, &fb));
    t_model_feedback_open(&model, TW_F32, t_size, count);
    for (size_t turn = 0; turn < 3 * sizeof(steps) / sizeof(steps[0]); turn++) {
        const size_t k     = turn % (sizeof(steps) / sizeof(steps[0]));
        t_shape_t    shape = {.kind = steps[k].kind, .spec = steps[k].spec, .seed = t_seed};
        t_job_t      job;

        shape.algorithm = steps[k].algorithm;
        shape.count     = shape.kind == T_REDUCE_SCATTER_BLOCK ? 1000 : count;
        t_shape_note(&shape);
        t_job_open(&job, t_world, &shape, fb, &model);
        for (uint64_t again = 0; again < 1 + turn % 2; again++) {
            t_job_turn(&job, T_BLOCKING, turn * 2 + again);
            same_residual(fb, &model, t_rank);
        }
        t_job_close(&job);
    }
    t_model_feedback_close(&model);
    tw_feedback_destroy(fb);
}

static void plans_and_doubles_feed_back(void)
{
    const t_shape_t shape = {.kind      = T_ALLREDUCE,
                             .spec      = "bitpack:2",
                             .dtype     = TW_F64,
                             .count     = 2003,
                             .misalign  = 3,
                             .in_place  = 1,
                             .algorithm = TW_ALGORITHM_TWO_PASS};
    tw_request_t   *plan  = NULL;
    fed_t           fed;

    fed_open(&fed, t_world, &shape, shape.count);
    T_OK(t_job_plan(&fed.job, &plan));
    for (uint64_t step = 0; step < 6; step++) {
        if (step % 2 == 0) {
            t_job_fill(&fed.job, step);
            T_OK(tw_start(plan));
            T_OK(tw_wait(&plan));
            t_job_check(&fed.job);
            same_residual(fed.fb, &fed.model, t_rank);
        } else {
            fed_turn(&fed, T_NONBLOCKING, step);
        }
    }
    T_OK(tw_request_free(&plan));
    fed_close(&fed);
}

/* Several objects, several operations at once; chunks of one block. */
static void several_at_once_in_small_chunks(void)
{
    static const char *const settings[] = {"CHUNK=1", "WINDOW=5", NULL};
    enum { OBJECTS = 5 };
    tw_context_t *ctx;
    tw_comm_t    *comm              = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    tw_request_t *requests[OBJECTS] = {NULL};
    fed_t         fed[OBJECTS];

    for (int i = 0; i < OBJECTS; i++) {
        t_shape_t shape = {.kind = T_ALLREDUCE, .count = 801u + 64u * (unsigned)i};

        shape.spec      = specs[1 + 2 * (i % 2)];
        shape.seed      = t_seed + (unsigned)i;
        shape.algorithm = (tw_algorithm_t)(1 + i % 3);
        fed_open(&fed[i], comm, &shape, shape.count);
    }
    for (uint64_t step = 0; step < 4; step++) {
        for (int i = 0; i < OBJECTS; i++) {
            t_job_fill(&fed[i].job, step);
            T_OK(t_job_start(&fed[i].job, &requests[i]));
        }
        for (int i = OBJECTS - 1; i >= 0; i--) {
            T_OK(tw_wait(&requests[i]));
            t_job_check(&fed[i].job);
            same_residual(fed[i].fb, &fed[i].model, t_rank);
        }
    }
    for (int i = 0; i < OBJECTS; i++) {
        fed_close(&fed[i]);
    }
    t_comm_done(comm, ctx);
}

static const t_case_t cases[] = {
    {"nothing is lost", nothing_is_lost, 1},
    {"every step is what the model says", every_step_is_what_the_model_says, 1},
    {"reduce-scatters feed back too", reduce_scatters_feed_back_too, 1},
    {"it folds when the owners change", it_folds_when_the_owners_change, 1},
    {"plans and doubles feed back", plans_and_doubles_feed_back, 1},
    {"several at once in small chunks", several_at_once_in_small_chunks, 1},
};

T_MAIN(cases)
