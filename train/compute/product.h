/* SPDX-License-Identifier: BSD-3-Clause
 * compute/product.h - products of dense layers: weights w and their gradients g are [units][in],
 * outputs y and gradients d by them [units][n], inputs x and gradients e by them [n][in] (rows) or
 * [in][n]. Few examples go through thin.c, more through BLAS. Any size may be 0.
 */
#ifndef TW_COMPUTE_PRODUCT_H
#define TW_COMPUTE_PRODUCT_H

#include <stddef.h>

#include "train/compute/units.h"

typedef struct tw_product {
    const tw_thin_t *thin;
    int              threads;
} tw_product_t;

/* Sizes of one product; rows: inputs are [n][in], else [in][n]. */
typedef struct tw_product_size {
    size_t units, in, n;
    int    rows;
} tw_product_size_t;

/** Products with the instruction set of kernels on that many threads, at least 1. The number of
 * threads of BLAS is one for the process: the last one set. */
tw_product_t tw_product_make(const tw_compute_kernels_t *kernels, int threads);

/** Whether n examples must be rows: then all sizes must have rows set. */
int tw_product_rows(const tw_product_t *product, size_t n);

/** y = w x^T of all units. */
void tw_product_forward(const tw_product_t *product, const tw_product_size_t *size, float *y,
                        const float *w, const float *x);

/** e = d^T w of inputs from .. to - 1, zeros where there are no units. */
void tw_product_backward(const tw_product_t *product, const tw_product_size_t *size, float *e,
                         const float *w, const float *d, size_t from, size_t to);

/** g = d x, or with add g += d x. */
void tw_product_gradient(const tw_product_t *product, const tw_product_size_t *size, float *g,
                         const float *d, const float *x, int add);

/** to[columns][rows] = from[rows][columns]. */
void tw_transpose(float *to, const float *from, size_t rows, size_t columns, int threads);

#endif /* TW_COMPUTE_PRODUCT_H */
