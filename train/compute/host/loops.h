/* SPDX-License-Identifier: BSD-3-Clause
 * host/loops.h - the loops of the host backend that oneDNN does not do, or not without a further
 * pass over memory. One source, compiled once per instruction set.
 *
 * Flat loops take n values whatever their layout; out may be one of the inputs. Loops over rows
 * take one run (host.h) of rows * width values: lane k of each row is channel first + k; width 1:
 * the rows of one channel. Coefficients are arrays of width numbers each, one after another.
 */
#ifndef TW_HOST_LOOPS_H
#define TW_HOST_LOOPS_H

#include <stddef.h>

#include "train/compute/kernels.h"
#include "train/model/network.h"

typedef struct tw_host_loops {
    /* y[i] = activation(x[i]); NaN stays NaN. */
    void (*activate)(float *y, const float *x, size_t n, tw_activation_t how);

    /* y[i] = activation(a[i] + b[i]): linear or relu. */
    void (*add)(float *y, const float *a, const float *b, size_t n, tw_activation_t how);

    /* out[i] = (g[i] + more[i]) * derivative of the activation where it gave y[i]; more may be
     * NULL. */
    void (*settle)(float *out, const float *g, const float *more, const float *y, size_t n,
                   tw_activation_t how);

    /* Means and sums of squared differences from them, of each lane over the rows: [width] each. */
    void (*moments)(const float *x, size_t rows, size_t width, double *mean, double *m2);

    /* y = (x - mean) * scale + beta, rectified if relu; norm: [mean][scale][beta]. */
    void (*normalise)(float *y, const float *x, size_t rows, size_t width, const float *norm,
                      int relu);

    /* sum = sum of dy, product = sum of dy * (x - mean): [width] each; relu: only where normalise()
     * gave more than 0. */
    void (*norm_sums)(const float *dy, const float *x, size_t rows, size_t width, const float *norm,
                      int relu, double *sum, double *product);

    /* dx = (dy - shift - (x - mean) * slope) * factor with the same dy; back: [shift][slope]
     * [factor]. dx may be dy. */
    void (*norm_back)(float *dx, const float *dy, const float *x, size_t rows, size_t width,
                      const float *norm, const float *back, int relu);

    /* y = x where the unit (channel first + k, row) is kept, times scale; stride: rows of a
     * channel. */
    void (*drop)(float *y, const float *x, size_t rows, size_t width, size_t first,
                 const tw_drop_t *drop);
} tw_host_loops_t;

extern const tw_host_loops_t tw_host_loops_scalar, tw_host_loops_avx2, tw_host_loops_avx512;

#endif /* TW_HOST_LOOPS_H */
