/* SPDX-License-Identifier: BSD-3-Clause
 * train/recorder.c - see recorder.h.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <thinwire/model.h>

#include "train/file.h"
#include "train/recorder.h"

enum { SKIPPED = 2, STEPS = 16, MOST = 4096 };

/* A moment of a step: an exchange starts; or, without a count of its own, gradients are waited for, or
 * the step ends. */
typedef struct tw_moment {
    tw_recorded_t exchange;
    double        computed[STEPS];
} tw_moment_t;

struct tw_recorder {
    unsigned    begun; /* steps */
    unsigned    kept;
    size_t      at;      /* moments of the step at hand */
    size_t      moments; /* of every step                */
    int         differ;
    tw_moment_t gradients, end;
    tw_moment_t start[MOST];
};

tw_recorder_t *tw_recorder_create(void)
{
    return calloc(1, sizeof(tw_recorder_t));
}

void tw_recorder_destroy(tw_recorder_t *recorder)
{
    free(recorder);
}

static int keeps(const tw_recorder_t *r)
{
    return r != NULL && r->begun > SKIPPED && r->kept < STEPS;
}

void tw_recorder_step(tw_recorder_t *r)
{
    if (r != NULL && r->begun <= SKIPPED) {
        r->begun++;
    }
    if (r != NULL) {
        r->at = 0;
    }
}

static int same(const tw_recorded_t *a, const tw_recorded_t *b)
{
    return a->operation == b->operation && a->count == b->count && a->gradient == b->gradient &&
           a->waits == b->waits;
}

void tw_recorder_start(tw_recorder_t *r, double computed, const tw_recorded_t *exchange)
{
    if (!keeps(r)) {
        return;
    }
    if (r->at == MOST) {
        r->differ = 1;
        return;
    }
    if (r->kept == 0) {
        r->start[r->at].exchange = *exchange;
        r->moments               = r->at + 1;
    } else if (r->at >= r->moments || !same(&r->start[r->at].exchange, exchange)) {
        r->differ = 1;
        return;
    }
    r->start[r->at++].computed[r->kept] = computed;
}

void tw_recorder_gradients(tw_recorder_t *r, double computed)
{
    if (keeps(r)) {
        r->gradients.computed[r->kept] = computed;
    }
}

void tw_recorder_end(tw_recorder_t *r, double computed)
{
    if (keeps(r)) {
        r->end.computed[r->kept] = computed;
        r->differ |= r->at != r->moments;
        r->kept++;
    }
}

/* ---- the file ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Between two moments, the median of the steps. */
static double between(const tw_recorder_t *r, const tw_moment_t *from, const tw_moment_t *to)
{
    double taken[STEPS];

    for (unsigned k = 0; k < r->kept; k++) {
        const double seconds = to->computed[k] - (from != NULL ? from->computed[k] : 0.0);

        taken[k] = seconds > 0.0 ? seconds : 0.0;
    }
    qsort(taken, r->kept, sizeof(*taken), by_size);
    return r->kept % 2 ? taken[r->kept / 2] : 0.5 * (taken[r->kept / 2 - 1] + taken[r->kept / 2]);
}

static void put_exchange(FILE *to, const tw_recorded_t *x, size_t number)
{
    fprintf(to, "  { %s = \"%s\"; name = \"%s %zu\"; count = %zuL; %s},\n",
            x->waits ? "call" : "start", tw_operation_name(x->operation),
            x->gradient ? "gradients" : "exchange", number, x->count,
            x->gradient ? "class = \"grad\"; " : "type = \"other\"; ");
}

static void put(const tw_recorder_t *r, FILE *to, const char *name, int ranks)
{
    const tw_moment_t *last = NULL;

    fprintf(to, "# What a step computes and sends: the median of %u, by rank 0.\n", r->kept);
    fprintf(to, "name = \"%s\";\nranks = %d;\nstep = (\n", name, ranks);
    for (size_t i = 0; i < r->moments; i++) {
        fprintf(to, "  { compute = %.9f; },\n", between(r, last, &r->start[i]));
        put_exchange(to, &r->start[i].exchange, i);
        last = &r->start[i];
    }
    fprintf(to, "  { compute = %.9f; },\n", between(r, last, &r->gradients));
    for (size_t i = 0; i < r->moments; i++) {
        if (!r->start[i].exchange.waits) {
            fprintf(to, "  { wait = \"%s %zu\"; },\n",
                    r->start[i].exchange.gradient ? "gradients" : "exchange", i);
        }
    }
    fprintf(to, "  { compute = %.9f; fixed = true; }\n);\n", between(r, &r->gradients, &r->end));
}

int tw_recorder_write(const tw_recorder_t *r, const char *path, const char *name, int ranks,
                      tw_problem_t *problem)
{
    tw_file_t file;

    if (r->kept == 0 || r->differ) {
        return tw_problem_set(problem, "--record %s: %s", path,
                              r->differ ? "the steps of this run are not alike"
                                        : "the run has fewer than 3 steps");
    }
    if (tw_file_begin(&file, "--record", path, problem) != 0) {
        return -1;
    }
    put(r, file.stream, name, ranks);
    return tw_file_end(&file, "--record", problem);
}
