/* SPDX-License-Identifier: BSD-3-Clause
 * tests/scheduler/trace.c - what is noted comes out, of all ranks, as JSON that a viewer takes.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/scheduler/spans.h"

static tw_trace_t *made(size_t capacity)
{
    tw_trace_t *trace = NULL;

    T_OK(tw_trace_create(capacity, &trace));
    return trace;
}

static void nap(long ns)
{
    nanosleep(&(struct timespec){0, ns}, NULL);
}

/* Is there metadata of this kind, process and thread (-1: none), whose argument is the text? */
static int names(const json_t *document, const char *kind, int rank, int thread, const char *text)
{
    size_t  index;
    json_t *event;

    json_array_foreach(json_object_get(document, "traceEvents"), index, event)
    {
        json_t *tid = json_object_get(event, "tid");

        if (strcmp(json_string_value(json_object_get(event, "name")), kind) == 0 &&
            json_integer_value(json_object_get(event, "pid")) == rank &&
            (tid != NULL ? json_integer_value(tid) : -1) == thread) {
            const char *name =
                json_string_value(json_object_get(json_object_get(event, "args"), "name"));

            return name != NULL && strcmp(name, text) == 0;
        }
    }
    return 0;
}

static void every_rank_is_named(void)
{
    tw_trace_t *trace = made(0);
    json_t     *document;
    char        text[40];
    int64_t     span;

    span = tw_trace_begin(trace, TW_TRACE_COMPUTE, "outer", 3);
    nap(1000);
    tw_trace_end(trace, tw_trace_begin(trace, TW_TRACE_COMPUTE, "inner", -1));
    tw_trace_mark(trace, TW_TRACE_COMPUTE, "mark", t_rank);
    tw_trace_end(trace, span);
    document = t_trace_read(t_world, trace);
    for (int r = 0; r < t_size && document != NULL; r++) {
        const t_span_t outer = t_span(document, r, "outer", 3),
                       inner = t_span(document, r, "inner", -1);
        const t_span_t mark  = t_span(document, r, "mark", r);

        snprintf(text, sizeof(text), "rank %d", r);
        T_CHECK(names(document, "process_name", r, -1, text), "%s is not named", text);
        T_CHECK(names(document, "thread_name", r, 0, "compute"), "%s has no thread", text);
        T_CHECK(outer.found == 1 && inner.found == 1 && mark.found == 1, "%s: %d, %d, %d spans",
                text, outer.found, inner.found, mark.found);
        T_CHECK(outer.begin >= 0 && outer.begin <= inner.begin && inner.end <= outer.end + 0.002 &&
                    mark.begin >= inner.begin - 0.002,
                "%s: inner is not within outer", text);
    }
    json_decref(document);
    tw_trace_destroy(trace);
}

/* Spans of the network that overlap lie on threads of their own; others share one. */
static void overlapping_spans(void)
{
    tw_trace_t *trace = made(16);
    int64_t     a     = tw_trace_begin(trace, TW_TRACE_NETWORK, "a", 0), b, c;
    json_t     *document;

    nap(2000);
    b = tw_trace_begin(trace, TW_TRACE_NETWORK, "b", 0);
    tw_trace_end(trace, a);
    nap(2000);
    c = tw_trace_begin(trace, TW_TRACE_NETWORK, "c", 0);
    tw_trace_end(trace, b);
    tw_trace_end(trace, c);
    tw_trace_end(trace, c); /* again: nothing */
    document = t_trace_read(t_world, trace);
    for (int r = 0; r < t_size && document != NULL; r++) {
        T_CHECK(t_span(document, r, "a", 0).thread == 1, "a is not on the first thread");
        T_CHECK(t_span(document, r, "b", 0).thread == 2, "b lies on a");
        T_CHECK(t_span(document, r, "c", 0).thread == 1, "c does not use a's thread again");
        T_CHECK(names(document, "thread_name", r, 2, "network 2"), "the second thread has no name");
    }
    json_decref(document);
    tw_trace_destroy(trace);
}

/* More spans than fit are counted, more than a message holds arrive. */
static void bounded(void)
{
    const int   many = 10000, over = 7 + t_rank;
    tw_trace_t *trace = made((size_t)many);
    json_t     *document;
    int64_t     span = 0;

    for (int i = 0; i < many + over; i++) {
        span = tw_trace_begin(trace, TW_TRACE_COMPUTE, "span", i);
        tw_trace_end(trace, span);
    }
    T_CHECK(span == -1, "a span was kept beyond the capacity");
    document = t_trace_read(t_world, trace);
    for (int r = 0; r < t_size && document != NULL; r++) {
        json_t *other = json_object_get(document, "otherData");

        T_CHECK(json_integer_value(json_array_get(json_object_get(other, "dropped"), (size_t)r)) ==
                    7 + r,
                "rank %d: dropped spans are not counted", r);
        T_CHECK(t_span(document, r, "span", many - 1).found == 1, "rank %d: the last is missing",
                r);
        T_CHECK(t_span(document, r, "span", 4096).found == 1, "rank %d: the 4097th is missing", r);
    }
    json_decref(document);
    tw_trace_clear(trace);
    T_CHECK(tw_trace_begin(trace, TW_TRACE_COMPUTE, "span", 0) == 0, "not empty after clearing");
    tw_trace_destroy(trace);
}

/* Odd names, spans that go on, ranks without a trace, and none at all. */
static void odd_ones(void)
{
    tw_trace_t *trace = t_rank % 2 == 0 ? made(8) : NULL;
    json_t     *document;

    tw_trace_begin(trace, TW_TRACE_COMPUTE, "\"quoted\\\n\xff", -1);
    T_CHECK((tw_trace_begin(trace, TW_TRACE_COMPUTE, "a name that is longer than the room there is",
                            1) >= 0) == (t_rank % 2 == 0),
            "no trace, yet a span");
    tw_trace_end(NULL, 3);
    document = t_trace_read(t_world, trace);
    if (document != NULL) {
        T_CHECK(t_span(document, 0, "\"quoted\\??", -1).found == 1, "the odd name is gone");
        T_CHECK(t_span(document, 0, "a name that is longer than the ", 1).found == 1, "not cut");
    }
    json_decref(document);
    tw_trace_destroy(trace);
    json_decref(t_trace_read(t_world, NULL));
    T_STATUS(tw_trace_write(t_world, NULL, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_trace_create(1, NULL), TW_ERR_INVALID_ARG);
    T_STATUS(tw_trace_create(SIZE_MAX / 8, &trace), TW_ERR_RANGE);
}

/* A stream that cannot be written: all ranks are told. */
static void full_disk(void)
{
    FILE       *full  = t_rank == 0 ? fopen("/dev/full", "w") : NULL;
    tw_trace_t *trace = made(0);

    for (int i = 0; i < 2000; i++) {
        tw_trace_end(trace, tw_trace_begin(trace, TW_TRACE_COMPUTE, "span", i));
    }
    T_STATUS(tw_trace_write(t_world, trace, full),
             full != NULL || t_rank > 0 ? TW_ERR_IO : TW_ERR_INVALID_ARG);
    if (full != NULL) {
        fclose(full);
    }
    tw_trace_destroy(trace);
}

static const t_case_t cases[] = {
    {"every_rank_is_named", every_rank_is_named, 1},
    {"overlapping_spans", overlapping_spans, 1},
    {"bounded", bounded, 1},
    {"odd_ones", odd_ones, 1},
    {"full_disk", full_disk, 1},
};

T_MAIN(cases)
