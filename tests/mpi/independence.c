/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/independence.c - results depend on input, rank order, codec and algorithm alone: not on
 * the size of chunks, the window, the limit on messages, the threads, or the run.
 *
 * The model knows nothing of these settings, so every result is compared with it under each of
 * them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

static const char *const specs[] = {
    "", "bitpack:3", "tree8:block=64", "int8:block=192", "onebit:block=64", "bf16", "static8"};

#define SPECS (sizeof(specs) / sizeof(specs[0]))

/* All kinds and some codecs under one group of settings. */
static void all_kinds(const char *const *settings, size_t count)
{
    tw_context_t *ctx;
    tw_comm_t    *comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    t_shape_t     shape;

    for (int k = 0; k < T_OPS; k++) {
        for (int a = 0; a < (k == T_ALLREDUCE ? 3 : 1); a++) {
            const size_t i = (size_t)(k + a) + (size_t)t_seed;

            memset(&shape, 0, sizeof(shape));
            shape.kind  = (t_op_t)k;
            shape.dtype = TW_F32;
            shape.spec  = specs[i % SPECS];
            shape.count =
                k == T_BCAST || k == T_ALLREDUCE || k == T_REDUCE ? count : count / (size_t)t_size;
            shape.seed      = t_seed + (unsigned)k;
            shape.root      = t_size / 2;
            shape.misalign  = 1;
            shape.in_place  = k % 2;
            shape.algorithm = (tw_algorithm_t)(k == T_ALLREDUCE ? 1 + a : k == T_REDUCE ? 2 : 0);
            shape.threads   = settings == NULL ? 3 : 0;
            for (int s = 0; s < t_size; s++) {
                for (int r = 0; r < t_size; r++) {
                    shape.counts[s][r] = (count / (size_t)t_size + 7u * (unsigned)(s + r)) %
                                         (2 * count / (size_t)t_size);
                }
            }
            t_job_once(comm, &shape);
        }
    }
    t_comm_done(comm, ctx);
}

static void whatever_the_chunk(void)
{
    static const char *const chunks[] = {"CHUNK=1",   "CHUNK=257", "CHUNK=1k", "CHUNK=10000",
                                         "CHUNK=64k", "CHUNK=1G",  "CHUNK=inf"};

    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        const char *const settings[] = {chunks[i], NULL};

        all_kinds(settings, i == 0 ? 331 : 6007);
    }
}

static void whatever_the_window(void)
{
    for (int window = 1; window <= 8; window++) {
        char              text[]     = "WINDOW=1";
        const char *const settings[] = {text, "CHUNK=1024", NULL};

        text[7] = (char)('0' + window);
        all_kinds(settings, 5003);
    }
}

static void whatever_the_way_of_a_broadcast(void)
{
    static const char *const ways[] = {"BCAST=tree", "BCAST=chain", "MESSAGE_COST=1"};

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        const char *const settings[] = {ways[i], "CHUNK=1024", NULL};

        all_kinds(settings, 5003);
    }
}

/* Messages are cut: what happens beyond 2^31 bytes, in small. */
static void whatever_the_limit_on_messages(void)
{
    static const char *const limits[] = {"MESSAGE_LIMIT=1", "MESSAGE_LIMIT=7", "MESSAGE_LIMIT=64",
                                         "MESSAGE_LIMIT=1000", "MESSAGE_LIMIT=2147483647"};

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        const char *const alone[]   = {limits[i], NULL};
        const char *const chunked[] = {limits[i], "CHUNK=512", "WINDOW=3", NULL};

        all_kinds(alone, i == 0 ? 97 : i < 3 ? 701 : 6007);
        all_kinds(chunked, i == 0 ? 97 : i < 3 ? 701 : 6007);
    }
}

/* The other way round: the cut messages must not have been sent whole. */
static void a_limit_on_messages_is_kept(void)
{
    static const char *const settings[] = {"MESSAGE_LIMIT=100", "CHUNK=64k", "NODE_RANKS=1", NULL};
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    float                   *x    = t_malloc(5000 * sizeof(float));
    tw_stats_t               stats;

    t_fill(TW_F32, t_seed, 0, 5000, x);
    T_OK(tw_bcast(comm, x, 5000, 0, NULL));
    T_OK(tw_comm_stats_reset(comm));
    T_OK(tw_bcast(comm, x, 5000, 0, NULL));
    T_OK(tw_comm_stats(comm, &stats));
    T_CHECK(stats.messages_sent >= stats.bytes_sent / 100, "%llu bytes in %llu messages",
            (unsigned long long)stats.bytes_sent, (unsigned long long)stats.messages_sent);
    T_CHECK(t_rank != 0 || t_size == 1 || stats.bytes_sent >= 20000, "rank 0 sent nothing");
    free(x);
    t_comm_done(comm, ctx);
}

static void whatever_the_threads(void)
{
    static const char *const one[]   = {"THREADS=1", "OMP_THRESHOLD=1", NULL};
    static const char *const three[] = {"THREADS=3", "OMP_THRESHOLD=1", NULL};

    all_kinds(one, 6007);
    all_kinds(three, 6007);
    all_kinds(NULL, 6007); /* tw_exec_t.threads is 3 there */
}

static void whatever_the_instruction_set(void)
{
    static const char *const scalar[] = {"CPU=scalar", NULL};
    tw_context_t            *ctx;
    tw_codec_t              *plain = NULL;
    tw_codec_traits_t        traits;
    float                    x[3000], y[3000];

    t_settings_put(scalar);
    ctx = t_context();
    for (size_t i = 1; t_specs_f32[i] != NULL; i++) {
        tw_how_t how = {.codec = t_codec(t_specs_f32[i], TW_F32)};

        T_OK(tw_codec_create(ctx, t_specs_f32[i], TW_F32, &plain, NULL, 0));
        T_OK(tw_codec_traits(plain, &traits));
        T_CHECK(strcmp(traits.isa, "scalar") == 0, "the kernels are %s", traits.isa);
        how.codec = t_rank % 2 == 0 ? plain : how.codec; /* ranks may differ in this */
        t_note("allreduce %s, scalar on the even ranks", t_specs_f32[i]);
        t_fill(TW_F32, t_seed + (unsigned)t_rank, 0, 3000, x);
        T_OK(tw_allreduce(t_world, x, y, 3000, TW_SUM, &how));
        T_SAME_EVERYWHERE(MPI_COMM_WORLD, y, sizeof(y));
        tw_codec_destroy(plain);
        plain = NULL;
    }
    t_settings_take_out(scalar);
    tw_context_destroy(ctx);
}

/* Repeated, with ranks that come late in turn. */
static void whatever_the_run(void)
{
    enum { N = 8009, RUNS = 12 };
    float *x = t_malloc(N * sizeof(float)), *y = t_malloc(N * sizeof(float));
    float *first = t_malloc(N * sizeof(float));

    t_fill(TW_F32, t_seed + (unsigned)t_rank, 0, N, x);
    for (int a = TW_ALGORITHM_DIRECT; a <= TW_ALGORITHM_GRID; a++) {
        const tw_how_t how = {.codec     = t_codec("tree8:block=64", TW_F32),
                              .algorithm = (tw_algorithm_t)a};

        for (int run = 0; run < RUNS; run++) {
            const double until = MPI_Wtime() + (run % t_size == t_rank ? 0.004 : 0.0);

            while (MPI_Wtime() < until) {
            }
            T_OK(tw_allreduce(t_world, x, y, N, TW_SUM, &how));
            if (run == 0) {
                memcpy(first, y, N * sizeof(float));
            }
            T_SAME(TW_F32, y, first, N);
        }
        T_SAME_EVERYWHERE(MPI_COMM_WORLD, y, N * sizeof(float));
    }
    free(x);
    free(y);
    free(first);
}

static const t_case_t cases[] = {
    {"whatever the chunk", whatever_the_chunk, 1},
    {"whatever the window", whatever_the_window, 1},
    {"whatever the way of a broadcast", whatever_the_way_of_a_broadcast, 1},
    {"whatever the limit on messages", whatever_the_limit_on_messages, 1},
    {"a limit on messages is kept", a_limit_on_messages_is_kept, 1},
    {"whatever the threads", whatever_the_threads, 1},
    {"whatever the instruction set", whatever_the_instruction_set, 1},
    {"whatever the run", whatever_the_run, 1},
};

T_MAIN(cases)
