/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/gradients.c - sums of gradients, derivatives of activations, and the ends of a graph; see
 * compute/gradients.c.
 */
#include "config.h"

#include <assert.h>

#include "train/compute/cuda/cuda.h"

static_assert((int)TW_LINEAR == (int)TW_TASK_LINEAR && (int)TW_RELU == (int)TW_TASK_RELU &&
                  (int)TW_LOGISTIC == (int)TW_TASK_LOGISTIC,
              "kernels name activations by the same numbers");

void tw_gpu_settle(tw_tensor_t *y, const float *g, const float *more, tw_activation_t how)
{
    const tw_task_t task = {
        .from = {g, more, y->value}, .to = {y->settled}, .n = {y->count}, .flag = {(int)how}};

    (void)tw_gpu_start(tw_gpu_of(y->graph), tw_task_settle(), &task, TW_FOURS(y->count),
                       &y->graph->failure);
}

void tw_gpu_add_gradient(tw_tensor_t *x, const float *g)
{
    const tw_task_t task = {.from = {x->grad, g}, .to = {x->grad}, .n = {x->count}};

    (void)tw_gpu_start(tw_gpu_of(x->graph), tw_task_add(), &task, TW_FOURS(x->count),
                       &x->graph->failure);
}

/* ---- the end of a graph: all layouts are plain ---- */

typedef struct tw_gpu_output {
    tw_op_t            op;
    tw_gradient_slot_t slot; /* of the caller's gradient */
} tw_gpu_output_t;

static void gradients_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    (void)op, (void)pass;
}

static void backward_data(tw_op_t *op)
{
    op->y->written = 1;
    tw_gradient_hand(op, 0);
}

static void gradients_destroy(tw_op_t *op)
{
    tw_backend_release(op->graph->backend, ((tw_gpu_output_t *)op)->slot.data);
}

static const tw_op_class_t class = {.name    = "output",
                                    .bytes   = sizeof(tw_gpu_output_t),
                                    .forward = gradients_forward,
                                    .data    = backward_data,
                                    .destroy = gradients_destroy};

int tw_gpu_output(tw_graph_t *graph, tw_tensor_t *x, const float **value_p, float **gradient_p,
                  tw_op_t **op_p, tw_problem_t *problem)
{
    tw_gpu_output_t *output = (tw_gpu_output_t *)tw_op_create(graph, &class, &x, 1, problem);
    tw_tensor_t     *y;
    void            *p;

    if (output == NULL) {
        return -1;
    }
    y = tw_tensor_create(graph, x->shape, TW_PLAIN, x->value, problem);
    if (y == NULL ||
        tw_backend_allocate(graph->backend, x->count * sizeof(float), &p, problem) != 0) {
        return -1;
    }
    output->slot = (tw_gradient_slot_t){.data = p, .bytes = x->count * sizeof(float), .users = 1};
    output->op.passes[0] = 1;
    output->op.y         = y;
    y->producer          = &output->op;
    y->wanted            = x->wanted;
    y->grad_slot         = &output->slot;
    *value_p             = y->value;
    *gradient_p          = output->slot.data;
    *op_p                = &output->op;
    return 0;
}
