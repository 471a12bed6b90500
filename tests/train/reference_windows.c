/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/reference_windows.c - convolution, dense and pooling of reference.h.
 */
#include "config.h"

#include <math.h>

#include "tests/train/reference.h"

/* Index in [n][c][h][w]. */
static size_t at(tw_shape_t s, size_t i, size_t c, size_t y, size_t x)
{
    return ((i * s.c + c) * s.h + y) * s.w + x;
}

/* Where cell k of a window lies in the image; 0 beyond the border. */
static int inside(size_t out, size_t stride, size_t k, size_t pad, size_t size, size_t *p)
{
    const size_t where = out * stride + k;

    *p = where - pad;
    return where >= pad && where - pad < size;
}

/* -------------------------------------------------------------------------- conv, dense */

/* What is done for each pair of an input and an output number and the weight between them: y is
 * added to, or dx and dw are. */
typedef struct conv_walk {
    const double *x, *w, *dy;
    double       *y, *dx, *dw;
} conv_walk_t;

static void conv_pair(const conv_walk_t *walk, size_t in, size_t out, size_t weight)
{
    if (walk->y != NULL) {
        walk->y[out] += walk->x[in] * walk->w[weight];
        return;
    }
    if (walk->dx != NULL) {
        walk->dx[in] += walk->dy[out] * walk->w[weight];
    }
    if (walk->dw != NULL) {
        walk->dw[weight] += walk->dy[out] * walk->x[in];
    }
}

static void conv_output(const tw_network_layer_t *l, const conv_walk_t *walk, size_t i, size_t o,
                        size_t oy, size_t ox)
{
    const size_t fan = l->in.c / l->groups, first = o / (l->out.c / l->groups) * fan;
    size_t       iy, ix;

    for (size_t c = 0; c < fan; c++) {
        for (size_t ky = 0; ky < l->kernel[0]; ky++) {
            for (size_t kx = 0; kx < l->kernel[1]; kx++) {
                if (inside(oy, l->stride[0], ky, l->pad[0], l->in.h, &iy) &&
                    inside(ox, l->stride[1], kx, l->pad[1], l->in.w, &ix)) {
                    conv_pair(walk, at(l->in, i, first + c, iy, ix), at(l->out, i, o, oy, ox),
                              ((o * fan + c) * l->kernel[0] + ky) * l->kernel[1] + kx);
                }
            }
        }
    }
}

static void conv_all(const tw_network_layer_t *l, size_t n, const conv_walk_t *walk)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t o = 0; o < l->out.c; o++) {
            for (size_t oy = 0; oy < l->out.h; oy++) {
                for (size_t ox = 0; ox < l->out.w; ox++) {
                    conv_output(l, walk, i, o, oy, ox);
                }
            }
        }
    }
}

/* y = b, and db += dy, per channel. */
static void set_bias(const tw_network_layer_t *l, size_t n, const double *b, double *y)
{
    const size_t cells = l->out.h * l->out.w;

    for (size_t k = 0; k < n * l->out.c * cells; k++) {
        y[k] = b != NULL ? b[k / cells % l->out.c] : 0.0;
    }
}

static void add_bias_back(const tw_network_layer_t *l, size_t n, const double *dy, double *db)
{
    const size_t cells = l->out.h * l->out.w;

    for (size_t k = 0; db != NULL && k < n * l->out.c * cells; k++) {
        db[k / cells % l->out.c] += dy[k];
    }
}

void ref_conv(const tw_network_layer_t *layer, size_t n, const double *x, const double *w,
              const double *b, double *y)
{
    const conv_walk_t walk = {.x = x, .w = w, .y = y};

    set_bias(layer, n, b, y);
    conv_all(layer, n, &walk);
}

void ref_conv_back(const tw_network_layer_t *layer, size_t n, const double *x, const double *w,
                   const double *dy, double *dx, double *dw, double *db)
{
    const conv_walk_t walk = {.x = x, .w = w, .dy = dy, .dx = dx, .dw = dw};

    add_bias_back(layer, n, dy, db);
    conv_all(layer, n, &walk);
}

/* Of pair k of an output and one of its group's inputs, the input. */
static size_t dense_input(const tw_network_layer_t *l, size_t fan, size_t k)
{
    const size_t units = l->out.c, unit = k / fan % units;

    return k / fan / units * tw_shape_size(l->in) + unit / (units / l->groups) * fan + k % fan;
}

/* And the place of its weight: [unit][fan], or where inputs are divided [input][unit]. */
static size_t dense_weight(const tw_network_layer_t *l, size_t fan, size_t k)
{
    const size_t unit = k / fan % l->out.c;

    return l->by_input ? k % fan * l->out.c + unit : unit * fan + k % fan;
}

void ref_dense(const tw_network_layer_t *layer, size_t n, const double *x, const double *w,
               const double *b, double *y)
{
    const size_t fan = tw_shape_size(layer->in) / layer->groups, units = layer->out.c;

    set_bias(layer, n, b, y);
    for (size_t k = 0; k < n * units * fan; k++) {
        y[k / fan] += x[dense_input(layer, fan, k)] * w[dense_weight(layer, fan, k)];
    }
}

void ref_dense_back(const tw_network_layer_t *layer, size_t n, const double *x, const double *w,
                    const double *dy, double *dx, double *dw, double *db)
{
    const size_t fan = tw_shape_size(layer->in) / layer->groups, units = layer->out.c;

    add_bias_back(layer, n, dy, db);
    for (size_t k = 0; k < n * units * fan; k++) {
        const size_t from = dense_input(layer, fan, k), weight = dense_weight(layer, fan, k);

        if (dx != NULL) {
            dx[from] += dy[k / fan] * w[weight];
        }
        if (dw != NULL) {
            dw[weight] += dy[k / fan] * x[from];
        }
    }
}

/* -------------------------------------------------------------------------- pool */

/* One window: its mean or maximum if dy is NULL, else the gradient to the cells. */
static double window(const tw_network_layer_t *l, const double *x, size_t i, size_t c, size_t oy,
                     size_t ox, const double *dy, double *dx)
{
    double sum = 0.0, most = -INFINITY, cells = 0.0;
    size_t iy, ix, best                       = 0;

    for (size_t k = 0; k < l->kernel[0] * l->kernel[1]; k++) {
        if (inside(oy, l->stride[0], k / l->kernel[1], l->pad[0], l->in.h, &iy) &&
            inside(ox, l->stride[1], k % l->kernel[1], l->pad[1], l->in.w, &ix)) {
            const size_t from = at(l->in, i, c, iy, ix);

            sum += x[from];
            cells += 1.0;
            if (x[from] > most) {
                most = x[from];
                best = from;
            }
        }
    }
    cells = l->count_pad ? (double)(l->kernel[0] * l->kernel[1]) : cells;
    for (size_t k = 0; dy != NULL && k < l->kernel[0] * l->kernel[1]; k++) {
        if (l->pooling == TW_POOL_AVERAGE &&
            inside(oy, l->stride[0], k / l->kernel[1], l->pad[0], l->in.h, &iy) &&
            inside(ox, l->stride[1], k % l->kernel[1], l->pad[1], l->in.w, &ix)) {
            dx[at(l->in, i, c, iy, ix)] += *dy / cells;
        }
    }
    if (dy != NULL && l->pooling == TW_POOL_MAX) {
        dx[best] += *dy;
    }
    return l->pooling == TW_POOL_MAX ? most : sum / cells;
}

static void windows(const tw_network_layer_t *l, size_t n, const double *x, double *y,
                    const double *dy, double *dx)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < tw_shape_size(l->out); k++) {
            const size_t to    = i * tw_shape_size(l->out) + k;
            const double value = window(l, x, i, k / (l->out.h * l->out.w), k / l->out.w % l->out.h,
                                        k % l->out.w, dy != NULL ? &dy[to] : NULL, dx);

            if (y != NULL) {
                y[to] = value;
            }
        }
    }
}

void ref_pool(const tw_network_layer_t *layer, size_t n, const double *x, double *y)
{
    windows(layer, n, x, y, NULL, NULL);
}

void ref_pool_back(const tw_network_layer_t *layer, size_t n, const double *x, const double *dy,
                   double *dx)
{
    windows(layer, n, x, NULL, dy, dx);
}
