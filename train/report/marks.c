/* SPDX-License-Identifier: BSD-3-Clause
 * train/report/marks.c - see marks.h. The time of a mark is that of a base mark plus the time since
 * then by the device's clock. The host's clock gives the time of the first base mark; each
 * collection sets a new one, since the device's float milliseconds are too inexact over hours.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "train/report/marks.h"

enum { SPANS = 64 }; /* between two collections; more are left out */

typedef struct tw_marked_span {
    tw_marked_t what;
    uint64_t    step;
    void       *from, *to;
} tw_marked_span_t;

struct tw_device_marks {
    tw_backend_t    *backend;
    tw_trace_t      *trace;
    void            *base; /* a mark, and when it was by tw_clock_ns() */
    double           base_ns;
    tw_marked_span_t span[SPANS];
    int              spans, open; /* open: the last one has not ended */
    double           seconds[TW_MARKEDS];
    tw_problem_t     problem; /* of a mark; told by tw_marks_collect() */
};

static int marks_make(tw_device_marks_t *marks, tw_problem_t *problem)
{
    tw_backend_t *const backend = marks->backend;

    for (int i = 0; i < SPANS; i++) {
        if (tw_backend_mark_create(backend, &marks->span[i].from, problem) != 0 ||
            tw_backend_mark_create(backend, &marks->span[i].to, problem) != 0) {
            return -1;
        }
    }
    if (tw_backend_mark_create(backend, &marks->base, problem) != 0 ||
        tw_backend_finish(backend, problem) != 0 ||
        tw_backend_mark(backend, marks->base, problem) != 0 ||
        tw_backend_finish(backend, problem) != 0) {
        return -1;
    }
    marks->base_ns = (double)tw_clock_ns();
    return 0;
}

int tw_marks_create(tw_device_marks_t **marks_p, tw_backend_t *backend, tw_trace_t *trace,
                    tw_problem_t *problem)
{
    tw_device_marks_t *marks;

    *marks_p = NULL;
    if (!tw_backend_marks(backend)) {
        return 0;
    }
    marks = calloc(1, sizeof(*marks));
    if (marks == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    marks->backend = backend;
    marks->trace   = trace;
    *marks_p       = marks;
    return marks_make(marks, problem);
}

void tw_marks_destroy(tw_device_marks_t *marks)
{
    if (marks == NULL) {
        return;
    }
    for (int i = 0; i < SPANS; i++) {
        tw_backend_mark_destroy(marks->backend, marks->span[i].from);
        tw_backend_mark_destroy(marks->backend, marks->span[i].to);
    }
    tw_backend_mark_destroy(marks->backend, marks->base);
    free(marks);
}

void tw_marks_begin(tw_device_marks_t *marks, tw_marked_t what, uint64_t step)
{
    if (marks != NULL && marks->spans < SPANS) {
        tw_marked_span_t *span = &marks->span[marks->spans++];

        marks->open = 1;
        span->what  = what;
        span->step  = step;
        (void)tw_backend_mark(marks->backend, span->from, &marks->problem);
    }
}

void tw_marks_end(tw_device_marks_t *marks)
{
    if (marks != NULL && marks->open) {
        marks->open = 0;
        (void)tw_backend_mark(marks->backend, marks->span[marks->spans - 1].to, &marks->problem);
    }
}

static int collect_one(tw_device_marks_t *marks, const tw_marked_span_t *span,
                       tw_problem_t *problem)
{
    double from, took;

    if (tw_backend_elapsed(marks->backend, marks->base, span->from, &from, problem) != 0 ||
        tw_backend_elapsed(marks->backend, span->from, span->to, &took, problem) != 0) {
        return -1;
    }
    from = marks->base_ns + 1e9 * from;
    tw_trace_add(marks->trace, TW_TRACE_DEVICE, tw_marked_name(span->what), (int64_t)span->step,
                 (uint64_t)from, (uint64_t)(from + 1e9 * took));
    marks->seconds[span->what] += took;
    return 0;
}

/* The last one is what the next ones are counted from. */
static int move_base(tw_device_marks_t *marks, tw_marked_span_t *last, tw_problem_t *problem)
{
    void *const base = marks->base;
    double      passed;

    if (tw_backend_elapsed(marks->backend, base, last->to, &passed, problem) != 0) {
        return -1;
    }
    marks->base_ns += 1e9 * passed;
    marks->base = last->to;
    last->to    = base;
    return 0;
}

int tw_marks_collect(tw_device_marks_t *marks, tw_problem_t *problem)
{
    if (marks == NULL || marks->spans == 0) {
        return 0;
    }
    if (marks->problem.set) {
        *problem = marks->problem;
        return -1;
    }
    for (int i = 0; i < marks->spans; i++) {
        if (collect_one(marks, &marks->span[i], problem) != 0) {
            return -1;
        }
    }
    if (move_base(marks, &marks->span[marks->spans - 1], problem) != 0) {
        return -1;
    }
    marks->spans = 0;
    return 0;
}

const char *tw_marked_name(tw_marked_t what)
{
    static const char *const names[TW_MARKEDS] = {[TW_MARKED_IMAGES]   = "images",
                                                  [TW_MARKED_FORWARD]  = "trunk forward",
                                                  [TW_MARKED_DENSE]    = "dense layers",
                                                  [TW_MARKED_BACKWARD] = "trunk backward",
                                                  [TW_MARKED_UPDATE]   = "update"};

    return names[what];
}

double tw_marks_seconds(const tw_device_marks_t *marks, tw_marked_t what)
{
    return marks != NULL ? marks->seconds[what] : 0.0;
}

void tw_marks_forget(tw_device_marks_t *marks)
{
    for (int k = 0; marks != NULL && k < TW_MARKEDS; k++) {
        marks->seconds[k] = 0.0;
    }
}
