/* SPDX-License-Identifier: BSD-3-Clause
 * host/add.c - the end of a residual block, by own loops. Between equal shapes the gradient is
 * handed on, not copied (gradients.c); a shortcut that changes the shape takes every stride-th
 * position and leaves the channels that it lacks 0.
 */
#include "config.h"

#include <string.h>

#include "train/compute/host/host.h"

typedef struct tw_add {
    tw_op_t        op;
    int            reshape; /* x2 is of another shape                              */
    size_t         stride[2];
    tw_primitive_t convert, back; /* between x2's layout and x1's, if they differ        */
    float         *other, *dx;    /* x2 in x1's layout; its gradient, in x2's own layout */
    tw_tensor_t   *as_x1;         /* shape and layout of other                           */
} tw_add_t;

/* One example's run of y and of the smaller shape: sum or scatter of every stride-th row. */
typedef struct tw_shortcut {
    size_t h, w, width;          /* of y      */
    size_t other_w, other_width; /* of x2     */
    size_t stride[2], lanes;
} tw_shortcut_t;

static void add_run(const tw_shortcut_t *s, float *y, const float *x1, const float *x2)
{
    memcpy(y, x1, s->h * s->w * s->width * sizeof(float));
    for (size_t i = 0; i < s->h * s->w; i++) {
        const size_t at = i / s->w * s->stride[0] * s->other_w + i % s->w * s->stride[1];

        for (size_t k = 0; k < s->lanes; k++) {
            y[i * s->width + k] += x2[at * s->other_width + k];
        }
    }
}

static void scatter_run(const tw_shortcut_t *s, float *dx2, const float *dy)
{
    for (size_t i = 0; i < s->h * s->w; i++) {
        const size_t at = i / s->w * s->stride[0] * s->other_w + i % s->w * s->stride[1];

        for (size_t k = 0; k < s->lanes; k++) {
            dx2[at * s->other_width + k] += dy[i * s->width + k];
        }
    }
}

static tw_shortcut_t shortcut_of(const tw_add_t *add)
{
    const tw_tensor_t *y = add->op.y, *x2 = add->as_x1;

    return (tw_shortcut_t){.h           = y->shape.h,
                           .w           = y->shape.w,
                           .width       = y->width,
                           .other_w     = x2->shape.w,
                           .other_width = x2->width,
                           .stride      = {add->stride[0], add->stride[1]},
                           .lanes       = x2->width < y->width ? x2->width : y->width};
}

static void forward_reshaped(tw_add_t *add, const float *x2)
{
    const tw_shortcut_t s   = shortcut_of(add);
    tw_tensor_t        *y   = add->op.y;
    const tw_host_t    *b   = tw_host_of(add->op.graph);
    const size_t        run = y->rows * y->width, runs = add->op.graph->n * y->runs;
    const size_t        other = add->as_x1->rows * add->as_x1->width;

#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t i = 0; i < runs; i++) {
        const size_t n = i / y->runs, r = i % y->runs;
        float       *to = y->value + i * run, *x1 = add->op.x[0]->value + i * run;

        if (r < add->as_x1->runs) {
            add_run(&s, to, x1, x2 + (n * add->as_x1->runs + r) * other);
        } else {
            memcpy(to, x1, run * sizeof(float));
        }
        b->loops->activate(to, to, run, add->op.activation);
    }
}

static void add_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    tw_add_t        *add   = (tw_add_t *)op;
    const tw_host_t *b     = tw_host_of(op->graph);
    const size_t     parts = (size_t)b->threads;
    const float     *x2    = op->x[1]->value;

    (void)pass;
    if (add->convert.run != NULL) {
        tw_primitive_run(op->graph, &add->convert);
        x2 = b->temp[TW_TEMP_X];
    }
    if (add->reshape) {
        forward_reshaped(add, x2);
        return;
    }
#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t p = 0; p < parts; p++) {
        const size_t first = op->y->count * p / parts, end = op->y->count * (p + 1) / parts;

        b->loops->add(op->y->value + first, op->x[0]->value + first, x2 + first, end - first,
                      op->activation);
    }
}

/* The gradient by a shortcut of another shape: to adds up what is there. */
static void scatter(tw_add_t *add, float *to, const float *g)
{
    const tw_shortcut_t s   = shortcut_of(add);
    const tw_tensor_t  *y   = add->op.y;
    const tw_host_t    *b   = tw_host_of(add->op.graph);
    const size_t        run = y->rows * y->width, runs = add->op.graph->n * add->as_x1->runs;
    const size_t        other = add->as_x1->rows * add->as_x1->width;

#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t i = 0; i < runs; i++) {
        const size_t n = i / add->as_x1->runs, r = i % add->as_x1->runs;

        if (r < y->runs) {
            scatter_run(&s, to + i * other, g + (n * y->runs + r) * run);
        }
    }
}

/* The gradient by x2 where it is not simply handed on. */
static void second(tw_add_t *add)
{
    tw_op_t     *op    = &add->op;
    tw_tensor_t *x2    = op->x[1];
    float       *g     = tw_gradient_settled(op), *work;
    const size_t bytes = add->as_x1->count * sizeof(float);

    if (add->back.run == NULL) {
        if (!x2->written) {
            memset(x2->grad, 0, bytes);
            x2->written = 1;
        }
        scatter(add, x2->grad, g);
        return;
    }
    add->other = g;
    if (add->reshape) {
        work = tw_host_of(op->graph)->temp[TW_TEMP_X];
        memset(work, 0, bytes);
        scatter(add, work, g);
        add->other = work;
    }
    add->dx = tw_gradient_take(x2);
    tw_primitive_run(op->graph, &add->back);
    tw_gradient_put(x2, add->dx);
}

static void backward_data(tw_op_t *op)
{
    if (op->x[0]->wanted) {
        tw_gradient_hand(op, 0);
    }
    if (op->x[1]->wanted && op->passes[1]) {
        tw_gradient_hand(op, 1);
    } else if (op->x[1]->wanted) {
        second((tw_add_t *)op);
    }
}

static void add_destroy(tw_op_t *op)
{
    tw_primitive_destroy(&((tw_add_t *)op)->convert);
    tw_primitive_destroy(&((tw_add_t *)op)->back);
}

/* Conversions between x2's layout and x1's. */
static int make_conversions(tw_add_t *add, tw_problem_t *problem)
{
    tw_host_t   *backend = tw_host_of(add->op.graph);
    tw_tensor_t *x1 = add->op.x[0], *x2 = add->op.x[1];
    const size_t bytes = add->as_x1->count * sizeof(float);

    if (x1->layout == x2->layout) {
        return 0;
    }
    return tw_host_temp(backend, TW_TEMP_X, bytes, problem) == 0 &&
                   tw_primitive_reorder(backend, &add->convert, x2->md, &x2->value, add->as_x1->md,
                                        &backend->temp[TW_TEMP_X], problem) == 0
               ? tw_primitive_reorder(backend, &add->back, add->as_x1->md, &add->other, x2->md,
                                      &add->dx, problem)
               : -1;
}

static int add_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                    tw_problem_t *problem)
{
    tw_add_t          *add = (tw_add_t *)op;
    const tw_tensor_t *x1 = op->x[0], *x2 = op->x[1];

    (void)params;
    add->reshape   = x2->shape.c != x1->shape.c || x2->rows != x1->rows;
    add->stride[0] = layer->stride[0];
    add->stride[1] = layer->stride[1];
    add->as_x1     = tw_tensor_create(op->graph, x2->shape, x1->layout, x2->value, problem);
    return add->as_x1 != NULL ? make_conversions(add, problem) : -1;
}

const tw_op_class_t tw_host_add = {.name    = "add",
                                   .bytes   = sizeof(tw_add_t),
                                   .forward = add_forward,
                                   .data    = backward_data,
                                   .destroy = add_destroy,
                                   .make    = add_make};
