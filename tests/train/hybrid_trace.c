/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/hybrid_trace.c - the trace of whole steps of training: activations of the next pass
 * are under way before this one is computed, and gradients of convolutions before the layers below
 * them have theirs. Order, not time.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/scheduler/spans.h"
#include "tests/train/hybrid_net.h"
#include "train/loop.h"

/* One step of the small network under a scheme, with buckets that hold a tensor each, and its
 * trace; NULL but on rank 0. */
static json_t *traced(const char *scheme, size_t *passes_p)
{
    char        model[600], path[600];
    const char *words[] = {
        "x",    "--model", model,      "--scheme", scheme,    "--data", "random:12x10x1,5,n=97",
        "--bn", "global",  "--bucket", "1024",     "--steps", "1",      "--trace",
        path};
    tw_train_options_t options;
    tw_problem_t       problem = {0};
    tw_training_t      t;
    json_error_t       error;
    json_t            *document;

    hybrid_net_write(model, sizeof(model), HYBRID_CODED, "");
    hybrid_path(path, sizeof(path), "trace.json");
    tw_train_options_parse(&options, sizeof(words) / sizeof(words[0]), (char **)(uintptr_t)words,
                           &problem);
    T_CHECK(!problem.set &&
                tw_training_create(&t, &options, t_ctx, MPI_COMM_WORLD, &problem) == 0 &&
                tw_training_run(&t, &problem) == 0,
            "%s", problem.text);
    *passes_p = options.division.kind == SCHEME_DATA
                    ? 0
                    : tw_hybrid_passes(tw_division_of(&t.division, t.batch, &problem));
    tw_training_destroy(&t);
    if (t_rank != 0) {
        return NULL;
    }
    document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    T_CHECK(document != NULL, "line %d: %s", error.line, error.text);
    return document;
}

/* Times are whole nanoseconds printed in microseconds: equal ones may differ by rounding. */
static int before(double a, double b)
{
    return a <= b + 0.0005;
}

/* A span that must be there exactly once. */
static t_span_t once(const json_t *document, int rank, const char *name, size_t number)
{
    const t_span_t span = t_span(document, rank, name, (int)number);

    T_CHECK(span.found == 1, "rank %d has %d spans '%s' %zu", rank, span.found, name, number);
    return span;
}

static void check_passes(const json_t *document, int rank, size_t passes)
{
    const t_span_t trunk = once(document, rank, "trunk forward", 0);

    for (size_t p = 0; p < passes; p++) {
        const t_span_t now = once(document, rank, "compute", p);

        T_CHECK(before(trunk.end, now.begin), "rank %d: pass %zu before the trunk is through", rank,
                p);
        T_CHECK(t_span(document, rank, "wait gradients", (int)p).found == (t_size > 1),
                "rank %d: gradients %zu are not waited for", rank, p);
        if (p + 1 < passes) {
            const t_span_t sent = once(document, rank, "activations", p + 1);
            const t_span_t wait = once(document, rank, "wait activations", p + 1);

            T_CHECK(before(sent.begin, now.begin), "rank %d: activations %zu start after pass %zu",
                    rank, p + 1, p);
            T_CHECK(before(now.end, wait.begin),
                    "rank %d: activations %zu are waited for in pass %zu", rank, p + 1, p);
            T_CHECK(before(wait.end, once(document, rank, "compute", p + 1).begin),
                    "rank %d: pass %zu begins without its activations", rank, p + 1);
        }
    }
}

/* Buckets, in the order in which gradients are there: ..., norm2, conv2, conv1. What stands before
 * conv1 starts while the trunk is on its way back, before conv1 is through. */
static void check_buckets(const json_t *document, int rank)
{
    const t_span_t back = once(document, rank, "trunk backward", 0);
    const t_span_t low  = t_span_last(document, rank, "conv1", 0);
    int            n = 0, inside = 0, overlapping = 0;
    t_span_t       bucket;

    T_CHECK(low.found == 2 && before(back.begin, low.begin) && before(low.begin, back.end),
            "rank %d: conv1 is not passed forward and backward", rank);
    for (; (bucket = t_span(document, rank, "bucket", n)).found > 0; n++) {
        T_CHECK(bucket.found == 1, "rank %d: %d buckets %d in a step", rank, bucket.found, n);
        inside += before(back.begin, bucket.begin) && before(bucket.begin, back.end);
        overlapping += before(back.begin, bucket.begin) && before(bucket.begin, low.begin);
        T_CHECK(before(bucket.end, once(document, rank, "wait bucket", (size_t)n).end),
                "rank %d: bucket %d ends after it was waited for", rank, n);
        T_CHECK(before(back.end, t_span(document, rank, "wait bucket", n).begin),
                "rank %d: bucket %d is waited for while layers are left", rank, n);
    }
    T_CHECK(
        inside >= 2 && overlapping >= 1,
        "rank %d: of %d buckets %d start within the trunk's way back, %d before conv1 is through",
        rank, n, inside, overlapping);
}

/* Of 28 examples, by the schemes below; (c) has none to give in a pass where ranks own fewer. */
static size_t passes_of(size_t scheme)
{
    const size_t ranks = (size_t)t_size, most = (28 + ranks - 1) / ranks;

    return scheme == 0 ? 0 : scheme == 1 ? 1 : scheme == 3 && most < ranks ? most : ranks;
}

static void steps_overlap(void)
{
    static const char *const schemes[] = {"data", "a", "b", "c", "group=2"};

    for (size_t k = 0; k < sizeof(schemes) / sizeof(schemes[0]); k++) {
        size_t  passes;
        json_t *document = traced(schemes[k], &passes);

        t_note("scheme %s", schemes[k]);
        T_CHECK(passes == passes_of(k), "%zu passes", passes);
        for (int r = 0; r < t_size && document != NULL; r++) {
            check_passes(document, r, passes);
            if (t_size > 1) { /* else nothing travels */
                check_buckets(document, r);
            }
        }
        json_decref(document);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static const t_case_t cases[] = {{"steps_overlap", steps_overlap, 1}};

int main(int argc, char **argv)
{
    return t_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
