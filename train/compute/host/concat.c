/* SPDX-License-Identifier: BSD-3-Clause
 * host/concat.c - channels of several inputs behind each other, by own loops. The inputs may have
 * other layouts than the result. Checked against plain double by tests/train/test_layers.c.
 */
#include "config.h"

#include <string.h>

#include "train/compute/host/host.h"

/* Values or gradients of a tensor, from one of its channels on. */
typedef struct tw_channels {
    const tw_tensor_t *of;
    float             *data;
    size_t             first;
} tw_channels_t;

/* One example's numbers of `lanes` channels that lie in one run of both sides. */
static void copy_lanes(const tw_channels_t *to, size_t to_run, size_t to_lane,
                       const tw_channels_t *from, size_t from_run, size_t from_lane, size_t lanes)
{
    const size_t rows = to->of->rows, width = to->of->width, other = from->of->width;
    float       *y = to->data + to_run * rows * width + to_lane;
    const float *x = from->data + from_run * rows * other + from_lane;

    if (lanes == width && lanes == other) {
        memcpy(y, x, rows * lanes * sizeof(float));
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < lanes; k++) {
            y[i * width + k] = x[i * other + k];
        }
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* `channels` of example n. */
static void copy_channels(const tw_channels_t *to, const tw_channels_t *from, size_t channels,
                          size_t n)
{
    const size_t width = to->of->width, other = from->of->width;

    for (size_t c = 0, lanes; c < channels; c += lanes) {
        const size_t y = to->first + c, x = from->first + c;

        lanes = least(channels - c, least(width - y % width, other - x % other));
        copy_lanes(to, n * to->of->runs + y / width, y % width, from,
                   n * from->of->runs + x / other, x % other, lanes);
    }
}

/* First channel of input i in the result. */
static size_t first_of(const tw_op_t *op, size_t i)
{
    size_t first = 0;

    while (i-- > 0) {
        first += op->x[i]->shape.c;
    }
    return first;
}

/* What fills up the last block of channels of example n is 0 in values and gradients. */
static void clear_filling(const tw_tensor_t *x, float *data, size_t n)
{
    const size_t used = x->shape.c % x->width;
    float       *last = data + ((n + 1) * x->runs - 1) * x->rows * x->width;

    for (size_t i = 0; used > 0 && i < x->rows; i++) {
        memset(last + i * x->width + used, 0, (x->width - used) * sizeof(float));
    }
}

static void concat_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    const tw_host_t *b    = tw_host_of(op->graph);
    const size_t     jobs = op->graph->n * op->inputs;

    (void)pass;
#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
    for (size_t k = 0; k < jobs; k++) {
        const size_t        i = k % op->inputs;
        const tw_channels_t y = {op->y, op->y->value, first_of(op, i)};
        const tw_channels_t x = {op->x[i], op->x[i]->value, 0};

        copy_channels(&y, &x, x.of->shape.c, k / op->inputs);
        if (i + 1 == op->inputs) {
            clear_filling(op->y, op->y->value, k / op->inputs);
        }
    }
}

static void backward_data(tw_op_t *op)
{
    const tw_host_t    *b = tw_host_of(op->graph);
    const tw_channels_t g = {op->y, tw_gradient_settled(op), 0};

    for (size_t i = 0; i < op->inputs; i++) {
        tw_tensor_t  *x    = op->x[i];
        tw_channels_t from = g, to = {x, NULL, 0};

        if (!x->wanted) {
            continue;
        }
        from.first = first_of(op, i);
        to.data    = tw_gradient_take(x);
#pragma omp parallel for num_threads(b->threads) if (b->threads > 1) schedule(static)
        for (size_t n = 0; n < op->graph->n; n++) {
            copy_channels(&to, &from, x->shape.c, n);
            clear_filling(x, to.data, n);
        }
        tw_gradient_put(x, to.data);
    }
}

const tw_op_class_t tw_host_concat = {
    .name = "concat", .bytes = sizeof(tw_op_t), .forward = concat_forward, .data = backward_data};
