/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/training.c - see training.h.
 *
 * The busiest rank's step. Times of layers are proportional to examples and, of split layers, to
 * units. Gradients travel in the buckets of <thinwire/buckets.h>; passes and their messages are
 * those of <thinwire/hybrid.h>, written as a loop. Weights with owners: owners.h.
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
#include "scaling/training.h"

/* It travels together with others, or by itself where the codec loses something and it is not
 * small. */
typedef struct tensor {
    int    alone;
    double count; /* 0: there is none */
} tensor_t;

/* Gradients of the layers below `from`, from the last to the first; 2 tensors of each, then loss
 * and errors. */
typedef struct buckets {
    size_t from;
    double filled; /* values of the bucket that is open   */
    size_t next;   /* the next tensor that joins others   */
} buckets_t;

/* ---- gradients of what every rank has ------------------------------------------------------ */

/* Values of 4 bytes: counts of doubles, two each. On many nodes by owners of shares. */
static void statistics(builder_t *b, const training_layer_t *layer, double more)
{
    const double values  = 2.0 * (2.0 * layer->channels + more),
                 of_node = ceil((double)b->ranks / b->nodes);

    if (layer->channels <= 0.0 || b->ranks == 1) {
        return;
    }
    if (!tw_policy_in_shares(TW_MESSAGE_COST, (size_t)(4.0 * values * of_node), b->nodes)) {
        builder_call(b, builder_exchange(b, TW_OPERATION_ALLGATHER, values, "", "statistics"));
        return;
    }
    builder_call(b, builder_exchange(b, TW_OPERATION_ALLTOALL, values / b->ranks, "", "shares"));
    builder_call(b, builder_exchange(b, TW_OPERATION_ALLGATHER, values / b->ranks, "", "merged"));
}

static void start_gradients(builder_t *b, double count, int coded)
{
    if (b->ranks > 1 && count > 0.0) {
        const size_t x =
            builder_exchange(b, TW_OPERATION_ALLREDUCE, count, coded ? "grad" : "", "gradients");

        if (!b->failed) {
            b->work->exchange[x].ordered = 1;
        }
        builder_start(b, x);
    }
}

static size_t tensors(const buckets_t *buckets)
{
    return 2 * buckets->from + 1;
}

/* Biases of the last layer, its weights, biases of the one before, ... */
static tensor_t tensor_at(const builder_t *b, const buckets_t *buckets, size_t i)
{
    const training_layer_t *layer;
    double                  count;
    int                     axes;

    if (i + 1 == tensors(buckets)) {
        return (tensor_t){0, EXTRA};
    }
    layer = &b->t->layer[buckets->from - 1 - i / 2];
    count = i % 2 == 0 ? layer->biases : layer->weights;
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
        start_gradients(b, tensor.count, 1);
        return;
    }
    buckets->filled += tensor.count;
    next = next_of(b, buckets, i);
    if (next == tensors(buckets) || tensor_at(b, buckets, next).count > most - buckets->filled) {
        start_gradients(b, buckets->filled, !b->lossy);
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

/* ---- split layers -------------------------------------------------------------------------- */

/* The passes of a step, all alike. */
typedef struct passes {
    double number, rows; /* examples of a pass, of all ranks */
    double members;      /* ranks that give them             */
    size_t activations, gradients[2];
    int    returns; /* there are layers below, which need the gradients */
} passes_t;

/* Passes of groups of so many ranks: each group makes as many as it has ranks, but none without
 * examples. The first ranks have the remainder of the batch, so a group's first rank has most. */
static double number_of_passes(const builder_t *b, int group)
{
    const double each = floor(b->all / b->ranks), more = fmod(b->all, b->ranks);
    double       number = 0.0;

    for (int first = 0; first < b->ranks; first += group) {
        const int ranks = b->ranks - first < group ? b->ranks - first : group;

        number += fmin(ranks, first < more ? each + 1.0 : each);
    }
    return number;
}

/* Not the input alone, which thinwire-train records as a layer. */
static int layers_below(const training_t *t)
{
    for (size_t l = 0; l < t->dense; l++) {
        if (t->layer[l].backward > 0.0 || t->layer[l].weights + t->layer[l].biases > 0.0) {
            return 1;
        }
    }
    return 0;
}

static passes_t passes_of(const builder_t *b, const scheme_t *scheme)
{
    const double given  = fmin(b->ranks, b->all); /* ranks that have examples */
    int          group  = b->ranks;
    passes_t     passes = {.number = 1.0, .returns = layers_below(b->t)};

    if (scheme->kind == SCHEME_B) {
        group = 1;
    } else if (scheme->kind == SCHEME_GROUP && scheme->group < b->ranks) {
        group = scheme->group;
    }
    if (scheme->kind != SCHEME_A) {
        passes.number = number_of_passes(b, group);
    }
    passes.members = fmin(group, given);
    passes.rows    = b->all / passes.number;
    return passes;
}

static double layer_inputs(const training_layer_t *layer)
{
    return layer->weights / layer->units;
}

/* Of a split layer's units, those of the rank that has most. */
static double units_part(const builder_t *b, size_t l)
{
    const double units = b->t->layer[l].units;

    return ceil(units / b->ranks) / units;
}

/* What a pass exchanges within the split layers: the first of their outputs, of the sums of their
 * gradients, one for each layer but the last, which share only the losses' parts. */
typedef struct divided {
    size_t gather, add, share;
} divided_t;

static void layer_exchanges(builder_t *b, const passes_t *passes, divided_t *divided)
{
    const training_t *t = b->t;

    divided->gather = b->work->exchanges;
    for (size_t l = t->dense; l + 1 < t->layers; l++) {
        builder_exchange(b, TW_OPERATION_ALLGATHER, passes->rows * t->layer[l].units / b->ranks,
                         "act", t->layer[l].name);
    }
    divided->add = b->work->exchanges;
    for (size_t l = t->dense; l + 1 < t->layers; l++) {
        builder_exchange(b, TW_OPERATION_REDUCE_SCATTER, passes->rows * t->layer[l].units, "back",
                         t->layer[l].name);
    }
    divided->share = builder_exchange(b, TW_OPERATION_ALLGATHER, 2.0 * passes->rows, "", "losses");
}

/* Forward, loss and backward of a pass. A layer's gradient by its inputs, half of the work, is
 * added up while that by its weights is computed. */
static void split_pass(builder_t *b, const passes_t *passes, const divided_t *divided)
{
    const training_t *t = b->t;

    for (size_t l = t->dense; l < t->layers; l++) {
        builder_time(b, passes->rows / b->each * units_part(b, l) * t->layer[l].forward);
        if (l + 1 < t->layers) {
            builder_call(b, divided->gather + l - t->dense);
        }
    }
    if (t->softmax) {
        builder_call(b, divided->share);
    }
    for (size_t l = t->layers; l-- > t->dense;) {
        const double seconds = passes->rows / b->each * units_part(b, l) * t->layer[l].backward;

        if (l > t->dense) {
            builder_time(b, 0.5 * seconds);
            builder_start(b, divided->add + l - 1 - t->dense);
            builder_time(b, 0.5 * seconds);
            builder_wait(b, divided->add + l - 1 - t->dense);
        } else {
            builder_time(b, seconds);
        }
    }
}

/* What a pass brings to all ranks, and takes back to the owners of the examples. */
static void pass_exchanges(builder_t *b, passes_t *passes)
{
    const double values = passes->rows * layer_inputs(&b->t->layer[b->t->dense]);
    const int    alone  = passes->members <= 1.0;

    passes->activations = builder_exchange(b, alone ? TW_OPERATION_BCAST : TW_OPERATION_ALLGATHER,
                                           values / passes->members, "act", "activations");
    for (int k = 0; k < 2 && passes->returns; k++) {
        passes->gradients[k] = builder_exchange(
            b, alone ? TW_OPERATION_REDUCE : TW_OPERATION_REDUCE_SCATTER, values, "back", "back");
    }
    for (size_t x = passes->activations; x < b->work->exchanges; x++) {
        exchange_t *one = &b->work->exchange[x];

        one->turns = alone;
        one->part  = one->operation == TW_OPERATION_ALLGATHER ? passes->members / b->ranks : 1.0;
    }
}

/* A pass; the next one's examples come meanwhile, but for the last. */
static void put_pass(builder_t *b, const passes_t *passes, const divided_t *divided, int k,
                     int last)
{
    if (!last) {
        builder_start(b, passes->activations);
    }
    if (passes->returns) {
        builder_wait(b, passes->gradients[k]);
    }
    split_pass(b, passes, divided);
    if (passes->returns) {
        builder_start(b, passes->gradients[k]);
    }
    if (!last) {
        builder_wait(b, passes->activations);
    }
}

static void run_passes(builder_t *b, const passes_t *passes, const divided_t *divided)
{
    const double before = passes->number - 1.0; /* the last */

    builder_start(b, passes->activations);
    builder_wait(b, passes->activations);
    if (before >= 2.0) {
        const size_t loop = builder_open(b, floor(before / 2.0));

        put_pass(b, passes, divided, 0, 0);
        put_pass(b, passes, divided, 1, 0);
        builder_close(b, loop);
    }
    if (fmod(before, 2.0) > 0.0) {
        put_pass(b, passes, divided, 0, 0);
    }
    put_pass(b, passes, divided, fmod(before, 2.0) > 0.0, 1);
    for (int k = 0; k < 2 && passes->returns; k++) {
        builder_wait(b, passes->gradients[k]);
    }
}

/* The layers from `from` on are split; none, if that is behind the last. */
static void put_step(builder_t *b, const scheme_t *scheme, size_t from)
{
    const training_t *t     = b->t;
    const double      whole = parameters(t, 0, from), rest = parameters(t, from, t->layers);
    buckets_t         buckets = {.from = from};
    size_t            first   = 0;
    double            update  = t->update;

    owners_create(b, from);
    forward_layers(b, from);
    if (from < t->layers) {
        passes_t  passes = passes_of(b, scheme);
        divided_t divided;

        pass_exchanges(b, &passes);
        layer_exchanges(b, &passes, &divided);
        run_passes(b, &passes, &divided);
        builder_time(b, t->update * rest / (whole + rest) / b->ranks);
        first  = b->work->exchanges;
        update = t->update * whole / (whole + rest);
    }
    backward_layers(b, &buckets);
    finish_gradients(b, &buckets, first);
    builder_time(b, update * owners_part(b));
    owners_send(b);
}

int training_step(const workload_t *of, const scheme_t *scheme, int ranks, int nodes, double batch,
                  int lossy, workload_t *work, tw_problem_t *problem)
{
    const training_t *t = &of->training;
    builder_t         b = {.t     = t,
                           .work  = work,
                           .ranks = ranks,
                           .nodes = nodes,
                           .lossy = lossy,
                           .rows  = ceil(ceil(batch) / ranks),
                           .all   = ceil(batch),
                           .each  = ceil(t->batch / of->ranks)};

    b.rate = b.rows / b.each;
    *work  = (workload_t){.ranks = ranks, .fixed = 1, .processor = of->processor};
    strcpy(work->name, of->name);
    if (scheme->kind != SCHEME_DATA && t->dense == t->layers) {
        return tw_problem_set(
            problem, "--scheme %s: '%s' has no dense layers at its end that could be split",
            scheme->text, of->name);
    }
    put_step(&b, scheme, scheme->kind == SCHEME_DATA || ranks == 1 ? t->layers : t->dense);
    owners_destroy(&b);
    if (b.failed) {
        workload_free(work);
        tw_problem_set(problem, "out of memory");
    }
    return b.failed ? -1 : 0;
}
