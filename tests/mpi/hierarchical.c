/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/hierarchical.c - reductions, broadcast, allgather and alltoall over nodes of 1, 2 and 3
 * ranks (and one node), against the model: THINWIRE_NODE_RANKS makes several nodes of one machine,
 * the last one smaller where the ranks do not divide.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"

static const int layouts[] = {0, 1, 2, 3};

#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* A communicator whose nodes have so many ranks, with up to two further settings. */
static tw_comm_t *cut(int node_ranks, const char *more, const char *still_more,
                      tw_context_t **ctx_p)
{
    char        text[40];
    const char *settings[] = {text, more, more != NULL ? still_more : NULL, NULL};

    snprintf(text, sizeof(text), "NODE_RANKS=%d", node_ranks);
    return t_comm_under(settings, MPI_COMM_WORLD, ctx_p);
}

static void every_codec(t_op_t kind)
{
    for (size_t l = 0; l < LAYOUTS; l++) {
        const t_shape_t shape = {
            .kind = kind, .algorithm = TW_ALGORITHM_HIERARCHICAL, .node_ranks = layouts[l]};
        tw_context_t *ctx;
        tw_comm_t    *comm =
            cut(layouts[l], kind == T_BCAST && l % 2 == 1 ? "MESSAGE_COST=1" : NULL, NULL, &ctx);

        t_jobs_edges(comm, shape);
        t_comm_done(comm, ctx);
    }
}

static void allreduce_is_what_the_model_says(void)
{
    every_codec(T_ALLREDUCE);
}
static void reduce_is_what_the_model_says(void)
{
    every_codec(T_REDUCE);
}
static void bcast_is_what_the_model_says(void)
{
    every_codec(T_BCAST);
}
static void reduce_scatters_are_what_the_model_says(void)
{
    every_codec(T_REDUCE_SCATTER);
    every_codec(T_REDUCE_SCATTER_BLOCK);
}
static void allgathers_are_what_the_model_says(void)
{
    every_codec(T_ALLGATHER);
    every_codec(T_ALLGATHERV);
}

static void alltoalls_are_what_the_model_says(void)
{
    every_codec(T_ALLTOALL);
    every_codec(T_ALLTOALLV);
}

/* Blocks that travel in bundles, blocks that go pairwise in one round or in many, and nothing, in
 * one call: each rank knows its own counts only. */
static void short_and_long_blocks_in_one_call(void)
{
    static const size_t      counts[]   = {0, 1, 200, 257, 3000, 70000};
    static const char *const settings[] = {NULL, "CHUNK=1k", "WINDOW=1", "MESSAGE_LIMIT=512",
                                           "MESSAGE_LIMIT=2k"};
    uint64_t                 random     = t_seed;

    for (size_t i = 0; i < LAYOUTS * 6; i++) {
        tw_context_t *ctx;
        tw_comm_t    *comm  = cut(layouts[i / 6], settings[i % 5], "CHUNK=2k", &ctx);
        t_shape_t     shape = {.kind      = T_ALLTOALLV,
                               .algorithm = i % 5 == 0 ? TW_ALGORITHM_AUTO : TW_ALGORITHM_HIERARCHICAL,
                               .node_ranks = layouts[i / 6],
                               .spec       = t_specs_f32[i % 4],
                               .gap        = i % 3,
                               .in_place   = (int)(i % 2),
                               .seed       = t_seed + i};

        for (int s = 0; s < t_size; s++) {
            for (int r = s; r < t_size; r++) {
                shape.counts[s][r] = counts[t_below(&random, 6)];
                shape.counts[r][s] =
                    shape.in_place ? shape.counts[s][r] : counts[t_below(&random, 6)];
            }
        }
        t_job_once(comm, &shape);
        t_comm_done(comm, ctx);
    }
}

/* Every pair of nodes exchanges two messages, whatever their ranks, with the bytes of pairwise. */
static void one_message_for_each_pair_of_nodes(void)
{
    enum { N = 100 };
    static float in[N * T_RANKS_MAX], out[N * T_RANKS_MAX];

    for (size_t l = 0; l < LAYOUTS; l++) {
        tw_context_t  *ctx;
        tw_comm_t     *comm  = cut(layouts[l], NULL, NULL, &ctx);
        const int      ranks = layouts[l] > 0 && layouts[l] < t_size ? layouts[l] : t_size;
        const int      nodes = (t_size + ranks - 1) / ranks, last = t_size - (nodes - 1) * ranks;
        const uint64_t inside  = (uint64_t)((nodes - 1) * ranks * ranks + last * last);
        const uint64_t between = (uint64_t)(t_size * t_size) - inside;
        const tw_how_t how     = {.algorithm = TW_ALGORITHM_HIERARCHICAL};
        uint64_t       sent[3];
        tw_stats_t     stats;

        T_OK(tw_alltoall(comm, in, out, N, &how));
        T_OK(tw_comm_stats_reset(comm));
        T_OK(tw_alltoall(comm, in, out, N, &how));
        T_OK(tw_comm_stats(comm, &stats));
        sent[0] = stats.messages_sent;
        sent[1] = stats.bytes_sent;
        sent[2] = stats.bytes_memory;
        MPI_Allreduce(MPI_IN_PLACE, sent, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        T_CHECK(sent[0] == (uint64_t)(nodes * (nodes - 1)), "%d nodes: %llu messages", nodes,
                (unsigned long long)sent[0]);
        T_CHECK(sent[1] == between * N * 4, "%d nodes: %llu bytes, not %llu", nodes,
                (unsigned long long)sent[1], (unsigned long long)(between * N * 4));
        T_CHECK(sent[2] == (inside - (uint64_t)t_size) * N * 4, "%d nodes: %llu bytes of memory",
                nodes, (unsigned long long)sent[2]);
        t_comm_done(comm, ctx);
    }
}

/* What every rank has of a reduce-scatter, gathered, is the allreduce, bit for bit, where shares
 * begin with blocks. */
static void scatter_and_gather_are_allreduce(void)
{
    static const char *const specs[] = {"", "tree8:block=64", "bitpack:2"};
    const size_t             each = 64 * 37, count = each * (size_t)t_size;
    float *in = t_malloc(count * sizeof(float)), *whole = t_malloc(count * sizeof(float)),
          *parts = t_malloc(count * sizeof(float));

    for (size_t i = 0; i < 3 * LAYOUTS; i++) {
        const tw_how_t how = {.codec     = t_codec(specs[i % 3], TW_F32),
                              .algorithm = TW_ALGORITHM_HIERARCHICAL};
        tw_context_t  *ctx;
        tw_comm_t     *comm = cut(layouts[i / 3], NULL, NULL, &ctx);

        t_note("%s, nodes of %d", specs[i % 3], layouts[i / 3]);
        t_fill(TW_F32, t_seed + (uint64_t)t_rank, 0, count, in);
        T_OK(tw_allreduce(comm, in, whole, count, TW_SUM, &how));
        T_OK(tw_reduce_scatter_block(comm, in, parts + each * (size_t)t_rank, each, TW_SUM, &how));
        T_OK(tw_allgather(comm, TW_IN_PLACE, parts, each, &how));
        T_SAME(TW_F32, parts, whole, count);
        t_comm_done(comm, ctx);
    }
    free(in);
    free(whole);
    free(parts);
}

/* In place a result covers values that earlier rounds read: in many rounds that are all under way,
 * often. */
static void scatters_in_place_in_many_rounds(void)
{
    enum { TIMES = 60 };

    for (size_t i = 0; i < LAYOUTS * 2; i++) {
        tw_context_t *ctx;
        tw_comm_t    *comm   = cut(layouts[i / 2], "CHUNK=256", "WINDOW=8", &ctx);
        t_shape_t     shape  = {.kind       = T_REDUCE_SCATTER,
                                .algorithm  = TW_ALGORITHM_HIERARCHICAL,
                                .node_ranks = layouts[i / 2],
                                .spec       = i % 2 == 0 ? "" : "bitpack:2",
                                .reduction  = TW_MAX,
                                .in_place   = 1,
                                .count      = 2000};
        uint64_t      random = t_seed + i;

        for (int time = 0; time < TIMES; time++) {
            for (int r = 0; r < t_size; r++) {
                shape.counts[0][r] = t_below(&random, 3) == 0 ? 3 : t_below(&random, 700);
            }
            shape.seed = random;
            t_job_once(comm, &shape);
        }
        t_comm_done(comm, ctx);
    }
}

/* Long vectors: many rounds round the owners and round the slots, in chunks of every size. */
static void long_vectors(void)
{
    static const char *const chunks[]  = {"CHUNK=1k", "CHUNK=20000", "CHUNK=256k"};
    static const char *const windows[] = {"WINDOW=1", "WINDOW=3", "WINDOW=8"};
    static const char *const specs[]   = {"tree8:block=64", "onebit", "", "bitpack:2"};

    for (size_t l = 0; l < LAYOUTS; l++) {
        for (size_t c = 0; c < 3; c++) {
            tw_context_t *ctx;
            tw_comm_t    *comm  = cut(layouts[l], chunks[c], windows[(l + c) % 3], &ctx);
            t_shape_t     shape = {.algorithm  = TW_ALGORITHM_HIERARCHICAL,
                                   .node_ranks = layouts[l],
                                   .count      = 150000 + 1000 * l,
                                   .spec       = specs[(l + c) % 4],
                                   .root       = t_size - 1,
                                   .seed       = t_seed};

            shape.kind = T_ALLREDUCE;
            t_job_once(comm, &shape);
            shape.kind = T_BCAST;
            t_job_once(comm, &shape);
            shape.kind = T_REDUCE;
            t_job_once(comm, &shape);
            shape.kind  = T_REDUCE_SCATTER_BLOCK;
            shape.count = shape.count / (size_t)t_size;
            t_job_once(comm, &shape);
            shape.kind = T_ALLGATHER;
            t_job_once(comm, &shape);
            shape.kind = T_ALLTOALL;
            t_job_once(comm, &shape);
            t_comm_done(comm, ctx);
        }
    }
}

/* Both residuals, through changes of algorithm and so of owners. */
static void residuals_belong_to_carriers_and_owners(void)
{
    static const tw_algorithm_t turns[] = {TW_ALGORITHM_HIERARCHICAL, TW_ALGORITHM_HIERARCHICAL,
                                           TW_ALGORITHM_TWO_PASS,     TW_ALGORITHM_HIERARCHICAL,
                                           TW_ALGORITHM_DIRECT,       TW_ALGORITHM_HIERARCHICAL};
    static const char *const    specs[] = {"onebit:block=64", "tree8", "bitpack:2", ""};
    const size_t                count   = 5000;
    float *got = t_malloc(count * sizeof(float)), *want = t_malloc(count * sizeof(float));

    for (size_t i = 0; i < LAYOUTS * 4; i++) {
        tw_context_t      *ctx;
        const int          node_ranks = layouts[i / 4];
        tw_comm_t         *comm       = cut(node_ranks, NULL, NULL, &ctx);
        tw_feedback_t     *fb         = NULL;
        t_model_feedback_t model;
        t_shape_t          shape = {.spec = specs[i % 4], .count = count, .node_ranks = node_ranks};

        t_model_feedback_open(&model, TW_F32, t_size, count);
        T_OK(tw_feedback_create(comm, "carried", TW_F32, count, &fb));
        for (size_t turn = 0; turn < sizeof(turns) / sizeof(turns[0]); turn++) {
            t_job_t job;

            shape.kind      = turn % 2 == 0 ? T_ALLREDUCE : T_REDUCE;
            shape.algorithm = turns[turn];
            shape.reduction = turn % 3 == 0 ? TW_AVERAGE : TW_SUM;
            shape.seed      = t_seed + turn;
            t_shape_note(&shape);
            t_job_open(&job, comm, &shape, fb, &model);
            t_job_turn(&job, T_BLOCKING, turn);
            t_job_close(&job);
            T_OK(tw_feedback_read(fb, got));
            t_model_feedback_read(&model, t_rank, want);
            T_SAME(TW_F32, got, want, count);
        }
        tw_feedback_destroy(fb);
        t_model_feedback_close(&model);
        t_comm_done(comm, ctx);
    }
    free(got);
    free(want);
}

/* Many at once: other algorithms between, plans that are started again, waits in other orders. */
static void many_at_once(void)
{
    enum { MANY = 12 };
    static t_job_t jobs[MANY];

    for (size_t l = 0; l < LAYOUTS; l++) {
        tw_context_t *ctx;
        tw_comm_t    *comm           = cut(layouts[l], "CHUNK=2k", "WINDOW=3", &ctx);
        uint64_t      random         = t_seed + l;
        tw_request_t *requests[MANY] = {NULL};

        for (int i = 0; i < MANY; i++) {
            t_shape_t shape;

            t_shape_random(&shape, &random, t_size, 9000);
            shape.node_ranks = layouts[l];
            if (i % 2 == 0) {
                shape.algorithm = TW_ALGORITHM_HIERARCHICAL;
            }
            t_shape_note(&shape);
            t_job_open(&jobs[i], comm, &shape, NULL, NULL);
            t_job_fill(&jobs[i], 0);
            if (i % 3 == 0) {
                T_OK(t_job_plan(&jobs[i], &requests[i]));
                T_OK(tw_start(requests[i]));
            } else {
                T_OK(t_job_start(&jobs[i], &requests[i]));
            }
        }
        t_jobs_wait(jobs, MANY, requests);
        for (int i = 0; i < MANY; i++) {
            t_shape_note(&jobs[i].shape);
            t_job_check(&jobs[i]);
            if (i % 3 == 0) { /* the plan again */
                t_job_fill(&jobs[i], 1);
                t_job_finish(T_PLAN, &requests[i]);
                t_job_check(&jobs[i]);
            }
            t_job_close(&jobs[i]);
        }
        t_comm_done(comm, ctx);
    }
}

static const char *chosen(tw_comm_t *comm, const char *spec, size_t count)
{
    const tw_how_t how = {.codec = t_codec(spec, TW_F32)};

    return t_algorithm(comm, &how, count);
}

/* auto takes it for long vectors on several nodes of several ranks each, and nowhere else; the
 * settings name it too. */
static void auto_takes_it_where_it_should(void)
{
    tw_context_t *ctx;
    tw_comm_t    *comm  = cut(2, NULL, NULL, &ctx);
    const int     pairs = t_size > 2 && t_size % 2 == 0;

    T_CHECK((strcmp(chosen(comm, "tree8", 100000), "hierarchical") == 0) == pairs, "long: %s",
            chosen(comm, "tree8", 100000));
    T_CHECK(strcmp(chosen(comm, "tree8", 1000), "hierarchical") != 0, "short");
    t_comm_done(comm, ctx);
    comm = cut(1, NULL, NULL, &ctx);
    T_CHECK(strcmp(chosen(comm, "tree8", 100000), "hierarchical") != 0, "nodes of one rank");
    t_comm_done(comm, ctx);
    comm = cut(0, "ALLREDUCE=hierarchical", NULL, &ctx);
    T_CHECK(strcmp(chosen(comm, "tree8", 10), "hierarchical") == 0, "the setting");
    t_comm_done(comm, ctx);
    comm =
        cut(2, "ALLREDUCE=node", NULL, &ctx); /* where it cannot serve: as if nothing were named */
    T_CHECK((strcmp(chosen(comm, "tree8", 100000), "hierarchical") == 0) == pairs, "node: %s",
            chosen(comm, "tree8", 100000));
    t_comm_done(comm, ctx);
}

/* Blocks that no slot holds: one clear line. */
static void blocks_that_are_too_large(void)
{
    const tw_how_t how = {.codec     = t_codec("int8:block=1048576", TW_F32),
                          .algorithm = TW_ALGORITHM_HIERARCHICAL};
    t_log_t        log;
    tw_context_t  *ctx;
    tw_comm_t     *comm = t_comm_logged(NULL, &log, &ctx);
    float          x[4] = {0};

    T_STATUS(tw_allreduce(comm, TW_IN_PLACE, x, 4, TW_SUM, &how), TW_ERR_UNSUPPORTED);
    T_CHECK(log.lines == 1 && strstr(log.text, "whose blocks fit") != NULL, "%d lines: %s",
            log.lines, log.text);
    t_comm_done(comm, ctx);
}

/* The last rank never comes: each of the others says so, and one of them names it. */
static void a_rank_that_does_not_come(void)
{
    const tw_how_t how = {.codec     = t_codec("tree8", TW_F32),
                          .algorithm = TW_ALGORITHM_HIERARCHICAL};

    for (int way = 0; way < 4; way++) {
        const char *const settings[] = {"TIMEOUT=0.5", way < 2 ? "NODE_RANKS=2" : "NODE_RANKS=0",
                                        NULL};

        t_note("way %d", way);
        t_last_stays_away(settings, &how, 40000, way % 2);
    }
}

static const t_case_t cases[] = {
    {"allreduce is what the model says", allreduce_is_what_the_model_says, 1},
    {"reduce is what the model says", reduce_is_what_the_model_says, 1},
    {"bcast is what the model says", bcast_is_what_the_model_says, 1},
    {"reduce-scatters are what the model says", reduce_scatters_are_what_the_model_says, 1},
    {"allgathers are what the model says", allgathers_are_what_the_model_says, 1},
    {"alltoalls are what the model says", alltoalls_are_what_the_model_says, 1},
    {"short and long blocks in one call", short_and_long_blocks_in_one_call, 1},
    {"one message for each pair of nodes", one_message_for_each_pair_of_nodes, 1},
    {"scatter and gather are allreduce", scatter_and_gather_are_allreduce, 1},
    {"scatters in place in many rounds", scatters_in_place_in_many_rounds, 1},
    {"long vectors", long_vectors, 1},
    {"residuals belong to carriers and owners", residuals_belong_to_carriers_and_owners, 1},
    {"many at once", many_at_once, 1},
    {"auto takes it where it should", auto_takes_it_where_it_should, 1},
    {"blocks that are too large", blocks_that_are_too_large, 1},
    {"a rank that does not come", a_rank_that_does_not_come, 2},
};

T_MAIN(cases)
