/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/training.c - see training.h.
 *
 * The busiest rank's step. Times of layers are proportional to examples and, of split layers, to
 * units. Gradients travel in the buckets of <thinwire/buckets.h>. Passes through split layers:
 * passes.h. Weights with owners: owners.h.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/codec.h>

#include "runtime/policy/model.h"
#include "runtime/policy/policy.h"
#include "scaling/builder.h"
#include "scaling/owners.h"
#include "scaling/passes.h"
#include "scaling/training.h"

/* It travels together with others, or by itself where the codec loses something and it is not
 * small. */
typedef struct tensor {
    int    alone;
    double count; /* 0: there is none */
} tensor_t;

/* Gradients of the layers below `from` down to `to`, from the last to the first; 2 tensors of each,
 * and behind the first layer's, loss and errors. */
typedef struct buckets {
    size_t from, to;
    double filled; /* values of the bucket that is open   */
    size_t next;   /* the next tensor that joins others   */
    int    parts;  /* ranks that have a part each of these layers: groups add them up */
} buckets_t;

/* ---- gradients ----------------------------------------------------------------------------- */

/* Values of 4 bytes: counts of doubles, two each. On many nodes by owners of shares: those of a
 * node are merged there, so as much leaves it as of so much shorter blocks from all its ranks. */
static void statistics(builder_t *b, const training_layer_t *layer, double more)
{
    const double values = 2.0 * (2.0 * layer->channels + more);
    const int    nodes  = (b->ranks + b->per_node - 1) / b->per_node;

    if (layer->channels <= 0.0 || b->ranks == 1) {
        return;
    }
    if (!tw_policy_in_shares(TW_MESSAGE_COST, (size_t)(4.0 * values), nodes, b->per_node)) {
        builder_call(b, builder_exchange(b, TW_OPERATION_ALLGATHER, values, "", "statistics"));
        return;
    }
    builder_call(b, builder_exchange(b, TW_OPERATION_ALLTOALL, values / b->ranks / b->per_node, "",
                                     "shares"));
    builder_call(b, builder_exchange(b, TW_OPERATION_ALLGATHER, values / b->ranks, "", "merged"));
}

static void start_gradients(builder_t *b, const buckets_t *buckets, double count, int coded)
{
    if (b->ranks > 1 && count > 0.0) {
        const size_t x =
            builder_exchange(b, TW_OPERATION_ALLREDUCE, count, coded ? "grad" : "", "gradients");

        if (!b->failed) {
            b->work->exchange[x].ordered = 1;
        }
        if (!b->failed && buckets->parts > 1) {
            b->work->exchange[x].ranks  = b->ranks / buckets->parts;
            b->work->exchange[x].stride = buckets->parts;
        }
        builder_start(b, x);
    }
}

static size_t tensors(const buckets_t *buckets)
{
    return 2 * (buckets->from - buckets->to) + (buckets->to == 0 ? 1 : 0);
}

/* Biases of the last layer, its weights, biases of the one before, ... */
static tensor_t tensor_at(const builder_t *b, const buckets_t *buckets, size_t i)
{
    const training_layer_t *layer;
    double                  count;
    int                     axes;

    if (i == 2 * (buckets->from - buckets->to)) {
        return (tensor_t){0, EXTRA};
    }
    layer = &b->t->layer[buckets->from - 1 - i / 2];
    count = (i % 2 == 0 ? layer->biases : layer->weights) / buckets->parts;
    axes  = i % 2 == 0 || layer->channels > 0.0;
    return (tensor_t){b->lossy && !tw_tensor_is_small((size_t)count, axes), count};
}

/* The next tensor that joins others, after i; looks at each once. */
static size_t next_of(const builder_t *b, buckets_t *buckets, size_t i)
{
    buckets->next = buckets->next > i ? buckets->next : i + 1;
    while (buckets->next < tensors(buckets)) {
        const tensor_t tensor = tensor_at(b, buckets, buckets->next);

        if (!tensor.alone && tensor.count > 0.0) {
            break;
        }
        buckets->next++;
    }
    return buckets->next;
}

/* A tensor is there. Its bucket starts with the last one for which it has room. */
static void tensor_ready(builder_t *b, buckets_t *buckets, size_t i)
{
    const double   most   = floor(b->t->bucket / sizeof(float));
    const tensor_t tensor = tensor_at(b, buckets, i);
    size_t         next;

    if (tensor.count == 0.0) {
        return;
    }
    if (tensor.alone) {
        start_gradients(b, buckets, tensor.count, 1);
        return;
    }
    buckets->filled += tensor.count;
    next = next_of(b, buckets, i);
    if (next == tensors(buckets) || tensor_at(b, buckets, next).count > most - buckets->filled) {
        start_gradients(b, buckets, buckets->filled, !b->lossy);
        buckets->filled = 0.0;
    }
}

/* Layers `from` down to the first. */
static void backward_layers(builder_t *b, buckets_t *buckets)
{
    for (size_t l = buckets->from; l-- > 0;) {
        const size_t first = 2 * (buckets->from - 1 - l);

        statistics(b, &b->t->layer[l], 0.0);
        builder_time(b, b->rate * b->t->layer[l].backward);
        if (b->owners != NULL) {
            owners_ready(b, l);
        } else {
            tensor_ready(b, buckets, first);
            tensor_ready(b, buckets, first + 1);
        }
    }
}

/* first: exchange from which on they are. */
static void finish_gradients(builder_t *b, buckets_t *buckets, size_t first)
{
    if (b->owners != NULL) {
        owners_finish(b);
        return;
    }
    tensor_ready(b, buckets, tensors(buckets) - 1);
    for (size_t x = first; x < b->work->exchanges; x++) {
        if (b->work->exchange[x].operation == TW_OPERATION_ALLREDUCE) {
            builder_wait(b, x);
        }
    }
}

static double parameters(const training_t *t, size_t from, size_t to)
{
    double sum = 0.0;

    for (size_t l = from; l < to; l++) {
        sum += t->layer[l].weights + t->layer[l].biases;
    }
    return sum;
}

static void forward_layers(builder_t *b, size_t layers)
{
    for (size_t l = 0; l < layers; l++) {
        owners_need(b, l);
        statistics(b, &b->t->layer[l], 1.0);
        builder_time(b, b->rate * b->t->layer[l].forward);
    }
}

/* ---- the step ------------------------------------------------------------------------------ */

/* Groups that hold the same parts of the layers from `from` on add up their gradients, which start
 * with the last of these. */
static void start_parts(builder_t *b, size_t from)
{
    buckets_t buckets = {.from = b->t->layers, .to = from, .parts = b->parts};

    for (size_t i = 0; i < tensors(&buckets) && b->parts < b->ranks; i++) {
        tensor_ready(b, &buckets, i);
    }
}

/* Of split layers, in so many passes. Parts that groups of ranks add up are updated once. */
static double updates_of(const builder_t *b, double passes)
{
    return b->t->period > 0.0 && b->parts == b->ranks ? ceil(passes / b->t->period) : 1.0;
}

/* The layers from `from` on are split; none, if that is behind the last. */
static void put_step(builder_t *b, const scheme_t *scheme, size_t from)
{
    const training_t *t     = b->t;
    const double      whole = parameters(t, 0, from), rest = parameters(t, from, t->layers);
    buckets_t         buckets = {.from = from, .parts = 1};
    size_t            first   = 0, parts;
    double            update  = t->update;

    owners_create(b, from);
    forward_layers(b, from);
    if (from < t->layers) {
        const double updates = updates_of(b, passes_put(b, scheme));

        builder_time(b, updates * t->update * rest / (whole + rest) / b->parts);
        first  = b->work->exchanges;
        update = t->update * whole / (whole + rest);
        start_parts(b, from);
    }
    parts = b->work->exchanges;
    backward_layers(b, &buckets);
    finish_gradients(b, &buckets, parts);
    for (size_t x = first; x < parts && from < t->layers; x++) {
        builder_wait(b, x);
    }
    builder_time(b, update * owners_part(b));
    owners_send(b);
}

int training_step(const workload_t *of, const scheme_t *scheme, int ranks, int per_node,
                  double batch, int lossy, workload_t *work, tw_problem_t *problem)
{
    const training_t *t = &of->training;
    builder_t         b = {.t        = t,
                           .work     = work,
                           .ranks    = ranks,
                           .per_node = per_node < ranks ? per_node : ranks,
                           .parts    = ranks,
                           .lossy    = lossy,
                           .rows     = ceil(ceil(batch) / ranks),
                           .all      = ceil(batch),
                           .each     = ceil(t->batch / of->ranks)};

    b.rate = b.rows / b.each;
    *work  = (workload_t){.ranks = ranks, .fixed = 1, .processor = of->processor};
    strcpy(work->name, of->name);
    if (scheme->kind != SCHEME_DATA && t->dense == t->layers) {
        return tw_problem_set(
            problem, "--scheme %s: '%s' has no dense layers at its end that could be split",
            scheme->text, of->name);
    }
    if (scheme->kind != SCHEME_DATA) {
        b.parts = scheme_ranks(scheme, ranks, scheme_local(ranks, per_node), problem);
        if (b.parts == 0) {
            return -1;
        }
    }
    b.given = b.parts < ranks ? b.parts * floor(b.all / ranks) + fmin(b.parts, fmod(b.all, ranks))
                              : b.all;
    put_step(&b, scheme, scheme->kind == SCHEME_DATA || ranks == 1 ? t->layers : t->dense);
    owners_destroy(&b);
    if (b.failed) {
        workload_free(work);
        tw_problem_set(problem, "out of memory");
    }
    return b.failed ? -1 : 0;
}
