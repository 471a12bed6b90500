/* SPDX-License-Identifier: BSD-3-Clause
 * host/output.c - where plain values leave a graph and plain gradients enter it.
 */
#include "config.h"

#include "train/compute/host/host.h"

typedef struct tw_output {
    tw_op_t            op;
    tw_primitive_t     out, in; /* between x's layout and the plain one, if they differ */
    tw_gradient_slot_t slot;    /* of the caller's gradient                             */
    float             *dx;
} tw_output_t;

static void output_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    tw_output_t *output = (tw_output_t *)op;

    (void)pass;
    if (output->out.run != NULL) {
        tw_primitive_run(op->graph, &output->out);
    }
}

static void backward_data(tw_op_t *op)
{
    tw_output_t *output = (tw_output_t *)op;
    tw_tensor_t *x      = op->x[0];

    op->y->written = 1;
    if (op->passes[0]) {
        tw_gradient_hand(op, 0);
        return;
    }
    (void)tw_gradient_settled(op);
    output->dx = tw_gradient_take(x);
    tw_primitive_run(op->graph, &output->in);
    tw_gradient_put(x, output->dx);
}

static void output_destroy(tw_op_t *op)
{
    tw_output_t *output = (tw_output_t *)op;

    tw_primitive_destroy(&output->out);
    tw_primitive_destroy(&output->in);
    tw_backend_release(op->graph->backend, output->slot.data);
}

static const tw_op_class_t class = {.name    = "output",
                                    .bytes   = sizeof(tw_output_t),
                                    .forward = output_forward,
                                    .data    = backward_data,
                                    .destroy = output_destroy};

int tw_host_output(tw_graph_t *graph, tw_tensor_t *x, const float **value_p, float **gradient_p,
                   tw_op_t **op_p, tw_problem_t *problem)
{
    tw_host_t   *backend = tw_host_of(graph);
    tw_output_t *output  = (tw_output_t *)tw_op_create(graph, &class, &x, 1, problem);
    const size_t bytes   = graph->n * tw_shape_size(x->shape) * sizeof(float);
    tw_tensor_t *y;
    void        *p;

    if (output == NULL) {
        return -1;
    }
    output->op.passes[0] = x->layout == TW_PLAIN;
    y = tw_tensor_create(graph, x->shape, TW_PLAIN, output->op.passes[0] ? x->value : NULL,
                         problem);
    if (y == NULL || tw_backend_allocate(graph->backend, bytes, &p, problem) != 0) {
        return -1;
    }
    output->slot.data  = p;
    output->slot.bytes = bytes;
    output->slot.users = 1;
    output->op.y       = y;
    y->producer        = &output->op;
    y->wanted          = x->wanted;
    y->grad_slot       = &output->slot;
    if (!output->op.passes[0] && (tw_primitive_reorder(backend, &output->out, x->md, &x->value,
                                                       y->md, &y->value, problem) != 0 ||
                                  tw_primitive_reorder(backend, &output->in, y->md, &y->settled,
                                                       x->md, &output->dx, problem) != 0)) {
        return -1;
    }
    *value_p    = y->value;
    *gradient_p = output->slot.data;
    *op_p       = &output->op;
    return 0;
}
