/* SPDX-License-Identifier: BSD-3-Clause
 * scaling/owners.c - see owners.h.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <thinwire/weights.h>

#include "scaling/owners.h"

#define WORDS 2.0 /* of a norm, a double */

/* Group 0 is of what is small; others may have several layers. */
typedef struct owned {
    size_t layer; /* the first */
    double count;
    size_t sum, send; /* exchanges, unless count is 0 */
} owned_t;

struct owners {
    owned_t *group;
    size_t  *of; /* [layers] the group of its weights; 0: none      */
    size_t   groups;
    size_t   arrived; /* groups 0 .. arrived - 1 were waited for    */
    size_t   ready;   /* gradients of groups from there on travel   */
};

/* ---- groups -------------------------------------------------------------------------------- */

/* Up to the last point of a layer's name; 0 where there is none. */
static size_t block_length(const char *name)
{
    const char *point = strrchr(name, '.');

    return point != NULL ? (size_t)(point - name) : 0;
}

static int same_block(const training_layer_t *a, const training_layer_t *b)
{
    const size_t length = block_length(a->name);

    return length > 0 && length == block_length(b->name) && memcmp(a->name, b->name, length) == 0;
}

static void join_layer(const training_t *t, owners_t *o, size_t l)
{
    const training_layer_t *layer = &t->layer[l];

    o->group[0].count += layer->biases;
    if (layer->weights == 0.0) {
        return;
    }
    if (o->groups == 1 || !t->blocks ||
        !same_block(&t->layer[o->group[o->groups - 1].layer], layer)) {
        o->group[o->groups++].layer = l;
    }
    o->group[o->groups - 1].count += layer->weights;
    o->of[l] = o->groups - 1;
}

/* Of a group, what the rank has that owns most, for codecs of short blocks. */
static double most_of(const builder_t *b, double count)
{
    return b->t->owners == TW_WEIGHTS_ROOT ? count : owners_share(count, OWNERS_UNIT, b->ranks);
}

/* Gradients of biases, and of few weights, are fp32. */
static const char *class_of(const builder_t *b, size_t g)
{
    const int small = tw_tensor_is_small((size_t)b->owners->group[g].count, 0);

    return g > 0 && !(b->lossy && small) ? "grad" : "";
}

static void add_exchanges(builder_t *b, size_t g)
{
    const int               root  = b->t->owners == TW_WEIGHTS_ROOT;
    owned_t                *group = &b->owners->group[g];
    const training_layer_t *layer = &b->t->layer[group->layer];

    group->sum = builder_exchange(b, root ? TW_OPERATION_REDUCE : TW_OPERATION_REDUCE_SCATTER,
                                  group->count, class_of(b, g), "gradients");
    group->send =
        builder_exchange(b, root ? TW_OPERATION_BCAST : TW_OPERATION_ALLGATHER, group->count,
                         g > 0 ? "weight" : "", g > 0 ? layer->name : "biases");
    if (!b->failed) {
        const char *copy = g == 0 ? NULL : layer->copy[0] != '\0' ? layer->copy : "fp32";
        exchange_t *sum = &b->work->exchange[group->sum], *send = &b->work->exchange[group->send];

        sum->first = send->first = root;
        sum->ordered             = root;
        sum->shares = send->shares = !root;
        sum->blocks = send->blocks = send->codec = copy;
    }
}

void owners_create(builder_t *b, size_t layers)
{
    owners_t *o = b->t->owners != 0 && b->ranks > 1 ? calloc(1, sizeof(*o)) : NULL;

    b->owners = o;
    if (o == NULL) {
        b->failed |= b->t->owners != 0 && b->ranks > 1;
        return;
    }
    o->group = calloc(layers + 1, sizeof(*o->group));
    o->of    = calloc(layers + 1, sizeof(*o->of));
    if (o->group == NULL || o->of == NULL) {
        owners_destroy(b);
        b->failed = 1;
        return;
    }
    o->groups = 1;
    for (size_t l = 0; l < layers; l++) {
        join_layer(b->t, o, l);
    }
    for (size_t g = 0; g < o->groups; g++) {
        if (o->group[g].count > 0.0) {
            add_exchanges(b, g);
        }
    }
    o->ready = o->groups;
}

void owners_destroy(builder_t *b)
{
    if (b->owners != NULL) {
        free(b->owners->group);
        free(b->owners->of);
        free(b->owners);
    }
    b->owners = NULL;
}

/* ---- a step -------------------------------------------------------------------------------- */

void owners_need(builder_t *b, size_t layer)
{
    owners_t *o = b->owners;

    if (o == NULL || b->t->layer[layer].weights + b->t->layer[layer].biases == 0.0) {
        return;
    }
    for (; o->arrived <= o->of[layer]; o->arrived++) {
        if (o->group[o->arrived].count > 0.0) {
            builder_wait(b, o->group[o->arrived].send);
        }
    }
}

static void start_sums(builder_t *b, size_t from)
{
    owners_t *o = b->owners;

    while (o->ready > from) {
        if (o->group[--o->ready].count > 0.0) {
            builder_start(b, o->group[o->ready].sum);
        }
    }
}

void owners_ready(builder_t *b, size_t layer)
{
    const owners_t *o = b->owners;

    if (o != NULL && o->of[layer] > 0 && o->group[o->of[layer]].layer == layer) {
        start_sums(b, o->of[layer]);
    }
}

void owners_finish(builder_t *b)
{
    owners_t *o = b->owners;
    size_t    extra;

    if (o == NULL) {
        return;
    }
    extra = builder_exchange(b, TW_OPERATION_ALLREDUCE, EXTRA, "", "loss");
    builder_start(b, extra);
    start_sums(b, 0);
    for (size_t g = o->groups; g-- > 0;) {
        if (o->group[g].count > 0.0) {
            builder_wait(b, o->group[g].sum);
        }
    }
    builder_wait(b, extra);
}

void owners_send(builder_t *b)
{
    const owners_t *o = b->owners;

    if (o != NULL && b->t->norms) {
        builder_call(
            b, builder_exchange(b, TW_OPERATION_ALLGATHER, WORDS * (double)o->groups, "", "norms"));
    }
    for (size_t g = 0; o != NULL && g < o->groups; g++) {
        if (o->group[g].count > 0.0) {
            builder_start(b, o->group[g].send);
        }
    }
}

double owners_part(const builder_t *b)
{
    double own = 0.0, all = 0.0;

    for (size_t g = 0; b->owners != NULL && g < b->owners->groups; g++) {
        own += most_of(b, b->owners->group[g].count);
        all += b->owners->group[g].count;
    }
    return all > 0.0 ? own / all : 1.0;
}
