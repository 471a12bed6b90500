/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/add.c - the end of a residual block. Between equal shapes the gradient is passed without a
 * copy (compute/gradients.c).
 */
#include "config.h"

#include "train/compute/cuda/cuda.h"

typedef struct tw_gpu_add {
    tw_op_t op;
    int     reshape; /* x2 is of another shape */
    size_t  stride[2];
} tw_gpu_add_t;

/* What both directions of a shortcut want to know; see places.cu. */
static tw_task_t shortcut(const tw_gpu_add_t *add)
{
    const tw_shape_t y = add->op.y->shape, x2 = add->op.x[1]->shape;

    return (tw_task_t){.n = {0, y.c, y.h, y.w, x2.c, x2.h, add->stride[0], add->stride[1], x2.w}};
}

static void add_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    const tw_gpu_add_t *add  = (tw_gpu_add_t *)op;
    tw_task_t           task = shortcut(add);

    (void)pass;
    task.n[0]    = op->y->count;
    task.from[0] = op->x[0]->value;
    task.from[1] = op->x[1]->value;
    task.to[0]   = op->y->value;
    task.flag[0] = (int)op->activation;
    (void)tw_gpu_start(tw_gpu_of(op->graph), add->reshape ? tw_task_shortcut() : tw_task_add(),
                       &task, TW_FOURS(op->y->count), &op->graph->failure);
}

/* The gradient by a shortcut of another shape, added to what is there. */
static void shortcut_back(tw_gpu_add_t *add)
{
    tw_op_t     *op   = &add->op;
    tw_tensor_t *x2   = op->x[1];
    tw_task_t    task = shortcut(add);

    task.n[0]    = x2->count;
    task.from[0] = tw_gradient_settled(op);
    task.to[0]   = x2->grad;
    task.flag[0] = x2->written;
    x2->written  = 1;
    (void)tw_gpu_start(tw_gpu_of(op->graph), tw_task_shortcut_back(), &task, TW_FOURS(x2->count),
                       &op->graph->failure);
}

static void backward_data(tw_op_t *op)
{
    if (op->x[0]->wanted) {
        tw_gradient_hand(op, 0);
    }
    if (op->x[1]->wanted && op->passes[1]) {
        tw_gradient_hand(op, 1);
    } else if (op->x[1]->wanted) {
        shortcut_back((tw_gpu_add_t *)op);
    }
}

static int add_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                    tw_problem_t *problem)
{
    tw_gpu_add_t *add = (tw_gpu_add_t *)op;

    (void)params, (void)problem;
    add->reshape   = op->x[1]->shape.c != op->x[0]->shape.c || op->x[1]->rows != op->x[0]->rows;
    add->stride[0] = layer->stride[0];
    add->stride[1] = layer->stride[1];
    return 0;
}

/* No such operation: a model with one is refused (compute/layers.c). */
const tw_op_class_t tw_gpu_concat = {.name = "concat"};

const tw_op_class_t tw_gpu_add = {.name    = "add",
                                  .bytes   = sizeof(tw_gpu_add_t),
                                  .forward = add_forward,
                                  .data    = backward_data,
                                  .make    = add_make};
