/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/units.c - operations on single units: an activation that no other layer took along, and
 * dropout.
 */
#include "config.h"

#include <stdlib.h>

#include "train/compute/cuda/cuda.h"
#include "train/base/random.h"

/* ---- activation ---- */

void tw_gpu_activate(tw_tensor_t *y, const float *x, tw_activation_t how)
{
    const tw_task_t task = {.from = {x}, .to = {y->value}, .n = {y->count}, .flag = {(int)how}};

    (void)tw_gpu_start(tw_gpu_of(y->graph), tw_task_activate(), &task, TW_FOURS(y->count),
                       &y->graph->failure);
}

static void activation_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    (void)pass;
    tw_gpu_activate(op->y, op->x[0]->value, op->activation);
}

static void activation_data(tw_op_t *op)
{
    tw_gradient_hand(op, 0);
}

const tw_op_class_t tw_gpu_activation = {.name    = "activation",
                                         .bytes   = sizeof(tw_op_t),
                                         .forward = activation_forward,
                                         .data    = activation_data};

/* ---- dropout ---- */

typedef struct tw_gpu_dropout {
    tw_op_t   op;
    float     rate, now; /* the layer's, and that of the last forward pass */
    uint64_t  number;    /* among the network's dropouts      */
    int       active;    /* in the last forward pass          */
    uint64_t *key;       /* of each row                       */
    void     *keys;      /* the same, in memory of the device */
} tw_gpu_dropout_t;

/* y = x under the masks. */
static void drop(const tw_gpu_dropout_t *d, float *y, const float *x)
{
    tw_graph_t     *graph = d->op.graph;
    const size_t    count = d->op.y->count;
    const tw_drop_t how   = tw_drop_make(0, d->now);
    const tw_task_t task  = {.from = {x, d->keys},
                             .to   = {y},
                             .n    = {count, count / graph->n},
                             .real = {(double)how.scale},
                             .flag = {how.threshold}};

    (void)tw_gpu_start(tw_gpu_of(graph), tw_task_drop(), &task, TW_FOURS(count), &graph->failure);
}

static void dropout_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    tw_gpu_dropout_t *d     = (tw_gpu_dropout_t *)op;
    tw_graph_t       *graph = op->graph;

    d->now    = tw_drop_rate(d->rate, pass->less);
    d->active = pass->training && d->now > 0.0f;
    if (!d->active) {
        (void)tw_backend_copy(graph->backend, op->y->value, op->x[0]->value,
                              op->y->count * sizeof(float), &graph->failure);
        return;
    }
    for (size_t i = 0; i < graph->n; i++) {
        d->key[i] = tw_random_key(pass->seed, TW_RANDOM_DROPOUT, pass->step,
                                  pass->examples[i] * 64 + d->number);
    }
    (void)tw_backend_put(graph->backend, d->keys, d->key, graph->n * sizeof(*d->key),
                         &graph->failure);
    drop(d, op->y->value, op->x[0]->value);
}

static void dropout_data(tw_op_t *op)
{
    tw_gpu_dropout_t *d  = (tw_gpu_dropout_t *)op;
    float            *g  = tw_gradient_settled(op);
    float            *to = tw_gradient_take(op->x[0]);

    if (d->active) {
        drop(d, to, g);
    } else {
        (void)tw_backend_copy(op->graph->backend, to, g, op->y->count * sizeof(float),
                              &op->graph->failure);
    }
    tw_gradient_put(op->x[0], to);
}

static void dropout_destroy(tw_op_t *op)
{
    tw_gpu_dropout_t *d = (tw_gpu_dropout_t *)op;

    free(d->key);
    tw_backend_release(op->graph->backend, d->keys);
}

static int dropout_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                        tw_problem_t *problem)
{
    tw_gpu_dropout_t *d = (tw_gpu_dropout_t *)op;

    (void)params;
    d->rate   = layer->rate;
    d->number = layer->drop;
    d->key    = calloc(op->graph->n, sizeof(*d->key));
    if (d->key == NULL) {
        return tw_problem_set(problem, "no memory for dropout");
    }
    return tw_backend_allocate(op->graph->backend, op->graph->n * sizeof(*d->key), &d->keys,
                               problem);
}

const tw_op_class_t tw_gpu_dropout = {.name     = "dropout",
                                      .bytes    = sizeof(tw_gpu_dropout_t),
                                      .in_place = 1,
                                      .forward  = dropout_forward,
                                      .data     = dropout_data,
                                      .destroy  = dropout_destroy,
                                      .make     = dropout_make};
