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

#include "runtime/base/dtype.h"
#include "runtime/policy/drop_in.h"
#include "scaling/step.h"

/* ROUNDS_MOST: of one loop while its rounds differ; ROUNDS_ALL: of all loops in a step. */
enum { STEPS = 3, ALIKE = 3, ROUNDS_MOST = 4096, ROUNDS_ALL = 1 << 18 };

/* An exchange on its way. */
typedef struct trip {
    double   seconds, codec, bytes; /* of one */
    double   links;                 /* seconds until the links are free for the next */
    double   first;                 /* bytes of the first rank, bytes of the others' busiest */
    double   busy;                  /* seconds of the core: codec, and moving its bytes */
    double   begin, end;
    int      started;
    uint64_t mark; /* by a look at a loop: it was there */
} trip_t;

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

/* ---- one exchange -------------------------------------------------------------------------- */

/* The facts of the ranks that take part, every stride-th. Others like them do the same at the same
 * time, so that what a node has of links between nodes is shared by as many. */
static void take_part(const exchange_t *x, const tw_facts_t *all, tw_facts_t *facts)
{
    const int ranks = x->ranks < all->ranks ? x->ranks : all->ranks;
    int64_t   nodes, local;

    *facts = *all;
    if (x->ranks == 0 || ranks == all->ranks) {
        return;
    }
    nodes = x->stride < all->local_ranks ? ((int64_t)(ranks - 1) * x->stride) / all->local_ranks + 1
                                         : ranks;
    nodes = nodes < all->nodes ? nodes : all->nodes;
    local = (ranks - 1) / nodes + 1;

    facts->ranks       = ranks;
    facts->nodes       = (int)nodes;
    facts->local_ranks = (int)local;
    if (nodes > 1 && local < all->local_ranks) {
        facts->between.shared *= (double)local / all->local_ranks;
        facts->between.bandwidth = fmin(facts->between.bandwidth, facts->between.shared);
    }
}

/* Do codecs of float32 mean it without being told to (policy/drop_in.h)? */
static int is_narrow(const exchange_t *x)
{
    return tw_dtype_row(x->dtype)->in_f32;
}

/* Under the drop-in what no codec makes smaller is MPI's. Of part of the ranks, on others than were
 * measured, or more than a step of the ladder beyond it, nothing is known of that, so that it is
 * taken for the library's. */
static int is_native(const exchange_t *x, const tw_facts_t *all, const tw_facts_t *facts,
                     const step_exchange_t *found)
{
    const tw_ladder_t *ladder = &facts->native[x->operation];
    const double       value = (double)tw_dtype_size(x->dtype), bytes = found->count * value;

    return x->native && ladder->steps > 0 && bytes <= 4.0 * ladder->bytes[ladder->steps - 1] &&
           facts->ranks == all->ranks &&
           ((found->codec == NULL ? !is_narrow(x) : found->codec->bytes >= value) ||
            bytes < x->threshold);
}

static tw_status_t ask(const exchange_t *x, const step_case_t *how, const tw_facts_t *facts,
                       const char *spec, step_exchange_t *found)
{
    found->codec = tw_facts_codec(facts, spec, x->dtype);
    if (is_native(x, how->facts, facts, found)) {
        return tw_facts_predict(facts, x->operation, found->count, spec, x->dtype, "mpi",
                                &found->prediction);
    }
    return tw_facts_predict(facts, x->operation, found->count, spec, x->dtype,
                            x->operation == TW_OPERATION_ALLREDUCE ? how->algorithm : NULL,
                            &found->prediction);
}

/* Does `thinwire run` leave it alone? */
static int is_left(const exchange_t *x, const step_case_t *how)
{
    const double value = (double)tw_dtype_size(x->dtype);
    const double count = x->scales ? x->count * how->share : x->count;

    return x->native && (tw_drop_in_small(count * value, x->threshold) ||
                         (!is_narrow(x) &&
                          !tw_drop_in_means_doubles(
                              how->narrow, tw_facts_codec(how->facts, how->spec, TW_F32) != NULL)));
}

static int exchange_as(const exchange_t *x, const step_case_t *how, step_exchange_t *found,
                       char *why, size_t why_size);

/* Doubles for which the codec has no form stay as they are, or become floats where that is asked
 * for. */
int step_exchange(const exchange_t *x, const step_case_t *how, step_exchange_t *found, char *why,
                  size_t why_size)
{
    exchange_t narrow = *x;

    if (!is_narrow(x) && x->native && how->narrow && !is_left(x, how) &&
        tw_facts_codec(how->facts, how->spec, x->dtype) == NULL &&
        tw_facts_codec(how->facts, how->spec, TW_F32) != NULL) {
        narrow.dtype = TW_F32;
    }
    return exchange_as(&narrow, how, found, why, why_size);
}

static int exchange_as(const exchange_t *x, const step_case_t *how, step_exchange_t *found,
                       char *why, size_t why_size)
{
    const int own =
        how->act != NULL && (strcmp(x->class, "act") == 0 || strcmp(x->class, "back") == 0);
    const int lossy = !x->plain && !is_left(x, how) &&
                      (own || !how->only_gradients || strcmp(x->class, "grad") == 0) &&
                      (is_narrow(x) || tw_facts_codec(how->facts, how->spec, x->dtype) != NULL);
    const char *weights = how->weights != NULL ? how->weights : x->codec;
    const char *spec    = own                ? how->act
                          : x->codec != NULL ? weights
                          : lossy            ? how->spec
                                             : tw_dtype_row(x->dtype)->lossless;
    tw_facts_t  facts;
    tw_status_t status;

    take_part(x, how->facts, &facts);
    *found = (step_exchange_t){.count = x->scales ? x->count * how->share : x->count,
                               .ranks = facts.ranks};
    status = facts.ranks > 1 ? ask(x, how, &facts, spec, found) : TW_OK;
    if (status == TW_ERR_UNSUPPORTED && !is_narrow(x)) {
        status = ask(x, how, &facts, tw_dtype_row(x->dtype)->lossless, found);
    }
    if (found->codec != NULL) { /* not one of what is gone */
        found->codec = tw_facts_codec(how->facts, found->codec->spec, found->codec->dtype);
    }
    if (status != TW_OK) {
        snprintf(why, why_size, "'%.60s': nothing is known of %s%s%s%s%s on %d ranks", x->name,
                 spec, is_narrow(x) ? "" : " for ", is_narrow(x) ? "" : tw_dtype_name(x->dtype),
                 how->algorithm != NULL ? " by " : "", how->algorithm != NULL ? how->algorithm : "",
                 facts.ranks);
        return 0;
    }
    return 1;
}

/* Seconds in which the links carry so many bytes of every rank. */
static double carried(const tw_facts_t *facts, double bytes)
{
    return facts->nodes > 1 ? bytes * facts->local_ranks / facts->between.shared
                            : bytes / facts->inside.shared;
}

/* Messages of all ranks to their neighbours at once, each a latency and its turn on the link: those
 * that leave a node share what it has of links, the others go through its memory. Nothing is
 * compressed. */
static void messages_time(const exchange_t *x, const step_case_t *how, trip_t *trip)
{
    const tw_facts_t *facts = how->facts;
    const double      bytes = x->count * (double)tw_dtype_size(x->dtype);
    double most = 0.0, out = 0.0, inside = 0.0; /* of one rank, a node, and one in a node */
    double between_s = 0.0, inside_s = 0.0;
    const tw_link_facts_t *link;

    *trip = (trip_t){.seconds = 0.0};
    if (facts->ranks < 2) {
        return;
    }
    for (int i = 0; i < x->neighbours; i++) {
        const double part = x->to[i].part * bytes;
        const int    far =
            abs(x->to[i].offset) < facts->local_ranks ? abs(x->to[i].offset) : facts->local_ranks;

        if (facts->nodes > 1) {
            most += part;
            out += part * far;
            inside += far < facts->local_ranks ? part : 0.0;
        } else {
            inside += part;
        }
    }
    link = out > 0.0 ? &facts->between : &facts->inside;
    if (out > 0.0) {
        between_s = fmax(most / facts->between.bandwidth, out / facts->between.shared);
    }
    if (inside > 0.0 && facts->inside.bandwidth > 0.0) {
        inside_s = inside / fmin(facts->inside.bandwidth, facts->inside.shared);
    }
    trip->seconds = link->latency + (x->messages - 1) * link->message + fmax(between_s, inside_s);
    trip->links   = trip->seconds;
    trip->bytes = trip->first = most;
}

static int predict(const exchange_t *x, const step_case_t *how, trip_t *trip, char *why,
                   size_t why_size)
{
    step_exchange_t found;

    if (x->messages > 0) {
        messages_time(x, how, trip);
        return 1;
    }
    if (!step_exchange(x, how, &found, why, why_size)) {
        return 0;
    }
    *trip = (trip_t){.seconds = found.prediction.seconds,
                     .links   = found.prediction.seconds,
                     .codec   = found.prediction.codec,
                     .busy    = found.prediction.codec + found.prediction.moving};
    if (found.ranks > 1) {
        const tw_prediction_t *prediction = &found.prediction;

        trip->bytes = trip->first =
            x->turns ? prediction->bytes_turns : x->part * prediction->bytes_sent;
        if (x->first) {
            trip->bytes = prediction->bytes_others;
            trip->first = prediction->bytes_root;
        }
    }
    if (x->turns && found.ranks > 1) {
        trip->links = fmin(trip->seconds, fmax(carried(how->facts, trip->bytes), trip->busy));
    }
    return 1;
}

/* ---- the way through ----------------------------------------------------------------------- */

static double backlog(const walk_t *w)
{
    return w->free > w->now ? w->free - w->now : 0.0;
}

/* Time goes on while the queue does; what is left of the codec's work shrinks with it. */
static void pass(walk_t *w, double until)
{
    const double queued = backlog(w);

    w->codec = w->free > until && queued > 0.0 ? w->codec * (w->free - until) / queued : 0.0;
    w->now   = until;
}

static void compute(walk_t *w, double seconds)
{
    const double queued = backlog(w), codec = w->codec < queued ? w->codec : queued;
    const double beside = queued - codec; /* of computing, until the queue is empty */

    w->sum.compute += seconds;
    if (seconds >= beside) {
        w->sum.exposed += codec;
        pass(w, w->now + codec + seconds);
    } else {
        const double takes = seconds * queued / beside;

        w->sum.exposed += seconds * codec / beside;
        pass(w, w->now + takes);
    }
}

static void start(walk_t *w, trip_t *trip)
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

static void wait(walk_t *w, trip_t *trip)
{
    if (trip->started && trip->end > w->now) { /* else it is of a step before the first */
        w->sum.exposed += trip->end - w->now;
        pass(w, trip->end);
    }
    trip->started = 0;
}

static void walk_items(walk_t *w, size_t from, size_t end);

static void add(step_time_t *to, const step_time_t *from, const step_time_t *less, double times)
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
static void repeat(walk_t *w, const item_t *item, size_t from)
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

            add(&w->sum, &now, &had, left);
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
            compute(w, item->seconds * w->share * w->slower);
            break;
        case ITEM_FIXED:
            compute(w, item->seconds * w->slower);
            break;
        case ITEM_IDLE:
            w->sum.compute += item->seconds;
            pass(w, w->now + item->seconds);
            break;
        case ITEM_START:
            start(w, &w->trip[item->exchange]);
            break;
        case ITEM_WAIT:
            wait(w, &w->trip[item->exchange]);
            break;
        case ITEM_REPEAT:
            repeat(w, item, i + 1);
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

int step_time(const workload_t *work, const step_case_t *how, step_time_t *time, char *why,
              size_t why_size)
{
    walk_t w = {.work = work, .share = how->share, .slower = step_slower(work, how->facts)};

    w.trip = calloc(work->exchanges + 1, sizeof(*w.trip));
    if (w.trip == NULL) {
        snprintf(why, why_size, "out of memory");
        return 0;
    }
    for (size_t i = 0; i < work->exchanges; i++) {
        if (!predict(&work->exchange[i], how, &w.trip[i], why, why_size)) {
            free(w.trip);
            return 0;
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
        snprintf(why, why_size,
                 "a step would take too long to be told: so long is what the job repeats");
        return 0;
    }
    return 1;
}
