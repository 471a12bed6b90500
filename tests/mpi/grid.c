/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/grid.c - codes that are passed on through the grid of ranks: the bits, and the
 * residuals, of two_pass and of pairwise messages; and the number of messages and bytes by the
 * documented formula. tests/mpi/many.sh runs it on more ranks.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

/* One allreduce or reduce through the grid and in two passes, each with a feedback object of its
 * own. */
typedef struct pair {
    size_t         count, bytes;
    tw_dtype_t     dtype;
    tw_how_t       how[2];
    tw_feedback_t *fb[2];
    void          *in, *out[2];
} pair_t;

static void pair_open(pair_t *p, const char *spec, tw_dtype_t dtype, size_t count, int feedback)
{
    memset(p, 0, sizeof(*p));
    p->count = count;
    p->dtype = dtype;
    p->bytes = count * tw_dtype_size(dtype);
    p->in    = t_malloc(p->bytes);
    for (int i = 0; i < 2; i++) {
        p->how[i] = (tw_how_t){.codec     = t_codec(spec, dtype),
                               .algorithm = i == 0 ? TW_ALGORITHM_GRID : TW_ALGORITHM_TWO_PASS};
        p->out[i] = t_alloc(p->bytes, count % 7);
        if (feedback) {
            T_OK(
                tw_feedback_create(t_world, i == 0 ? "grid" : "two_pass", dtype, count, &p->fb[i]));
        }
        p->how[i].feedback = p->fb[i];
    }
}

static void pair_close(pair_t *p)
{
    for (int i = 0; i < 2; i++) {
        tw_feedback_destroy(p->fb[i]);
        t_free(p->out[i]);
    }
    free(p->in);
}

static void pair_fill(pair_t *p, uint64_t step)
{
    t_fill(p->dtype, t_seed + 16u * step + (unsigned)t_rank, 0, p->count, p->in);
    memcpy(p->out[0], p->in, p->bytes);
    memcpy(p->out[1], p->in, p->bytes);
}

/* Both results, and both residuals of this rank. */
static void pair_compare(const pair_t *p)
{
    T_SAME(p->dtype, p->out[0], p->out[1], p->count);
    T_SAME_EVERYWHERE(MPI_COMM_WORLD, p->out[0], p->bytes);
    if (p->fb[0] != NULL) {
        void *residual[2];

        for (int i = 0; i < 2; i++) {
            residual[i] = t_malloc(p->bytes);
            T_OK(tw_feedback_read(p->fb[i], residual[i]));
        }
        T_SAME(p->dtype, residual[0], residual[1], p->count);
        free(residual[0]);
        free(residual[1]);
    }
}

static void pair_run(pair_t *p, tw_reduction_t reduction, int in_place)
{
    for (int i = 0; i < 2; i++) {
        T_OK(tw_allreduce(t_world, in_place ? TW_IN_PLACE : p->in, p->out[i], p->count, reduction,
                          &p->how[i]));
    }
    pair_compare(p);
}

/* ---- allreduce ------------------------------------------------------------------------------ */

static void every_count(const char *spec, tw_dtype_t dtype)
{
    const size_t block    = t_block(spec, dtype);
    const size_t p        = (size_t)t_size;
    const size_t counts[] = {0,         1,         p - 1,         p + 1,
                             block + 1, p * block, p * block + 3, (2 * p + 1) * block - 1};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        pair_t pair;

        t_note("%s%s, count %zu", spec,
               dtype == TW_F64    ? " (F64)"
               : t_is_half(dtype) ? " (16 bits)"
                                  : "",
               counts[i]);
        pair_open(&pair, spec, dtype, counts[i], 0);
        pair_fill(&pair, i);
        pair_run(&pair, (tw_reduction_t)(i % TW_REDUCTION_ROWS), (int)(i % 2));
        pair_close(&pair);
    }
}

static void allreduce_has_the_bits_of_two_pass(void)
{
    for (tw_dtype_t dtype = TW_F32; dtype <= TW_F16; dtype++) {
        for (const char *const *spec = t_specs(dtype); *spec != NULL; spec++) {
            every_count(*spec, dtype);
        }
    }
}

/* Pieces are shorter than in two_pass, and bundles are cut where messages are. */
static void through_many_rounds(void)
{
    static const char *const specs[]   = {"", "tree8:block=64", "bitpack:3", "onebit"};
    static const char *const cuts[][4] = {{"CHUNK=2k", "WINDOW=3", NULL},
                                          {"CHUNK=512", "MESSAGE_LIMIT=100", NULL},
                                          {"WINDOW=1", NULL}};
    const size_t             count     = 30011 + (t_size <= 7 ? 200000 : 0);

    for (size_t c = 0; c < sizeof(cuts) / sizeof(cuts[0]); c++) {
        for (size_t s = 0; s < sizeof(specs) / sizeof(specs[0]); s++) {
            tw_context_t *ctx;
            tw_comm_t    *comm = t_comm_under(cuts[c], MPI_COMM_WORLD, &ctx);
            pair_t        pair;

            t_note("%s, %s", cuts[c][0], specs[s]);
            pair_open(&pair, specs[s], TW_F32, count / (c == 1 ? 8 : 1), 0);
            pair_fill(&pair, c);
            T_OK(tw_allreduce(comm, pair.in, pair.out[0], pair.count, TW_AVERAGE, &pair.how[0]));
            T_OK(tw_allreduce(t_world, pair.in, pair.out[1], pair.count, TW_AVERAGE, &pair.how[1]));
            pair_compare(&pair);
            pair_close(&pair);
            t_comm_done(comm, ctx);
        }
    }
}

static void residuals_are_those_of_two_pass(void)
{
    static const struct {
        const char *spec;
        tw_dtype_t  dtype;
        size_t      count;
    } shapes[] = {{"onebit:block=64", TW_F32, 3001}, {"tree8:block=64", TW_F32, 7777},
                  {"bitpack:1", TW_F32, 5},          {"onebit", TW_F32, 2048},
                  {"bitpack:2", TW_F64, 4099},       {"int8:block=192", TW_F32, 0}};

    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
        pair_t pair;

        t_note("%s, count %zu", shapes[s].spec, shapes[s].count);
        pair_open(&pair, shapes[s].spec, shapes[s].dtype, shapes[s].count, 1);
        for (uint64_t step = 0; step < 4; step++) {
            pair_fill(&pair, step);
            pair_run(&pair, (tw_reduction_t)(s % 2), (int)(step % 2));
        }
        pair_close(&pair);
    }
}

/* A few at once, both algorithms mixed, as plans that are started again. */
static void plans_and_requests_have_them_too(void)
{
    enum { PAIRS = 4 };
    static const char *const specs[PAIRS] = {"onebit:block=64", "", "tree8", "bf16"};
    pair_t                   pair[PAIRS];
    tw_request_t            *plan[PAIRS] = {NULL}, *request[PAIRS] = {NULL};

    for (int k = 0; k < PAIRS; k++) {
        pair_open(&pair[k], specs[k], TW_F32, 900u + 1000u * (unsigned)k, k % 2 == 0);
        T_OK(tw_allreduce_init(t_world, pair[k].in, pair[k].out[0], pair[k].count, TW_SUM,
                               &pair[k].how[0], &plan[k]));
        T_CHECK(strcmp(tw_request_algorithm(plan[k]), "grid") == 0, "the algorithm is %s",
                tw_request_algorithm(plan[k]));
    }
    for (uint64_t step = 0; step < 3; step++) {
        for (int k = 0; k < PAIRS; k++) {
            t_note("%s, step %d", specs[k], (int)step);
            pair_fill(&pair[k], step);
            T_OK(tw_start(plan[k]));
            T_OK(tw_iallreduce(t_world, TW_IN_PLACE, pair[k].out[1], pair[k].count, TW_SUM,
                               &pair[k].how[1], &request[k]));
        }
        for (int k = PAIRS - 1; k >= 0; k--) {
            T_OK(tw_wait(&request[k]));
            T_OK(tw_wait(&plan[k]));
            pair_compare(&pair[k]);
        }
    }
    for (int k = 0; k < PAIRS; k++) {
        T_OK(tw_request_free(&plan[k]));
        pair_close(&pair[k]);
    }
}

static void reduce_to_every_root(void)
{
    static const char *const specs[] = {"", "tree8:block=64", "onebit:block=64"};

    for (int root = 0; root < t_size; root++) {
        t_shape_t shape = {.kind      = T_REDUCE,
                           .spec      = specs[root % 3],
                           .count     = 3001,
                           .root      = root,
                           .algorithm = TW_ALGORITHM_GRID,
                           .in_place  = root % 2,
                           .reduction = (tw_reduction_t)(root % TW_REDUCTION_ROWS),
                           .seed      = t_seed};

        t_job_once(t_world, &shape);
    }
}

/* ---- movement ------------------------------------------------------------------------------- */

static void movement_is_what_the_model_says(void)
{
    static const char *const grid[]   = {"ALLGATHER=grid", "ALLTOALL=grid", NULL};
    static const char *const small[]  = {"ALLGATHER=grid", "ALLTOALL=grid",     "CHUNK=512",
                                         "WINDOW=3",       "MESSAGE_LIMIT=333", NULL};
    static const t_op_t      kinds[]  = {T_ALLGATHER, T_ALLGATHERV, T_ALLTOALL, T_ALLTOALLV};
    static const size_t      counts[] = {0, 1, 63, 1000, 5003};

    for (int c = 0; c < 2; c++) {
        tw_context_t *ctx;
        tw_comm_t    *comm = t_comm_under(c == 0 ? grid : small, MPI_COMM_WORLD, &ctx);

        for (size_t i = 0; t_specs_f32[i] != NULL; i++) {
            for (size_t k = 0; k < 4; k++) {
                t_shape_t shape = {.kind = kinds[k], .spec = t_specs_f32[i], .seed = t_seed};

                shape.count    = counts[(i + k + (size_t)c) % 5];
                shape.in_place = (int)(i % 2);
                shape.misalign = i % 5;
                shape.gap      = i % 4;
                for (int s = 0; s < t_size; s++) {
                    for (int r = 0; r < t_size; r++) {
                        shape.counts[s][r] = counts[(size_t)(s + r) % 5] / (k == 3 ? 4 : 1);
                    }
                }
                t_job_once(comm, &shape);
            }
        }
        t_comm_done(comm, ctx);
    }
}

/* ---- what is sent --------------------------------------------------------------------------- */

/* Messages and pieces that all ranks together send. */
typedef struct traffic {
    uint64_t messages, pieces;
} traffic_t;

/* Ranks fill ceil(sqrt(P)) columns row by row. Delivering and spreading, every rank sends one
 * message for each other column and, down its own, one to each other rank.
 * Delivered: in hop 1 what each rank has for the ranks of other columns, in hop 2 what all have for
 * each rank, but for its own forwarder's part. Spread: every piece reaches every rank once. Spread
 * to a root: one message from everyone else, and the pieces of other columns twice but for those of
 * its forwarders. */
static traffic_t documented(t_op_t kind, int root, int *full_p)
{
    const uint64_t p       = (uint64_t)t_size;
    uint64_t       columns = 1, squares = 0, root_height, hops;
    traffic_t      t = {0, 0};

    while (columns * columns < p) {
        columns++;
    }
    for (uint64_t c = 0; c < columns; c++) {
        const uint64_t height = (p - c + columns - 1) / columns;

        squares += height * height;
    }
    root_height = (p - (uint64_t)root % columns + columns - 1) / columns;
    hops        = p * (columns - 1) + squares - p;
    if (kind != T_ALLGATHER) {
        t.messages += hops;
        t.pieces += p * p - squares + p * (p - columns);
    }
    if (kind == T_ALLREDUCE || kind == T_ALLGATHER) {
        t.messages += hops;
        t.pieces += p * (p - 1);
    } else if (kind == T_REDUCE) {
        t.messages += p - 1;
        t.pieces += p - columns + p - root_height;
    }
    *full_p = p % columns == 0;
    return t;
}

static void messages_and_bytes_by_the_formula(void)
{
    static const char *const settings[] = {"ALLGATHER=grid", "ALLTOALL=grid", NULL};
    static const t_op_t      kinds[]    = {T_ALLREDUCE, T_REDUCE, T_ALLGATHER, T_ALLTOALL};
    tw_context_t            *ctx;
    tw_comm_t               *comm  = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    const uint64_t           piece = 64, bytes = 16; /* onebit:block=64: 8 of signs, 8 of means */
    int                      full;

    for (int k = 0; k < 4; k++) {
        t_shape_t  shape = {.kind = kinds[k], .spec = "onebit:block=64", .seed = t_seed};
        traffic_t  t;
        tw_stats_t stats;

        shape.algorithm = TW_ALGORITHM_GRID;
        shape.root      = t_size - 1;
        shape.count     = piece * (k < 2 ? (size_t)t_size : 1);
        t               = documented(shape.kind, shape.root, &full);
        t_job_once(comm, &shape);
        T_OK(tw_comm_stats_reset(comm));
        t_job_once(comm, &shape);
        T_OK(tw_comm_stats(comm, &stats));
        t_expect("messages of all", t_over_all(stats.messages_sent), t.messages);
        t_expect("bytes of all", t_over_all(stats.bytes_sent), t.pieces * bytes);
        t_expect("plain bytes of all", t_over_all(stats.bytes_uncompressed), t.pieces * piece * 4);
        t_expect("received by all", t_over_all(stats.bytes_received), t.pieces * bytes);
        if (full && kinds[k] != T_REDUCE) { /* each sends as much as any other */
            t_expect("messages of one", stats.messages_sent, t.messages / (uint64_t)t_size);
            t_expect("bytes of one", stats.bytes_sent, t.pieces * bytes / (uint64_t)t_size);
        }
        t_expect("quantisations", stats.quantisations,
                 k < 2                     ? shape.count + piece
                 : kinds[k] == T_ALLGATHER ? piece
                                           : piece * (uint64_t)t_size);
    }
    t_comm_done(comm, ctx);
}

/* auto takes the grid from 16 ranks on, for vectors that are not long; of a codec that is not
 * lossless, as others go through the memory of the node. */
static void many_ranks_take_it_by_themselves(void)
{
    static float   x[100 * T_RANKS_MAX], y[100 * T_RANKS_MAX];
    const tw_how_t how      = {.codec = t_codec("bf16", TW_F32)};
    const size_t   counts[] = {1, 2500, 100000};
    tw_request_t  *plan     = NULL;

    for (size_t i = 0; i < 3; i++) {
        const char *const name = t_algorithm(t_world, &how, counts[i]);

        T_CHECK((strcmp(name, "grid") == 0) == (t_size >= 16 && i == 1), "%zu values: %s",
                counts[i], name);
    }
    T_OK(tw_allgather_init(t_world, x, y, 100, &how, &plan));
    T_CHECK((strcmp(tw_request_algorithm(plan), "grid") == 0) == (t_size >= 16), "allgather: %s",
            tw_request_algorithm(plan));
    T_OK(tw_request_free(&plan));
    T_OK(tw_alltoall_init(t_world, x, y, 10, &how, &plan));
    T_CHECK((strcmp(tw_request_algorithm(plan), "grid") == 0) == (t_size >= 16), "alltoall: %s",
            tw_request_algorithm(plan));
    T_OK(tw_request_free(&plan));
}

static const t_case_t cases[] = {
    {"allreduce has the bits of two_pass", allreduce_has_the_bits_of_two_pass, 1},
    {"through many rounds", through_many_rounds, 1},
    {"residuals are those of two_pass", residuals_are_those_of_two_pass, 1},
    {"plans and requests have them too", plans_and_requests_have_them_too, 1},
    {"reduce to every root", reduce_to_every_root, 1},
    {"movement is what the model says", movement_is_what_the_model_says, 1},
    {"messages and bytes by the formula", messages_and_bytes_by_the_formula, 1},
    {"many ranks take it by themselves", many_ranks_take_it_by_themselves, 1},
};

T_MAIN(cases)
