/* SPDX-License-Identifier: BSD-3-Clause
 * host/activation.c - operations on single units: an activation that no other layer took along,
 * and dropout.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/compute/host/host.h"
#include "train/base/random.h"

/* ---- activation ---- */

/* What fills up the last block of channels is 0 again. */
static void clear_filling(tw_tensor_t *y)
{
    const size_t used = y->shape.c - (y->runs - 1) * y->width, run = y->rows * y->width;

    for (size_t n = 0; used < y->width && n < y->graph->n; n++) {
        float *last = y->value + ((n + 1) * y->runs - 1) * run;

        for (size_t r = 0; r < y->rows; r++) {
            memset(last + r * y->width + used, 0, (y->width - used) * sizeof(float));
        }
    }
}

void tw_activate(tw_tensor_t *y, const float *x, tw_activation_t activation)
{
    const tw_host_t *b     = tw_host_of(y->graph);
    const size_t     parts = (size_t)b->threads;

#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t p = 0; p < parts; p++) {
        const size_t first = y->count * p / parts, end = y->count * (p + 1) / parts;

        b->loops->activate(y->value + first, x + first, end - first, activation);
    }
    if (activation == TW_LOGISTIC) {
        clear_filling(y);
    }
}

static void activation_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    (void)pass;
    tw_activate(op->y, op->x[0]->value, op->activation);
}

static void activation_data(tw_op_t *op)
{
    tw_gradient_hand(op, 0);
}

const tw_op_class_t tw_host_activation = {.name    = "activation",
                                          .bytes   = sizeof(tw_op_t),
                                          .forward = activation_forward,
                                          .data    = activation_data};

/* ---- dropout ---- */

typedef struct tw_dropout {
    tw_op_t   op;
    float     rate, now; /* the layer's, and that of the last forward pass */
    uint64_t  number;    /* among the network's dropouts */
    int       active;    /* in the last forward pass     */
    uint64_t *key;       /* of each row                  */
} tw_dropout_t;

/* y = x under the masks. */
static void drop(const tw_dropout_t *d, float *y, const float *x)
{
    const tw_tensor_t *t   = d->op.y;
    const tw_host_t   *b   = tw_host_of(d->op.graph);
    const size_t       run = t->rows * t->width, runs = t->graph->n * t->runs;

#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t i = 0; i < runs; i++) {
        const tw_drop_t how = tw_drop_make(d->key[i / t->runs], d->now);

        b->loops->drop(y + i * run, x + i * run, t->rows, t->width, i % t->runs * t->width, &how);
    }
}

static void dropout_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    tw_dropout_t *d = (tw_dropout_t *)op;

    d->now    = tw_drop_rate(d->rate, pass->less);
    d->active = pass->training && d->now > 0.0f;
    if (!d->active) {
        memcpy(op->y->value, op->x[0]->value, op->y->count * sizeof(float));
        return;
    }
    for (size_t i = 0; i < op->graph->n; i++) {
        d->key[i] = tw_random_key(pass->seed, TW_RANDOM_DROPOUT, pass->step,
                                  pass->examples[i] * 64 + d->number);
    }
    drop(d, op->y->value, op->x[0]->value);
}

static void dropout_data(tw_op_t *op)
{
    tw_dropout_t *d  = (tw_dropout_t *)op;
    float        *g  = tw_gradient_settled(op);
    float        *to = tw_gradient_take(op->x[0]);

    if (d->active) {
        drop(d, to, g);
    } else if (to != g) {
        memcpy(to, g, op->y->count * sizeof(float));
    }
    tw_gradient_put(op->x[0], to);
}

static void dropout_destroy(tw_op_t *op)
{
    free(((tw_dropout_t *)op)->key);
}

static int dropout_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                        tw_problem_t *problem)
{
    tw_dropout_t *d = (tw_dropout_t *)op;

    (void)params;
    d->rate   = layer->rate;
    d->number = layer->drop;
    d->key    = calloc(op->graph->n, sizeof(*d->key));
    return d->key != NULL ? 0 : tw_problem_set(problem, "no memory for dropout");
}

const tw_op_class_t tw_host_dropout = {.name     = "dropout",
                                       .bytes    = sizeof(tw_dropout_t),
                                       .in_place = 1,
                                       .forward  = dropout_forward,
                                       .data     = dropout_data,
                                       .destroy  = dropout_destroy,
                                       .make     = dropout_make};
