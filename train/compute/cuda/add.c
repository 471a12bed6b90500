/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/add.c - the end of a residual block. Between equal shapes the gradient is handed on, not copied
 * (compute/gradients.c).
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

static void forward(tw_op_t *op, const tw_op_pass_t *pass)
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

static const tw_op_class_t class = {
    .name = "add", .bytes = sizeof(tw_gpu_add_t), .forward = forward, .data = backward_data};

int tw_gpu_add(tw_graph_t *graph, const tw_network_layer_t *layer, tw_tensor_t *x1, tw_tensor_t *x2,
               tw_tensor_t **y_p, tw_op_t **op_p, tw_problem_t *problem)
{
    tw_gpu_add_t *add;

    if (tw_layer_check(layer, layer->out, x1, problem) != 0 ||
        tw_layer_check_shortcut(layer, x2, problem) != 0) {
        return -1;
    }
    add = (tw_gpu_add_t *)tw_op_create(graph, &class, x1, x2, problem);
    if (add == NULL || tw_op_result(&add->op, layer->out, TW_PLAIN, 0, problem) != 0) {
        return -1;
    }
    add->reshape       = x2->shape.c != x1->shape.c || x2->rows != x1->rows;
    add->op.activation = layer->activation;
    add->op.masked     = layer->activation != TW_LINEAR;
    add->op.passes[0]  = 1;
    add->op.passes[1]  = !add->reshape;
    add->stride[0]     = layer->stride[0];
    add->stride[1]     = layer->stride[1];
    *y_p               = add->op.y;
    *op_p              = &add->op;
    return 0;
}
