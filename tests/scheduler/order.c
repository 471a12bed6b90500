/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/order.c - what travels while what is computed, as the trace says (order, not
 * time); bytes sent, and memory.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/scheduler/spans.h"

#define FEATURES 50

typedef struct job {
    tw_comm_t   *comm;
    tw_hybrid_t *hybrid;
    size_t       examples[T_RANKS_MAX];
    float       *x, *gx;
} job_t;

static job_t opened(tw_comm_t *comm, tw_scheme_t scheme, int group, size_t each, tw_trace_t *trace)
{
    job_t              job    = {.comm = comm};
    tw_hybrid_config_t config = {.scheme   = scheme,
                                 .group    = group,
                                 .features = FEATURES,
                                 .examples = job.examples,
                                 .trace    = trace};

    for (int r = 0; r < t_size; r++) {
        job.examples[r] = each;
    }
    job.x  = t_alloc(each * FEATURES * sizeof(float), 0);
    job.gx = t_alloc(each * FEATURES * sizeof(float), 0);
    memset(job.x, 0, each * FEATURES * sizeof(float));
    T_OK(tw_hybrid_create(comm, &config, &job.hybrid));
    return job;
}

static void closed(job_t *job)
{
    tw_hybrid_destroy(job->hybrid);
    t_free(job->x);
    t_free(job->gx);
}

static int compute(void *user, const tw_hybrid_pass_t *pass)
{
    job_t *job = user;

    for (int i = 0; i < 20; i++) {
        tw_hybrid_advance(job->hybrid);
    }
    if (pass->gx != NULL) {
        memcpy(pass->gx, pass->x, pass->examples * FEATURES * sizeof(float));
    }
    return 0;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* A span that must be there exactly once. */
static t_span_t once(const json_t *document, int rank, const char *name, size_t pass)
{
    const t_span_t span = t_span(document, rank, name, (int)pass);

    T_CHECK(span.found == 1, "rank %d has %d spans '%s' of pass %zu", rank, span.found, name, pass);
    return span;
}

/* Times are whole nanoseconds printed in microseconds: equal ones may differ by rounding. */
static int before(double a, double b)
{
    return a <= b + 0.0005;
}

static void check_exchange(const json_t *document, int rank, size_t p)
{
    const t_span_t now  = once(document, rank, "compute", p - 1);
    const t_span_t sent = once(document, rank, "activations", p);
    const t_span_t wait = once(document, rank, "wait activations", p);

    T_CHECK(before(sent.begin, now.begin), "exchange %zu is posted after pass %zu begins", p,
            p - 1);
    T_CHECK(before(now.end, wait.begin), "exchange %zu is waited for before pass %zu ends", p,
            p - 1);
    T_CHECK(before(wait.end, once(document, rank, "compute", p).begin), "pass %zu begins too early",
            p);
    T_CHECK(before(sent.end, wait.end), "exchange %zu ends after it was waited for", p);
    T_CHECK(before(once(document, rank, "wait activations", p - 1).end, sent.begin),
            "exchange %zu is posted before %zu is complete", p, p - 1);
}

static void check_gradients(const json_t *document, int rank, size_t p, size_t passes)
{
    const t_span_t sent = once(document, rank, "gradients", p);
    const t_span_t wait = once(document, rank, "wait gradients", p);

    T_CHECK(before(once(document, rank, "compute", p).end, sent.begin),
            "gradients %zu sent too early", p);
    T_CHECK(before(sent.end, wait.end), "gradients %zu end after they were waited for", p);
    if (p + 1 < passes) {
        T_CHECK(before(sent.begin, once(document, rank, "compute", p + 1).begin) &&
                    before(once(document, rank, "compute", p + 1).end, wait.begin),
                "gradients %zu do not travel during pass %zu", p, p + 1);
    }
    if (p + 2 < passes) {
        T_CHECK(before(wait.end, once(document, rank, "compute", p + 2).begin),
                "the buffer of gradients %zu is used too early", p);
    }
}

static void overlap(void)
{
    for (int s = 0; s < 4; s++) {
        tw_trace_t *trace = NULL;
        json_t     *document;
        job_t       job;
        size_t      passes;

        t_note("scheme %d", s);
        T_OK(tw_trace_create(0, &trace));
        job    = opened(t_world, (tw_scheme_t)s, (t_size + 1) / 2, 2 * (size_t)t_size, trace);
        passes = tw_hybrid_passes(job.hybrid);
        T_CHECK(passes == (s == 0 ? 1 : (size_t)t_size), "%zu passes", passes);
        T_OK(tw_hybrid_run(job.hybrid, job.x, job.gx, compute, &job));
        document = t_trace_read(t_world, trace);
        for (int r = 0; r < t_size && document != NULL && t_size > 1; r++) {
            for (size_t p = 0; p < passes; p++) {
                if (p > 0) {
                    check_exchange(document, r, p);
                }
                check_gradients(document, r, p, passes);
            }
        }
        if (document != NULL && t_size == 1) {
            T_CHECK(once(document, 0, "compute", 0).end > 0, "no span of the only pass");
            T_CHECK(t_span(document, 0, "activations", 0).found == 0, "one rank exchanges");
        }
        json_decref(document);
        closed(&job);
        tw_trace_destroy(trace);
    }
}

/* ---- bytes and memory ------------------------------------------------------------------------ */

static const char *const apart[] = {"NODE_RANKS=1", NULL}; /* no memory in common */

static tw_stats_t counted(job_t *job, float *gx)
{
    tw_stats_t stats;

    T_OK(tw_comm_stats_reset(job->comm));
    T_OK(tw_hybrid_run(job->hybrid, job->x, gx, compute, job));
    T_OK(tw_comm_stats(job->comm, &stats));
    return stats;
}

static void expect(const char *what, uint64_t got, uint64_t want)
{
    T_CHECK(got == want, "%s: %llu, not %llu", what, (unsigned long long)got,
            (unsigned long long)want);
}

/* E4: with (c) a rank sends 1/K of its examples to all others in a pass, and gets back as much. */
static void bytes_of_c(void)
{
    const size_t   each = 6 * (size_t)t_size, passes = (size_t)t_size;
    const uint64_t pass = each / passes * FEATURES * (uint64_t)(t_size - 1) * 4;
    tw_context_t  *ctx;
    tw_comm_t     *comm = t_comm_under(apart, MPI_COMM_WORLD, &ctx);
    job_t          job  = opened(comm, TW_SCHEME_C, 0, each, NULL);
    tw_stats_t     stats;

    expect("passes", tw_hybrid_passes(job.hybrid), passes);
    stats = counted(&job, NULL);
    expect("bytes sent forward", stats.bytes_sent, passes * pass);
    expect("bytes received forward", stats.bytes_received, passes * pass);
    stats = counted(&job, job.gx);
    expect("bytes sent in both directions", stats.bytes_sent, 2 * passes * pass);
    expect("calls", stats.calls, t_size > 1 ? 2 * passes : 0);
    closed(&job);
    t_comm_done(comm, ctx);
}

/* (a) and (b) bring the same to everybody: K - 1 times all examples. */
static void bytes_of_a_and_b(void)
{
    const size_t   each = 5;
    const uint64_t all  = each * (uint64_t)t_size * FEATURES * (uint64_t)(t_size - 1) * 4;
    tw_context_t  *ctx;
    tw_comm_t     *comm = t_comm_under(apart, MPI_COMM_WORLD, &ctx);

    for (int s = 0; s < 2; s++) {
        job_t      job   = opened(comm, (tw_scheme_t)s, 0, each, NULL);
        tw_stats_t stats = counted(&job, NULL);
        uint64_t   sum;

        MPI_Allreduce(&stats.bytes_sent, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        expect(s == 0 ? "bytes of (a)" : "bytes of (b)", sum, all);
        expect("bytes received", stats.bytes_received, all / (uint64_t)t_size);
        closed(&job);
    }
    t_comm_done(comm, ctx);
}

/* Buffers of (b) and (c) do not grow with the ranks, those of (a) do: E2, E3. */
static void memory(void)
{
    const size_t each   = 8 * (size_t)t_size; /* any multiple of the ranks */
    const size_t vector = each * FEATURES * sizeof(float);

    for (int s = 0; s < 3; s++) {
        job_t        job    = opened(t_world, (tw_scheme_t)s, 0, each, NULL);
        const size_t want   = t_size == 1 ? 0 : s == 0 ? 2 * (size_t)t_size * vector : 4 * vector;
        const size_t memory = tw_hybrid_memory(job.hybrid);

        T_CHECK(memory >= want && memory < want + 4 * 128, "scheme %d: %zu bytes, not %zu", s,
                memory, want);
        closed(&job);
    }
}

/* Runs allocate nothing, from the first one on. */
static void steady(void)
{
    for (int s = 0; s < 4; s++) {
        job_t job = opened(t_world, (tw_scheme_t)s, (t_size + 1) / 2, 40, NULL);

        t_note("scheme %d", s);
        T_OK(tw_comm_stats_reset(t_world));
        for (int i = 0; i < 5; i++) {
            T_OK(tw_hybrid_run(job.hybrid, job.x, i % 2 ? NULL : job.gx, compute, &job));
        }
        {
            tw_stats_t stats;

            T_OK(tw_comm_stats(t_world, &stats));
            expect("allocations of five runs", stats.pool_allocations, 0);
        }
        closed(&job);
    }
}

/* With one rank the callback gets the caller's own vectors, and nothing is called. */
static int the_callers(void *user, const tw_hybrid_pass_t *pass)
{
    const job_t *job = user;

    T_CHECK(pass->x == job->x && pass->gx == job->gx, "not the caller's vectors");
    return 0;
}

static void one_rank(void)
{
    tw_comm_t *alone = t_comm(t_ctx, MPI_COMM_SELF);
    const int  size  = t_size;

    for (int s = 0; s < 4; s++) {
        tw_stats_t stats;
        job_t      job;

        job = opened(alone, (tw_scheme_t)s, 1, 9, NULL);
        if (size == 1) {
            expect("passes", tw_hybrid_passes(job.hybrid), 1);
        }
        T_OK(tw_comm_stats_reset(alone));
        T_OK(tw_hybrid_run(job.hybrid, job.x, job.gx, the_callers, &job));
        T_OK(tw_comm_stats(alone, &stats));
        expect("calls", stats.calls, 0);
        expect("bytes of buffers", tw_hybrid_memory(job.hybrid), 0);
        closed(&job);
    }
    T_OK(tw_comm_destroy(alone));
}

/* tw_comm_advance() alone completes what was posted: the last of the result arrives. */
static void advancing(void)
{
    enum { N = 300000 };
    float          *v = t_malloc(N * sizeof(float)), *sum = t_malloc(N * sizeof(float));
    volatile float *last    = sum + N - 1;
    const float     want    = (float)(t_size * (t_size + 1) / 2);
    tw_request_t   *request = NULL;

    for (int i = 0; i < N; i++) {
        v[i] = (float)(t_rank + 1);
    }
    *last = 0;
    T_OK(tw_iallreduce(t_world, v, sum, N, TW_SUM, NULL, &request));
    while (*last != want && tw_comm_advance(t_world) == TW_OK) { /* a hang is a failure */
    }
    T_OK(tw_comm_advance(t_world));
    T_OK(tw_wait(&request));
    T_STATUS(tw_comm_advance(NULL), TW_ERR_INVALID_ARG);
    free(v);
    free(sum);
}

static const t_case_t cases[] = {
    {"overlap", overlap, 1},
    {"bytes_of_c", bytes_of_c, 1},
    {"bytes_of_a_and_b", bytes_of_a_and_b, 1},
    {"memory", memory, 1},
    {"steady", steady, 1},
    {"one_rank", one_rank, 1},
    {"advancing", advancing, 1},
};

T_MAIN(cases)
