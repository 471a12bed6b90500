/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/step.c - see step.h.
 *
 * Exchanges form a queue: one begins when it is started and those before it have left the links.
 * (The library advances several at once, which share the links; the last of them is done at the
 * same time.) Where each has another root, the links of a mean rank are free before the root's are.
 * The codec of what is queued, and sending and receiving it, take the program's core while it
 * computes, evenly over the queue, and make that longer; ranks that share processors compute as
 * much slower. Loops of many rounds are walked through until a round is like those before; the
 * others are added.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaling/step_inside.h"

/* ROUNDS_MOST: of one loop while its rounds differ; ROUNDS_ALL: of all loops in a step. */
enum { STEPS = 3, ALIKE = 3, ROUNDS_MOST = 4096, ROUNDS_ALL = 1 << 18 };

typedef struct walk {
    const workload_t *work;
    double            share, slower; /* by processors that are shared */
    trip_t           *trip;
    double            now, free; /* of the program; when the next exchange may begin */
    double            codec;     /* seconds of the core that the queue will need                 */
    double            least;     /* that was queued before an exchange in this round; or below 0 */
    uint64_t          marks;     /* that were given                                  */
    int               rounds;
    step_time_t       sum;
} walk_t;

/* ---- the way through ----------------------------------------------------------------------- */

static double backlog(const walk_t *w)
{
    return w->free > w->now ? w->free - w->now : 0.0;
}

/* Time goes on while the queue does; what is left of the codec's work shrinks with it. */
static void pass_time(walk_t *w, double until)
{
    const double queued = backlog(w);

    w->codec = w->free > until && queued > 0.0 ? w->codec * (w->free - until) / queued : 0.0;
    w->now   = until;
}

static void walk_compute(walk_t *w, double seconds)
{
    const double queued = backlog(w), codec = w->codec < queued ? w->codec : queued;
    const double beside = queued - codec; /* of computing, until the queue is empty */

    w->sum.compute += seconds;
    if (seconds >= beside) {
        w->sum.exposed += codec;
        pass_time(w, w->now + codec + seconds);
    } else {
        const double takes = seconds * queued / beside;

        w->sum.exposed += seconds * codec / beside;
        pass_time(w, w->now + takes);
    }
}

static void walk_start(walk_t *w, trip_t *trip)
{
    w->least      = fmin(w->least, w->free - w->now);
    w->codec      = (w->free > w->now ? w->codec : 0.0) + trip->busy;
    trip->begin   = w->now > w->free ? w->now : w->free;
    trip->end     = trip->begin + trip->seconds;
    trip->started = 1;
    w->free       = trip->begin + trip->links;
    w->sum.bytes += trip->bytes;
    w->sum.first += trip->first;
    w->sum.codec += trip->codec;
}

static void walk_wait(walk_t *w, trip_t *trip)
{
    if (trip->started && trip->end > w->now) { /* else it is of a step before the first */
        w->sum.exposed += trip->end - w->now;
        pass_time(w, trip->end);
    }
    trip->started = 0;
}

static void walk_items(walk_t *w, size_t from, size_t end);

static void add_times(step_time_t *to, const step_time_t *from, const step_time_t *less,
                      double times)
{
    to->compute += times * (from->compute - less->compute);
    to->exposed += times * (from->exposed - less->exposed);
    to->codec += times * (from->codec - less->codec);
    to->bytes += times * (from->bytes - less->bytes);
    to->first += times * (from->first - less->first);
}

/* Does a loop wait for what it starts? Then what is queued may come to hold up its later rounds. */
static int waits_for_its_own(walk_t *w, const item_t *item, size_t from)
{
    const uint64_t mark = ++w->marks;

    for (size_t i = from; i < item->end; i++) {
        if (w->work->item[i].kind == ITEM_START) {
            w->trip[w->work->item[i].exchange].mark = mark;
        }
    }
    for (size_t i = from; i < item->end; i++) {
        if (w->work->item[i].kind == ITEM_WAIT && w->trip[w->work->item[i].exchange].mark == mark) {
            return 1;
        }
    }
    return 0;
}

/* The program goes on by so many seconds, and the exchanges that a loop starts by as many as their
 * line; what was on its way before the loop stays. */
static void skip(walk_t *w, const item_t *item, size_t from, double seconds, double queue)
{
    const uint64_t mark = ++w->marks;

    w->now += seconds;
    w->free += queue;
    for (size_t i = from; i < item->end; i++) {
        trip_t *trip = &w->trip[w->work->item[i].exchange];

        if (w->work->item[i].kind == ITEM_START && trip->mark != mark) {
            trip->mark = mark;
            trip->begin += queue;
            trip->end += queue;
        }
    }
}

static int close_to(double a, double b, double unit)
{
    return fabs(a - b) <= 1e-9 * unit;
}

/* A loop is in one of three states. Steady: a round leaves as much in the queue as it found. Or the
 * queue grows, or it shrinks for as long as there is one, by as much in each round, without holding
 * up the program. */
static void walk_repeat(walk_t *w, const item_t *item, size_t from)
{
    const int waits = waits_for_its_own(w, item, from);
    double    last = -1.0, last_queue = 0.0, last_load = -1.0;
    int       alike = 0, unlike = 0;

    for (uint64_t round = 0; round < item->times;) {
        const double      before = w->now, line = w->free, queued = backlog(w), least = w->least;
        const double      codec = w->codec;
        const step_time_t had   = w->sum;
        double            took, queue, left, grew, load;

        w->least = INFINITY;
        walk_items(w, from, item->end);
        round++;
        w->rounds++;
        took  = w->now - before;
        grew  = backlog(w) - queued;
        queue = w->free - line;
        load  = backlog(w) > 0.0 ? w->codec / backlog(w) : 0.0; /* of the core, by the queue */
        alike = close_to(took, last, took) && close_to(queue, last_queue, took + queue) &&
                        close_to(load, last_load, 1.0) &&
                        (!waits || close_to(grew, 0.0, took + backlog(w)))
                    ? alike + 1
                    : 0;
        unlike++;
        last       = took;
        last_queue = queue;
        last_load  = load;
        left       = (double)(item->times - round);
        if (alike >= ALIKE && grew < 0.0 && !close_to(grew, 0.0, took + backlog(w))) {
            const double gone = floor(fmin(w->least, backlog(w)) / -grew) - 1.0;

            left = gone < left ? gone : left;
        }
        if ((alike >= ALIKE || unlike >= ROUNDS_MOST || (unlike > 1 && w->rounds >= ROUNDS_ALL)) &&
            left >= 1.0) {
            const step_time_t now = w->sum;

            add_times(&w->sum, &now, &had, left);
            skip(w, item, from, left * took, left * queue);
            w->codec = fmax(0.0, w->codec + left * (w->codec - codec));
            w->least += left * fmin(grew, 0.0);
            round += (uint64_t)left;
            alike = unlike = 0;
        }
        w->least = fmin(w->least, least);
    }
}

static void walk_items(walk_t *w, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        const item_t *item = &w->work->item[i];

        switch (item->kind) {
        case ITEM_COMPUTE:
            walk_compute(w, item->seconds * w->share * w->slower);
            break;
        case ITEM_FIXED:
            walk_compute(w, item->seconds * w->slower);
            break;
        case ITEM_IDLE:
            w->sum.compute += item->seconds;
            pass_time(w, w->now + item->seconds);
            break;
        case ITEM_START:
            walk_start(w, &w->trip[item->exchange]);
            break;
        case ITEM_WAIT:
            walk_wait(w, &w->trip[item->exchange]);
            break;
        case ITEM_REPEAT:
            walk_repeat(w, item, i + 1);
            i = item->end;
            break;
        case ITEM_END:
            break;
        }
    }
}

double step_slower(const workload_t *work, const tw_facts_t *facts)
{
    const double now  = facts->processor > 0.0 && facts->ranks > 1 ? facts->processor : 1.0,
                 then = work->processor > 0.0 ? work->processor : 1.0;

    return then / now;
}

/* The clock begins anew, so that it is as exact in each step. */
static void begin_step(walk_t *w)
{
    for (size_t i = 0; i < w->work->exchanges; i++) {
        w->trip[i].begin -= w->now;
        w->trip[i].end -= w->now;
    }
    w->free -= w->now;
    w->now    = 0.0;
    w->sum    = (step_time_t){.seconds = 0.0};
    w->rounds = 0;
}

int step_time(const workload_t *work, const step_case_t *how, step_time_t *time,
              tw_problem_t *problem)
{
    walk_t w = {.work = work, .share = how->share, .slower = step_slower(work, how->facts)};

    w.trip = calloc(work->exchanges + 1, sizeof(*w.trip));
    if (w.trip == NULL) {
        return tw_problem_set(problem, "out of memory");
    }
    for (size_t i = 0; i < work->exchanges; i++) {
        if (step_trip(&work->exchange[i], how, &w.trip[i], problem) != 0) {
            free(w.trip);
            return -1;
        }
    }
    for (int k = 0; k < STEPS; k++) {
        begin_step(&w);
        walk_items(&w, 0, work->items);
        w.sum.seconds = w.now;
    }
    w.sum.bytes = fmax(w.sum.bytes, w.sum.first);
    *time       = w.sum;
    free(w.trip);
    if (!isfinite(time->seconds + time->exposed + time->codec + time->bytes) ||
        time->compute > (1.0 + 1e-6) * time->seconds) {
        return tw_problem_set(
            problem, "a step would take too long to be told: so long is what the job repeats");
    }
    return 0;
}
