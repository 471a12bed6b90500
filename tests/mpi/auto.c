/* SPDX-License-Identifier: BSD-3-Clause
 * tests/mpi/auto.c - the codec `auto`: with made-up facts it must take MPI's own collective, or a
 * certain codec, and the results must be those of that codec bit for bit; measured facts may decide
 * as they like, but keep the error wished for. Decisions are recorded and replayed, calibrations
 * written and read.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <thinwire/model.h>

#include "tests/mpi/absolute.h"
#include "tests/mpi/job.h"

#define SHORT 10
#define LONG  100000
#define SHARE 8192 /* whole blocks for everyone, and the least of a class of counts */

/* As the made-up facts have it: every rank a node of its own. */
static const char *const apart[] = {"NODE_RANKS=1", NULL};

/* Links so slow that every byte counts, or so fast that none does. */
static tw_facts_t made_up(int slow)
{
    static const tw_codec_facts_t codecs[] = {
        {"fp32", 0, 4.0, 1, 0.0, 0, 1e-9, 1e-9, 1e-9, 0.0},
        {"int8:block=4096", 0, 2.0, 4096, 0.004, 0, 1e-9, 1e-9, 1e-9, 0.0},
        {"tree8:block=4096,split=0.45", 0, 1.0, 4096, 0.013, 0, 1e-9, 1e-9, 1e-9, 0.0},
        {"onebit:block=2048", 0, 0.125, 2048, 1.0, 1, 1e-9, 1e-9, 1e-9, 0.0},
        {"bitpack:8", 1, 8.0, 1, 0.0, 0, 1e-9, 1e-9, 1e-9, 0.0},
        {"bitpack:3", 1, 3.0, 1, 0.0003, 0, 1e-9, 1e-9, 1e-9, 0.0}};
    tw_facts_t facts = {
        .ranks = t_size, .nodes = t_size, .local_ranks = 1, .long_form = 1, .engine = 1e-6};

    facts.between = (tw_link_facts_t){1e-5, slow ? 1e5 : 1e12, slow ? 1e5 : 1e12, 1e-6};
    facts.codecs  = (int)(sizeof(codecs) / sizeof(codecs[0]));
    memcpy(facts.codec, codecs, sizeof(codecs));
    for (int o = 0; o < TW_OPERATIONS; o++) {
        facts.native[o] = (tw_ladder_t){2, {4.0, 8e5}, {slow ? 1e-6 : 1e-9, slow ? 1e3 : 2e-9}};
    }
    return facts;
}

/* The oracle's shape for what auto does, and the call by auto. */
static void run_as(tw_comm_t *comm, const t_shape_t *shape, const char *wish, const char *algorithm,
                   const char *spec)
{
    t_job_t       job;
    tw_how_t      how;
    tw_request_t *request = NULL, *plan = NULL;

    t_job_open(&job, comm, shape, NULL, NULL);
    how     = job.how; /* of the oracle */
    job.how = (tw_how_t){.codec = t_codec(wish, shape->dtype)};
    T_OK(t_job_plan(&job, &plan));
    T_CHECK(strcmp(tw_request_algorithm(plan), algorithm) == 0, "%s by %s, not %s",
            t_op_names[shape->kind], tw_request_algorithm(plan), algorithm);
    T_CHECK(strcmp(tw_request_codec(plan), spec) == 0, "%s with %s, not %s",
            t_op_names[shape->kind], tw_request_codec(plan), spec);
    for (uint64_t round = 0; round < 3; round++) {
        job.how = how;
        t_job_fill(&job, round);
        job.how = (tw_how_t){.codec = t_codec(wish, shape->dtype)};
        if (round < 2) {
            T_OK(t_job_issue(&job, (t_form_t)round, &request));
            T_OK(tw_wait(&request));
        } else {
            T_OK(tw_start(plan));
            T_OK(tw_wait(&plan));
        }
        t_job_check(&job);
    }
    T_OK(tw_request_free(&plan));
    t_job_close(&job);
}

static const char *own_algorithm(t_op_t kind)
{
    switch (kind) {
    case T_ALLREDUCE:
    case T_REDUCE:
        return t_size > 2 ? "two_pass" : "direct";
    case T_REDUCE_SCATTER:
    case T_REDUCE_SCATTER_BLOCK:
        return "one_pass";
    case T_BCAST:
        return t_size > 2 ? "chain" : "tree";
    default:
        return "pairwise";
    }
}

static void set_counts(t_shape_t *shape, size_t each)
{
    shape->count = each;
    for (int r = 0; r < t_size; r++) {
        for (int q = 0; q < t_size; q++) {
            shape->counts[r][q] = each;
        }
    }
}

static void slow_links_are_compressed(void)
{
    tw_context_t    *ctx;
    tw_comm_t       *comm  = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    const tw_facts_t facts = made_up(1);

    T_OK(tw_comm_set_facts(comm, &facts));
    for (int kind = 0; kind < T_OPS && t_size > 1; kind++) {
        t_shape_t shape = {
            .kind = (t_op_t)kind, .spec = "tree8", .root = t_size - 1, .seed = t_seed};

        t_note("%s", t_op_names[kind]);
        set_counts(&shape, kind == T_BCAST       ? 8 * LONG
                           : kind == T_ALLREDUCE ? SHARE * (size_t)t_size
                                                 : LONG / (size_t)t_size);
        if (kind == T_ALLTOALLV) { /* ranks do not know each other's counts */
            shape.spec = "fp32";
            run_as(comm, &shape, "auto", "pairwise", "fp32");
            continue;
        }
        if (kind == T_ALLREDUCE || kind == T_REDUCE) {
            shape.algorithm = t_size > 2 ? TW_ALGORITHM_TWO_PASS : TW_ALGORITHM_DIRECT;
        }
        if (kind == T_REDUCE) {
            continue; /* below: what is best depends on the ranks */
        }
        run_as(comm, &shape, "auto", own_algorithm((t_op_t)kind), "tree8:block=4096,split=0.45");
        shape.spec = "int8";
        run_as(comm, &shape, "auto:0.005", own_algorithm((t_op_t)kind), "int8:block=4096");
        shape.spec     = "fp32";
        shape.in_place = 1;
        run_as(comm, &shape, "auto:0", own_algorithm((t_op_t)kind), "fp32");
        shape.dtype = TW_F64;
        shape.spec  = "bitpack:3";
        run_as(comm, &shape, "auto", own_algorithm((t_op_t)kind), "bitpack:3");
    }
    t_comm_done(comm, ctx);
}

/* Values whose sums are exact in any order. */
static void fill_whole(float *x, size_t n, int rank)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)((int)((i * 7 + (size_t)rank * 13) % 1001) - 500);
    }
}

static void check_sum(const float *got, size_t first, size_t n, tw_reduction_t reduction)
{
    for (size_t i = 0; i < n; i++) {
        float sum = 0.0f;

        for (int r = 0; r < t_size; r++) {
            sum += (float)((int)(((first + i) * 7 + (size_t)r * 13) % 1001) - 500);
        }
        sum = reduction == TW_AVERAGE ? sum / (float)t_size : sum;
        if (memcmp(&sum, &got[i], sizeof(sum)) != 0) {
            T_CHECK(0, "value %zu is %g, not %g", i, (double)got[i], (double)sum);
            return;
        }
    }
}

/* One reduction in one form, or in place, which MPI's own collective must carry out. */
static void plain_reduction(tw_comm_t *comm, t_op_t kind, const tw_how_t *how, size_t n, int form,
                            tw_reduction_t reduction)
{
    const size_t  mine = n / (size_t)t_size, own = (size_t)t_rank * mine;
    const int     scatter = kind >= T_REDUCE_SCATTER;
    t_shape_t     shape   = {.kind      = kind,
                             .root      = t_size - 1,
                             .reduction = reduction,
                             .in_place  = form == T_FORMS && kind != T_REDUCE,
                             .algorithm = TW_ALGORITHM_MPI};
    tw_request_t *request = NULL;
    t_job_t       job;

    set_counts(&shape, scatter ? mine : n);
    t_job_open(&job, comm, &shape, NULL, NULL);
    job.how = *how;
    fill_whole((float *)(job.in_place ? job.recv : job.send), n, t_rank);
    T_OK(t_job_issue(&job, (t_form_t)(form % T_FORMS), &request));
    T_CHECK(request == NULL || strcmp(tw_request_algorithm(request), "mpi") == 0, "by %s",
            tw_request_algorithm(request));
    t_job_finish((t_form_t)(form % T_FORMS), &request);
    if (kind != T_REDUCE || t_rank == shape.root) {
        check_sum((float *)job.recv, scatter ? own : 0, scatter ? mine : n, reduction);
    }
    t_job_close(&job);
}

static void all_by_mpi(tw_comm_t *comm, const char *wish, tw_algorithm_t algorithm)
{
    const tw_how_t how      = {.codec = t_codec(wish, TW_F32), .algorithm = algorithm};
    const size_t   counts[] = {0, 840, LONG / 840 * 840};

    for (int form = 0; form < 4; form++) {
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            for (int kind = T_ALLREDUCE; kind < T_OPS; kind++) {
                t_note("%s of %zu, form %d", t_op_names[kind], counts[c], form);
                plain_reduction(comm, (t_op_t)kind, &how, counts[c], form,
                                kind % 2 == 0 ? TW_SUM : TW_AVERAGE);
            }
        }
    }
}

static void fast_links_are_left_to_mpi(void)
{
    tw_context_t    *ctx;
    tw_comm_t       *comm  = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    const tw_facts_t facts = made_up(0);

    T_OK(tw_comm_set_facts(comm, &facts));
    all_by_mpi(comm, "auto:1", TW_ALGORITHM_AUTO);
    for (int kind = 0; kind < T_ALLREDUCE; kind++) {
        for (int in_place = 0; in_place < 2; in_place++) {
            t_shape_t shape = {.kind     = (t_op_t)kind,
                               .spec     = "fp32",
                               .root     = t_size - 1,
                               .seed     = t_seed,
                               .in_place = in_place,
                               .gap      = 3};

            t_note("%s", t_op_names[kind]);
            set_counts(&shape, SHORT);
            run_as(comm, &shape, "auto:1", kind == T_ALLTOALLV ? "pairwise" : "mpi", "fp32");
            set_counts(&shape, 5003);
            run_as(comm, &shape, "auto:1", kind == T_ALLTOALLV ? "pairwise" : "mpi", "fp32");
            shape.dtype = TW_F64;
            shape.spec  = "bitpack:8";
            run_as(comm, &shape, "auto:1", kind == T_ALLTOALLV ? "pairwise" : "mpi", "bitpack:8");
        }
    }
    t_comm_done(comm, ctx);
}

static void mpi_can_be_asked_for(void)
{
    tw_context_t  *ctx;
    tw_comm_t     *comm  = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    t_log_t        log   = {0};
    float          x     = 1.0f;
    const tw_how_t lossy = {.codec = t_codec("tree8", TW_F32), .algorithm = TW_ALGORITHM_MPI};
    const tw_how_t wrong = {.algorithm = (tw_algorithm_t)99};

    T_OK(tw_context_set_log(ctx, t_log_take, &log));
    all_by_mpi(comm, "", TW_ALGORITHM_MPI);
    all_by_mpi(comm, "bitpack:4", TW_ALGORITHM_MPI);
    T_STATUS(tw_allreduce(comm, TW_IN_PLACE, &x, 1, TW_SUM, &lossy), TW_ERR_INVALID_ARG);
    T_STATUS(tw_allreduce(comm, TW_IN_PLACE, &x, 1, TW_SUM, &wrong), TW_ERR_INVALID_ARG);
    t_comm_done(comm, ctx);
}

/* What is counted where MPI is quick: calls, and what MPI must send. */
static void the_quick_way_counts(void)
{
    tw_context_t    *ctx;
    tw_comm_t       *comm  = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    const tw_facts_t facts = made_up(0);
    const tw_how_t   how   = {.codec = t_codec("auto", TW_F32)};
    const tw_how_t   named = {.codec = how.codec, .algorithm = TW_ALGORITHM_NODE};
    const uint64_t   p     = (uint64_t)t_size;
    static float     x[1000], y[8000], z[8000];
    tw_stats_t       stats;

    T_OK(tw_comm_set_facts(comm, &facts));
    for (int i = 0; i < 3; i++) {
        T_OK(tw_comm_stats_reset(comm));
        T_OK(tw_allreduce(comm, TW_IN_PLACE, x, 1000, TW_SUM, &how));
        T_OK(tw_comm_stats(comm, &stats));
        T_CHECK(stats.calls == 1 && stats.bytes_sent == 2 * (p - 1) * 4000 / p &&
                    stats.quantisations == 0,
                "%llu calls, %llu bytes", (unsigned long long)stats.calls,
                (unsigned long long)stats.bytes_sent);
        T_OK(tw_alltoall(comm, z, y, 1000, &how));
        T_OK(tw_allgather(comm, x, y, 1000, &how));
        T_OK(tw_bcast(comm, x, 1000, 0, &how));
        T_STATUS(tw_reduce(comm, x, y, 1000, TW_SUM, 0, &named), TW_ERR_UNSUPPORTED);
        T_STATUS(tw_bcast(comm, x, 1000, 0, &named), TW_ERR_UNSUPPORTED); /* never MPI's, unasked */
        T_STATUS(tw_bcast(comm, x, 1000, t_size, &how), TW_ERR_INVALID_ARG);
        T_STATUS(tw_allreduce(comm, NULL, x, 1000, TW_SUM, &how), TW_ERR_INVALID_ARG);
    }
    T_OK(tw_comm_stats(comm, &stats));
    T_CHECK(stats.calls == 4, "%llu calls", (unsigned long long)stats.calls);
    t_comm_done(comm, ctx);
}

/* A rank that waits in a blocking call advances what else runs: another may wait for that first. */
static void blocking_calls_advance_others(void)
{
    tw_context_t    *ctx;
    tw_comm_t       *comm  = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    const tw_facts_t facts = made_up(0);
    const tw_how_t   how = {.codec = t_codec("auto", TW_F32)}, plain = {.codec = NULL};
    float           *x = t_malloc(LONG * sizeof(*x)), y = 1.0f;

    T_OK(tw_comm_set_facts(comm, &facts));
    T_OK(tw_allreduce(comm, TW_IN_PLACE, &y, 1, TW_SUM, &how));
    for (int i = 0; i < 5; i++) {
        tw_request_t *request = NULL;

        fill_whole(x, LONG, t_rank);
        T_OK(tw_iallreduce(comm, TW_IN_PLACE, x, LONG, TW_SUM, &plain, &request));
        if (t_rank % 2 == 0) {
            T_OK(tw_wait(&request));
        }
        y = 1.0f;
        T_OK(tw_allreduce(comm, TW_IN_PLACE, &y, 1, TW_SUM, &how));
        T_CHECK(y == (float)t_size, "%g", (double)y);
        T_OK(tw_wait(&request));
        check_sum(x, 0, LONG, TW_SUM);
    }
    free(x);
    t_comm_done(comm, ctx);
}

/* Whatever is decided by measured facts, every result is within what was wished for. */
static void measured_under(const char *const *settings)
{
    static const double      wishes[] = {0.0, 0.001, 0.02};
    static const char *const specs[]  = {"auto:0", "auto:0.001", "auto:0.02"};
    tw_context_t            *ctx;
    tw_comm_t               *comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    float  *in = t_malloc(LONG * sizeof(*in)), *out = t_malloc(LONG * sizeof(*out));
    float  *other = t_malloc(LONG * sizeof(*other));
    double *want = t_malloc(LONG * sizeof(*want)), *most = t_malloc(LONG * sizeof(*most));

    for (size_t w = 0; w < 3; w++) {
        const tw_how_t how = {.codec = t_codec(specs[w], TW_F32)};

        for (size_t n = 1; n <= LONG; n = n * 14 + 1) {
            double largest = 0.0;

            t_note("%s, %zu values", specs[w], n);
            memset(want, 0, n * sizeof(*want));
            for (int r = 0; r < t_size; r++) {
                t_fill(TW_F32, t_seed + (uint64_t)r, 0, n, other);
                for (size_t i = 0; i < n; i++) {
                    want[i] += (double)other[i];
                    largest = fabs((double)other[i]) > largest ? fabs((double)other[i]) : largest;
                }
            }
            t_fill(TW_F32, t_seed + (uint64_t)t_rank, 0, n, in);
            T_OK(tw_allreduce(comm, in, out, n, TW_SUM, &how));
            for (size_t i = 0; i < n; i++) {
                const double bound = (2.0 * wishes[w] * t_size + 1e-5) * largest * t_size;

                if (!(fabs((double)out[i] - want[i]) <= bound)) {
                    T_CHECK(0, "value %zu is %g, not %g", i, (double)out[i], want[i]);
                    break;
                }
            }
            T_SAME_EVERYWHERE(MPI_COMM_WORLD, out, n * sizeof(*out));
        }
    }
    free(in);
    free(out);
    free(other);
    free(want);
    free(most);
    t_comm_done(comm, ctx);
}

/* On one node, on nodes of two ranks, on nodes of one. */
static void measured_facts_keep_the_error(void)
{
    static const char *const pairs[] = {"NODE_RANKS=2", NULL};

    measured_under(NULL);
    measured_under(pairs);
    measured_under(apart);
}

/* With feedback the values pass through an encoding; onebit needs the wish for it. */
static void feedback_is_encoded(void)
{
    tw_context_t  *ctx;
    tw_comm_t     *comm  = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    tw_facts_t     facts = made_up(0);
    tw_feedback_t *fb    = NULL;
    tw_request_t  *plan  = NULL;
    static float   x[4096];
    tw_how_t       how = {.codec = t_codec("auto", TW_F32)};

    T_OK(tw_feedback_create(comm, "w", TW_F32, 4096, &fb));
    how.feedback = fb;
    T_OK(tw_comm_set_facts(comm, &facts));
    T_OK(tw_allreduce_init(comm, TW_IN_PLACE, x, 4096, TW_SUM, &how, &plan));
    T_CHECK(strcmp(tw_request_algorithm(plan), "mpi") != 0, "MPI knows no feedback");
    T_OK(tw_request_free(&plan));
    facts = made_up(1);
    T_OK(tw_comm_set_facts(comm, &facts));
    how.codec = t_codec("auto:1", TW_F32);
    T_OK(tw_allreduce_init(comm, TW_IN_PLACE, x, 4096, TW_SUM, &how, &plan));
    T_CHECK(t_size == 1 || strcmp(tw_request_codec(plan), "onebit:block=2048") == 0, "%s",
            tw_request_codec(plan));
    T_OK(tw_request_free(&plan));
    how.feedback = NULL;
    T_OK(tw_allreduce_init(comm, TW_IN_PLACE, x, 4096, TW_SUM, &how, &plan));
    T_CHECK(strcmp(tw_request_codec(plan), "onebit:block=2048") != 0, "onebit without feedback");
    T_OK(tw_request_free(&plan));
    tw_feedback_destroy(fb);
    t_comm_done(comm, ctx);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *scratch(const char *setting, const char *name)
{
    static char text[4][512];
    static int  next;
    const char *folder = getenv("TW_SCRATCH");

    next = (next + 1) % 4;
    snprintf(text[next], sizeof(text[next]), "%s%s%s/auto-%s", setting,
             setting[0] != '\0' ? "=" : "", folder != NULL ? folder : "/tmp", name);
    return text[next];
}

static void put_file(const char *path, const char *text)
{
    if (t_rank == 0) {
        FILE *file = fopen(path, "w");

        T_CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "cannot write %s",
                path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void remove_file(const char *path)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        unlink(path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* An allreduce by auto, and what it chose. */
static void decided(tw_comm_t *comm, float *x, size_t n, char *choice, size_t size)
{
    const tw_how_t how  = {.codec = t_codec("auto", TW_F32)};
    tw_request_t  *plan = NULL;

    t_fill(TW_F32, t_seed + (uint64_t)t_rank, 0, n, x);
    T_OK(tw_allreduce_init(comm, TW_IN_PLACE, x, n, TW_SUM, &how, &plan));
    snprintf(choice, size, "%s %s", tw_request_algorithm(plan), tw_request_codec(plan));
    T_OK(tw_start(plan));
    T_OK(tw_wait(&plan));
    T_OK(tw_request_free(&plan));
}

static void decisions_are_replayed(void)
{
    const char *const path = scratch("", "decisions");
    char              setting[600], first[100], second[100];
    const char       *settings[] = {setting, NULL};
    float            *x = t_malloc(LONG * sizeof(*x)), *y = t_malloc(LONG * sizeof(*y));
    const tw_how_t    how = {.codec = t_codec("auto:0.5", TW_F32)};
    t_log_t           log = {0};
    tw_context_t     *ctx;
    tw_comm_t        *comm, *half;
    MPI_Comm          part;
    tw_facts_t        slow = made_up(1), fast = made_up(0), alone = made_up(0);

    snprintf(setting, sizeof(setting), "DECISIONS=%s", path);
    remove_file(path);
    MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, t_rank, &part);
    comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    T_OK(tw_comm_set_facts(comm, &slow));
    t_settings_put(settings);
    half = t_comm(ctx, part); /* others, of other processes, write to the same file */
    t_settings_take_out(settings);
    alone.ranks = alone.nodes = tw_comm_size(half);
    T_OK(tw_comm_set_facts(half, &alone));
    decided(half, x, LONG, second, sizeof(second));
    decided(comm, x, LONG, first, sizeof(first));
    T_OK(tw_comm_destroy(half));
    t_comm_done(comm, ctx);
    MPI_Barrier(MPI_COMM_WORLD);

    comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    T_OK(tw_context_set_log(ctx, t_log_take, &log));
    T_OK(tw_comm_set_facts(comm, &fast)); /* would decide otherwise */
    decided(comm, y, LONG, second, sizeof(second));
    T_CHECK(strcmp(first, second) == 0, "%s, then %s", first, second);
    T_SAME(TW_F32, y, x, LONG);
    T_CHECK(t_size == 1 || strstr(first, "mpi") == NULL, "%s on slow links", first);
    t_comm_done(comm, ctx);

    comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    T_STATUS(tw_allreduce(comm, TW_IN_PLACE, y, LONG, TW_SUM, &how),
             TW_ERR_MISMATCH); /* another error */
    T_OK(tw_comm_status(comm));
    t_comm_done(comm, ctx);
    remove_file(path);
    MPI_Comm_free(&part);
    free(x);
    free(y);
}

/* Creation fails on all ranks, with a line that says why. */
static void refused_decisions(const char *text, const char *says)
{
    const char *const path = scratch("", "refused");
    char              setting[600];
    const char       *settings[] = {setting, NULL};
    t_log_t           log        = {0};
    tw_context_t     *ctx;
    tw_comm_t        *comm = NULL;

    snprintf(setting, sizeof(setting), "DECISIONS=%s", path);
    put_file(path, text);
    t_settings_put(settings);
    ctx = t_context_logged(&log);
    T_CHECK(tw_comm_create(ctx, MPI_COMM_WORLD, &comm) != TW_OK, "a bad file was taken");
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, says), "no line says '%s': %s", says, log.text);
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "auto-refused"), "no line names the file");
    t_settings_take_out(settings);
    tw_context_destroy(ctx);
    remove_file(path);
}

static void bad_decisions_are_refused(void)
{
    refused_decisions("", "does not begin");
    refused_decisions("thinwire decisions 1\nversion x\n", "checksum");
    refused_decisions("thinwire decisions 1\nversion 0.0.0\nchecksum b8e9e9ee3d4ecf40\n",
                      "checksum");
    refused_decisions("\x7f"
                      "ELF",
                      "does not begin");
}

static void calibrations_are_read(void)
{
    const char *const path = scratch("", "calibration");
    char              setting[600], written[600] = "";
    const char       *settings[] = {setting, "NODE_RANKS=1", NULL};
    t_log_t           log        = {0};
    tw_context_t     *ctx;
    tw_comm_t        *comm;
    tw_facts_t        facts   = made_up(1), found;
    double            seconds = 0.0;

    snprintf(setting, sizeof(setting), "CALIBRATION=%s", path);
    comm = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    T_OK(tw_comm_set_facts(comm, &facts));
    T_OK(tw_comm_calibration_save(comm, path, written, sizeof(written)));
    T_CHECK(t_rank != 0 || strcmp(written, path) == 0, "%s", written);
    T_OK(tw_comm_predict(comm, TW_OPERATION_ALLREDUCE, 1000, NULL, "mpi", &seconds));
    T_CHECK(seconds > 0.0, "%g", seconds);
    T_STATUS(tw_comm_predict(comm, TW_OPERATION_ALLREDUCE, 1000, NULL, "magic", &seconds),
             TW_ERR_UNSUPPORTED);
    facts.ranks++;
    T_STATUS(tw_comm_set_facts(comm, &facts), TW_ERR_INVALID_ARG);
    facts                 = made_up(1);
    facts.between.latency = NAN;
    T_STATUS(tw_comm_set_facts(comm, &facts), TW_ERR_INVALID_ARG);
    facts = made_up(1);
    t_comm_done(comm, ctx);
    MPI_Barrier(MPI_COMM_WORLD);

    comm = t_comm_under(settings, MPI_COMM_WORLD, &ctx);
    T_OK(tw_comm_get_facts(comm, &found));
    T_CHECK(found.between.bandwidth == 1e5 && found.codecs >= facts.codecs && found.long_form == 1,
            "other facts were read");
    t_comm_done(comm, ctx);

    put_file(path, "thinwire calibration 2\nversion");
    comm = t_comm_logged(settings, &log, &ctx);
    T_OK(tw_comm_get_facts(comm, &found));
    T_CHECK(found.long_form == 0 && found.ranks == t_size, "nothing was measured");
    T_CHECK(t_log_holds(MPI_COMM_WORLD, &log, "auto-calibration is ignored"), "no line: %s",
            log.text);
    t_comm_done(comm, ctx);
    remove_file(path);
}

static const t_case_t cases[] = {
    {"slow links are compressed", slow_links_are_compressed, 1},
    {"fast links are left to MPI", fast_links_are_left_to_mpi, 1},
    {"MPI can be asked for", mpi_can_be_asked_for, 1},
    {"the quick way counts", the_quick_way_counts, 1},
    {"blocking calls advance others", blocking_calls_advance_others, 1},
    {"measured facts keep the error", measured_facts_keep_the_error, 1},
    {"feedback is encoded", feedback_is_encoded, 1},
    {"decisions are replayed", decisions_are_replayed, 1},
    {"bad decisions are refused", bad_decisions_are_refused, 1},
    {"calibrations are read", calibrations_are_read, 1},
    {"an absolute bound is kept", t_absolute_bound_is_kept, 1},
    {"sums under an absolute bound are exact", t_absolute_sums_are_exact, 1},
    {"limits of an absolute bound", t_absolute_limits, 1},
};

T_MAIN(cases)
