/* SPDX-License-Identifier: BSD-3-Clause
 * compute/units.h - loops over the outputs of dense layers, which lie [unit][example], and products
 * of weights with the few examples of a small batch.
 *
 * One source each, compiled once per instruction set. The loops over single values (units.c) give
 * the same bits by any instruction set, as those of kernels.h; the products (thin.c) do not, no
 * more than a BLAS does.
 */
#ifndef TW_COMPUTE_UNITS_H
#define TW_COMPUTE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "train/compute/kernels.h"
#include "train/model/network.h"

/* Answers of which one may be right: top-5. */
#define TW_TOPS ((size_t)5)

/* Dropout of n examples: unit i of example j is kept as tw_drop_t of that example's key says. */
typedef struct tw_masks {
    int32_t   threshold;
    float     scale;
    uint32_t *low, *high; /* [n] halves of the keys */
} tw_masks_t;

/* In all of them n is the number of examples; units and n may be 0. */
typedef struct tw_unit_loops {
    /* y[units][n] = activation(y + bias[unit]) (bias NULL: none), dropped out as units first .. */
    void (*forward)(float *y, const float *bias, size_t units, size_t n, tw_activation_t activation,
                    const tw_masks_t *masks, size_t first);
    /* y dropped out. */
    void (*mask)(float *y, size_t units, size_t n, const tw_masks_t *masks, size_t first);
    /* From the gradient by y = scale * activation(z), or 0 where dropped, to that by z. Linear:
     * unchanged, mask() does it. */
    void (*backward)(float *d, const float *y, size_t units, size_t n, tw_activation_t activation,
                     float scale);
    /* sum[unit] = or += the sum over the examples, by 16 lanes in a fixed order. */
    void (*sums)(float *sum, const float *d, size_t units, size_t n, int add);
    /* y[i] = x[i], dropped out: one example; y may be x. */
    void (*drop)(float *y, const float *x, size_t units, const tw_drop_t *drop);

    /* Losses, z[units][n]. top[j] = the largest z of example j; -infinity for no units. */
    void (*top)(float *top, const float *z, size_t units, size_t n);
    /* top[TW_TOPS][n]: the TW_TOPS largest, the largest first; -infinity beyond the units. No NaN
     * is among them, as in top(). */
    void (*tops)(float *top, const float *z, size_t units, size_t n);
    /* z = e^(z - top[j]), sum[j] = their sum. */
    void (*exponentials)(float *z, const float *top, float *sum, size_t units, size_t n);
    /* z *= factor[j]. */
    void (*scale)(float *z, const float *factor, size_t units, size_t n);
    /* loss[j] += the sum over the units of log(1 + e^z); z = scale * logistic(z). */
    void (*logistic_loss)(float *z, double *loss, size_t units, size_t n, float scale);
} tw_unit_loops_t;

/* Products that read or write each weight once, for few examples: weights w and gradients g are
 * [units][in], x and e rows of examples [n][in], y and d [units][n]. */
typedef struct tw_thin {
    size_t most; /* examples up to which they are faster than a BLAS of the same instruction set */
    /* y = w x^T */
    void (*forward)(float *y, const float *w, const float *x, size_t units, size_t in, size_t n);
    /* e = d^T w, of inputs from .. to - 1 only. */
    void (*backward)(float *e, const float *w, const float *d, size_t units, size_t in, size_t n,
                     size_t from, size_t to);
    /* g = d x, or += */
    void (*gradient)(float *g, const float *d, const float *x, size_t units, size_t in, size_t n,
                     int add);
} tw_thin_t;

extern const tw_unit_loops_t tw_unit_loops_scalar, tw_unit_loops_avx2, tw_unit_loops_avx512;
extern const tw_thin_t       tw_thin_scalar, tw_thin_avx2, tw_thin_avx512;

#endif /* TW_COMPUTE_UNITS_H */
