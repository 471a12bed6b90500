/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/passes.c - see passes.h.
 */
#include "config.h"

#include <math.h>

#include "scaling/passes.h"

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
    const double each = floor(b->given / b->parts), more = fmod(b->given, b->parts);
    double       number = 0.0;

    for (int first = 0; first < b->parts; first += group) {
        const int ranks = b->parts - first < group ? b->parts - first : group;

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
    const double given  = fmin(b->parts, b->given); /* ranks that have examples */
    int          group  = b->parts;
    passes_t     passes = {.number = 1.0, .returns = layers_below(b->t)};

    if (scheme->kind == SCHEME_B) {
        group = 1;
    } else if (scheme->kind == SCHEME_GROUP && scheme->group < b->parts) {
        group = scheme->group;
    }
    if (scheme->kind != SCHEME_A) {
        passes.number = number_of_passes(b, group);
    }
    passes.members = fmin(group, given);
    passes.rows    = b->given / passes.number;
    return passes;
}

/* What split layer l gives stays where it is: the next one is split by its inputs, or those that
 * share the layers divide its groups. */
static int layer_stays(const builder_t *b, size_t l)
{
    const double groups = b->t->layer[l + 1].groups;

    return b->t->layer[l + 1].by_input || (groups > 0.0 && fmod(groups, b->parts) == 0.0);
}

/* Of a split layer's units, or inputs, those of the rank that has most. */
static double units_part(const builder_t *b, size_t l)
{
    const training_layer_t *layer = &b->t->layer[l];
    const double            units = layer->by_input ? training_inputs(layer) : layer->units;

    return ceil(units / b->parts) / units;
}

/* What a pass exchanges within the split layers: the first of their outputs, of the sums of their
 * gradients, one for each layer but the last, which share only the losses' parts; and of all layers
 * the first sum of outputs, and the first of the gradients by these, where inputs are divided. */
typedef struct divided {
    size_t gather, add, share, sum, spread;
} divided_t;

/* The exchanges from the first on are of the ranks that share the layers. */
static void among_parts(builder_t *b, size_t first)
{
    for (size_t x = first; x < b->work->exchanges && b->parts < b->ranks; x++) {
        b->work->exchange[x].ranks  = b->parts;
        b->work->exchange[x].stride = 1;
    }
}

static void layer_exchanges(builder_t *b, const passes_t *passes, divided_t *divided)
{
    const training_t *t = b->t;

    divided->gather = b->work->exchanges;
    for (size_t l = t->dense; l + 1 < t->layers; l++) {
        builder_exchange(b, TW_OPERATION_ALLGATHER, passes->rows * t->layer[l].units / b->parts,
                         "act", t->layer[l].name);
    }
    divided->add = b->work->exchanges;
    for (size_t l = t->dense; l + 1 < t->layers; l++) {
        builder_exchange(b, TW_OPERATION_REDUCE_SCATTER, passes->rows * t->layer[l].units, "back",
                         t->layer[l].name);
    }
    divided->share = builder_exchange(b, TW_OPERATION_ALLGATHER, 2.0 * passes->rows, "", "losses");
    divided->sum   = b->work->exchanges;
    for (size_t l = t->dense; l < t->layers; l++) {
        builder_exchange(b, TW_OPERATION_REDUCE_SCATTER, passes->rows * t->layer[l].units, "act",
                         t->layer[l].name);
    }
    divided->spread = b->work->exchanges;
    for (size_t l = t->dense; l < t->layers; l++) {
        builder_exchange(b, TW_OPERATION_ALLGATHER, passes->rows * t->layer[l].units / b->parts,
                         "back", t->layer[l].name);
    }
    among_parts(b, divided->gather);
}

/* Forward, loss and backward of a pass. A layer's gradient by its inputs, half of the work, is
 * added up while that by its weights is computed. */
static void split_pass(builder_t *b, const passes_t *passes, const divided_t *divided)
{
    const training_t *t = b->t;

    for (size_t l = t->dense; l < t->layers; l++) {
        builder_time(b, passes->rows / b->each * units_part(b, l) * t->layer[l].forward);
        if (t->layer[l].by_input) {
            builder_call(b, divided->sum + l - t->dense);
        }
        if (l + 1 < t->layers && !layer_stays(b, l)) {
            builder_call(b, divided->gather + l - t->dense);
        }
    }
    if (t->softmax) {
        builder_call(b, divided->share);
    }
    for (size_t l = t->layers; l-- > t->dense;) {
        const double seconds = passes->rows / b->each * units_part(b, l) * t->layer[l].backward;

        if (t->layer[l].by_input) {
            builder_call(b, divided->spread + l - t->dense);
        }
        if (l > t->dense && !layer_stays(b, l - 1)) {
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
    const double values = passes->rows * training_inputs(&b->t->layer[b->t->dense]);
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
        one->part  = one->operation == TW_OPERATION_ALLGATHER ? passes->members / b->parts : 1.0;
    }
    among_parts(b, passes->activations);
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

double passes_put(builder_t *b, const scheme_t *scheme)
{
    passes_t  passes = passes_of(b, scheme);
    divided_t divided;

    pass_exchanges(b, &passes);
    layer_exchanges(b, &passes, &divided);
    run_passes(b, &passes, &divided);
    return passes.number;
}
