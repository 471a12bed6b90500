/* SPDX-License-Identifier: BSD-3-Clause
 * model/pass.c - forward, backward, update.
 *
 * Everything after the exchange of gradients (the update) is element by element or a sum in a fixed
 * order, so it gives the same bits on every rank; the passes before it need not.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "train/compute/dense.h"
#include "train/model/net.h"
#include "train/random.h"

/* Dropout of one row of units; layer 0 is the input, layer l + 1 the output of layer l. */
static tw_drop_t drop_of(const tw_pass_t *pass, size_t row, size_t layer, float rate)
{
    uint64_t key;

    if (!pass->training || rate == 0.0f) {
        return tw_drop_make(0, 0.0f);
    }
    key = tw_random_key(pass->seed, TW_RANDOM_DROPOUT, pass->step,
                        (uint64_t)(pass->first + row) * (TW_MODEL_LAYERS_MAX + 1) + layer);
    return tw_drop_make(key, rate);
}

void tw_net_input(tw_net_t *net, const tw_pass_t *pass, size_t row, const uint8_t *pixels)
{
    const size_t    n    = net->model->inputs;
    const tw_drop_t drop = drop_of(pass, row, 0, net->model->input_dropout);

    net->kernels->pixels(net->x + row * n, pixels, n, &drop);
}

void tw_net_forward(tw_net_t *net, const tw_pass_t *pass)
{
    const float *x = net->x;

    for (size_t l = 0; l < net->layers; l++) {
        tw_layer_t *layer = &net->layer[l];

        tw_dense_forward(x, layer->w, layer->y, pass->rows, layer->in, layer->units);
        if (l + 1 < net->layers) {
#pragma omp parallel for num_threads(net->threads) if (net->threads > 1)
            for (size_t row = 0; row < pass->rows; row++) {
                const tw_drop_t drop = drop_of(pass, row, l + 1, net->model->layer[l].dropout);

                net->kernels->logistic(layer->y + row * layer->units, net->b + layer->bias,
                                       layer->units, &drop);
            }
        }
        x = layer->y;
    }
}

void tw_net_loss(tw_net_t *net, const tw_pass_t *pass, const uint8_t *labels, float scale,
                 double *loss_p, size_t *wrong_p)
{
    tw_layer_t *last   = &net->layer[net->layers - 1];
    double      loss   = 0.0;
    size_t      errors = 0;

    for (size_t row = 0; row < pass->rows; row++) {
        int wrong;

        loss += tw_softmax_loss(last->y + row * last->units, net->b + last->bias, last->units,
                                labels[row], scale, &wrong);
        errors += wrong != 0;
    }
    if (loss_p != NULL) {
        *loss_p = loss;
    }
    if (wrong_p != NULL) {
        *wrong_p = errors;
    }
}

void tw_net_backward(tw_net_t *net, const tw_pass_t *pass, size_t l)
{
    const tw_layer_t *layer = &net->layer[l];
    const float      *x     = l == 0 ? net->x : net->layer[l - 1].y;
    float            *bg    = net->bg + layer->bias;

    memset(bg, 0, layer->units * sizeof(float));
    for (size_t row = 0; row < pass->rows; row++) {
        net->kernels->add(bg, layer->d + row * layer->units, layer->units);
    }
    tw_dense_gradient(x, layer->d, layer->g, pass->rows, layer->in, layer->units);
}

void tw_net_backward_input(tw_net_t *net, const tw_pass_t *pass, size_t l)
{
    const tw_layer_t *layer = &net->layer[l], *below = &net->layer[l - 1];
    const float       rate = pass->training ? net->model->layer[l - 1].dropout : 0.0f;

    tw_dense_backward(layer->d, layer->w, below->d, pass->rows, layer->in, layer->units);
#pragma omp parallel for num_threads(net->threads) if (net->threads > 1)
    for (size_t row = 0; row < pass->rows; row++) {
        net->kernels->logistic_back(below->d + row * below->units, below->y + row * below->units,
                                    below->units, 1.0f - rate);
    }
}

/* Columns first .. first + n - 1 of a layer: one thread's share. The sums of squares run down the
 * rows in order whatever the shares. */
static void update_columns(tw_net_t *net, tw_layer_t *layer, size_t first, size_t n,
                           const tw_rmsprop_t *how)
{
    const tw_kernels_t *k      = net->kernels;
    const float         most   = net->model->max_norm * net->model->max_norm;
    float              *square = net->column + first;
    int                 scale  = 0;

    memset(square, 0, n * sizeof(float));
    for (size_t i = 0; i < layer->in; i++) {
        const size_t at = i * layer->units + first;

        k->rmsprop(layer->w + at, layer->m + at, layer->g + at, n, how);
        if (most > 0.0f) {
            k->add_squares(square, layer->w + at, n);
        }
    }
    for (size_t j = 0; j < n; j++) {
        const int above = most > 0.0f && square[j] > most;

        square[j] = above ? sqrtf(most / square[j]) : 1.0f;
        scale |= above;
    }
    for (size_t i = 0; scale && i < layer->in; i++) {
        k->multiply(layer->w + i * layer->units + first, square, n);
    }
}

void tw_net_update(tw_net_t *net, size_t l, const tw_rmsprop_t *how)
{
    tw_layer_t  *layer = &net->layer[l];
    const size_t slice = (layer->units / (size_t)net->threads + 15) / 16 * 16 + 16;

#pragma omp parallel for num_threads(net->threads) if (net->threads > 1)
    for (size_t first = 0; first < layer->units; first += slice) {
        const size_t left = layer->units - first;

        update_columns(net, layer, first, left < slice ? left : slice, how);
    }
}

void tw_net_update_biases(tw_net_t *net, const tw_rmsprop_t *how)
{
    net->kernels->rmsprop(net->b, net->bm, net->bg, net->biases, how);
}
