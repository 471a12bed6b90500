/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/reference.c - see reference.h. Written after the formulas, for clarity alone.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "train/compute/kernels_inline.h"
#include "train/base/random.h"
#include "tests/train/reference.h"

/* Index in [n][c][h][w]. */
static size_t at(tw_shape_t s, size_t i, size_t c, size_t y, size_t x)
{
    return ((i * s.c + c) * s.h + y) * s.w + x;
}

/* -------------------------------------------------------------------------- lrn */

/* k + scale * sum of squares over the channels around c. */
static double lrn_base(const tw_network_layer_t *l, const double *x, size_t i, size_t c,
                       size_t cell)
{
    const size_t cells = l->in.h * l->in.w, half = l->lrn_size / 2;
    double       sum = 0.0;

    for (size_t o = c > half ? c - half : 0; o <= c + half && o < l->in.c; o++) {
        const double value = x[(i * l->in.c + o) * cells + cell];

        sum += value * value;
    }
    return (double)l->lrn_k + (double)l->lrn_scale * sum;
}

void ref_lrn(const tw_network_layer_t *layer, size_t n, const double *x, double *y)
{
    const size_t cells = layer->in.h * layer->in.w;

    for (size_t k = 0; k < n * tw_shape_size(layer->in); k++) {
        const double base =
            lrn_base(layer, x, k / cells / layer->in.c, k / cells % layer->in.c, k % cells);

        y[k] = x[k] * pow(base, -(double)layer->lrn_power);
    }
}

void ref_lrn_back(const tw_network_layer_t *layer, size_t n, const double *x, const double *dy,
                  double *dx)
{
    const size_t cells = layer->in.h * layer->in.w, half = layer->lrn_size / 2;
    const double power = layer->lrn_power, scale = layer->lrn_scale;

    for (size_t k = 0; k < n * tw_shape_size(layer->in); k++) {
        const size_t i = k / cells / layer->in.c, c = k / cells % layer->in.c;
        const double base = lrn_base(layer, x, i, c, k % cells);

        dx[k] += dy[k] * pow(base, -power);
        for (size_t o = c > half ? c - half : 0; o <= c + half && o < layer->in.c; o++) {
            const size_t other = (i * layer->in.c + o) * cells + k % cells;

            dx[other] -= dy[k] * x[k] * power * pow(base, -power - 1.0) * scale * 2.0 * x[other];
        }
    }
}

/* -------------------------------------------------------------------------- add, dropout */

/* Index in x2 of what is added to output number k; 0 for a channel that x2 does not have. */
static int shortcut(const tw_network_layer_t *l, tw_shape_t from, size_t k, size_t *index_p)
{
    const size_t cells = l->out.h * l->out.w, c = k / cells % l->out.c;

    *index_p = at(from, k / cells / l->out.c, c, k % cells / l->out.w * l->stride[0],
                  k % l->out.w * l->stride[1]);
    return c < from.c;
}

void ref_add(const tw_network_layer_t *layer, tw_shape_t from, size_t n, const double *x1,
             const double *x2, double *y)
{
    size_t index;

    for (size_t k = 0; k < n * tw_shape_size(layer->out); k++) {
        y[k] = x1[k] + (shortcut(layer, from, k, &index) ? x2[index] : 0.0);
    }
}

void ref_add_back(const tw_network_layer_t *layer, tw_shape_t from, size_t n, const double *dy,
                  double *dx1, double *dx2)
{
    size_t index;

    for (size_t k = 0; k < n * tw_shape_size(layer->out); k++) {
        if (dx1 != NULL) {
            dx1[k] += dy[k];
        }
        if (dx2 != NULL && shortcut(layer, from, k, &index)) {
            dx2[index] += dy[k];
        }
    }
}

void ref_concat(const tw_network_layer_t *layer, size_t first, size_t c, size_t n, const double *x,
                double *y)
{
    const size_t cells = layer->out.h * layer->out.w;

    for (size_t k = 0; k < n * c * cells; k++) {
        y[(k / cells / c * layer->out.c + first + k / cells % c) * cells + k % cells] = x[k];
    }
}

void ref_concat_back(const tw_network_layer_t *layer, size_t first, size_t c, size_t n,
                     const double *dy, double *dx)
{
    const size_t cells = layer->out.h * layer->out.w;

    for (size_t k = 0; k < n * c * cells; k++) {
        dx[k] += dy[(k / cells / c * layer->out.c + first + k / cells % c) * cells + k % cells];
    }
}

void ref_dropout(const tw_network_layer_t *layer, size_t n, const ref_pass_t *pass, double *x)
{
    const size_t size = tw_shape_size(layer->in);

    for (size_t i = 0; pass->training && layer->rate > 0.0f && i < n; i++) {
        const uint64_t  key  = tw_random_key(pass->seed, TW_RANDOM_DROPOUT, pass->step,
                                             pass->examples[i] * 64 + layer->drop);
        const tw_drop_t drop = tw_drop_make(key, layer->rate * (1.0f - pass->less));

        for (size_t k = 0; k < size; k++) {
            x[i * size + k] *= tw_keep(&drop, (uint32_t)k) ? (double)drop.scale : 0.0;
        }
    }
}

/* -------------------------------------------------------------------------- norm */

void ref_moments(const tw_network_layer_t *layer, size_t n, const double *x, double *moments)
{
    const size_t c = layer->in.c, cells = layer->in.h * layer->in.w, all = n * c * cells;

    memset(moments, 0, (1 + 2 * c) * sizeof(double));
    moments[0] = (double)(n * cells);
    for (size_t k = 0; k < all; k++) {
        moments[1 + k / cells % c] += x[k] / moments[0];
    }
    for (size_t k = 0; k < all; k++) {
        const double off = x[k] - moments[1 + k / cells % c];

        moments[1 + c + k / cells % c] += off * off;
    }
}

void ref_moments_merge(double *a, const double *b, size_t channels)
{
    const double count = a[0] + b[0];

    for (size_t c = 0; count > 0.0 && c < channels; c++) {
        const double delta = b[1 + c] - a[1 + c];

        a[1 + c] += delta * b[0] / count;
        a[1 + channels + c] += b[1 + channels + c] + delta * delta * a[0] * b[0] / count;
    }
    a[0] = count;
}

/* 1 / sqrt(variance + epsilon) of channel c. */
static double inverse_deviation(const tw_network_layer_t *l, const double *moments, size_t c)
{
    return 1.0 / sqrt(moments[1 + l->in.c + c] / moments[0] + (double)l->epsilon);
}

void ref_norm(const tw_network_layer_t *layer, size_t n, const double *x, const double *moments,
              const double *gamma, const double *beta, double *y)
{
    const size_t cells = layer->in.h * layer->in.w;

    for (size_t k = 0; k < n * tw_shape_size(layer->in); k++) {
        const size_t c = k / cells % layer->in.c;

        y[k] = gamma[c] * (x[k] - moments[1 + c]) * inverse_deviation(layer, moments, c) + beta[c];
    }
}

void ref_sums(const tw_network_layer_t *layer, size_t n, const double *x, const double *moments,
              const double *dy, double *sums)
{
    const size_t cells = layer->in.h * layer->in.w;

    memset(sums, 0, 2 * layer->in.c * sizeof(double));
    for (size_t k = 0; k < n * tw_shape_size(layer->in); k++) {
        const size_t c = k / cells % layer->in.c;

        sums[c] += dy[k];
        sums[layer->in.c + c] +=
            dy[k] * (x[k] - moments[1 + c]) * inverse_deviation(layer, moments, c);
    }
}

void ref_norm_back(const tw_network_layer_t *layer, size_t n, const double *x,
                   const double *moments, const double *sums, const double *gamma, const double *dy,
                   double *dx)
{
    const size_t cells = layer->in.h * layer->in.w;

    for (size_t k = 0; k < n * tw_shape_size(layer->in); k++) {
        const size_t c    = k / cells % layer->in.c;
        const double inv  = inverse_deviation(layer, moments, c);
        const double xhat = (x[k] - moments[1 + c]) * inv;

        dx[k] += gamma[c] * inv *
                 (dy[k] - sums[c] / moments[0] - xhat * sums[layer->in.c + c] / moments[0]);
    }
}

/* -------------------------------------------------------------------------- ends */

void ref_activate(tw_activation_t f, size_t count, double *y)
{
    for (size_t k = 0; k < count; k++) {
        if (f == TW_RELU) {
            y[k] = y[k] > 0.0 ? y[k] : 0.0;
        } else if (f == TW_LOGISTIC) {
            y[k] = 1.0 / (1.0 + exp(-y[k]));
        }
    }
}

void ref_activate_back(tw_activation_t f, size_t count, const double *y, double *dy)
{
    for (size_t k = 0; k < count; k++) {
        if (f == TW_RELU) {
            dy[k] = y[k] > 0.0 ? dy[k] : 0.0;
        } else if (f == TW_LOGISTIC) {
            dy[k] *= y[k] * (1.0 - y[k]);
        }
    }
}

/* ln(1 + e^z) without overflow. */
static double softplus(double z)
{
    return z > 0.0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

static double softmax_row(size_t classes, const double *z, uint32_t label, double scale, double *dz)
{
    double most = z[0], sum = 0.0;

    for (size_t c = 1; c < classes; c++) {
        most = z[c] > most ? z[c] : most;
    }
    for (size_t c = 0; c < classes; c++) {
        sum += exp(z[c] - most);
    }
    for (size_t c = 0; c < classes; c++) {
        dz[c] = scale * (exp(z[c] - most) / sum - (c == label));
    }
    return log(sum) + most - z[label];
}

double ref_loss(tw_loss_t loss, size_t classes, size_t n, const double *z, const uint32_t *labels,
                double scale, double *dz)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double *row = z + i * classes;

        if (loss == TW_LOSS_SOFTMAX) {
            sum += softmax_row(classes, row, labels[i], scale, dz + i * classes);
            continue;
        }
        for (size_t c = 0; c < classes; c++) {
            const int is = c == labels[i];

            sum += softplus(row[c]) - (is ? row[c] : 0.0);
            dz[i * classes + c] = scale * (1.0 / (1.0 + exp(-row[c])) - is);
        }
    }
    return sum;
}
