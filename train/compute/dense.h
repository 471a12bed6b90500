/* SPDX-License-Identifier: BSD-3-Clause
 * compute/dense.h - products of dense layers on BLAS. Matrices are row-major and contiguous;
 * weights are [in][out], one row per example elsewhere. rows may be 0.
 */
#ifndef TW_COMPUTE_DENSE_H
#define TW_COMPUTE_DENSE_H

#include <stddef.h>

/** Threads of the BLAS. */
void tw_dense_threads(int threads);

/** y[rows][out] = x[rows][in] w[in][out]. */
void tw_dense_forward(const float *x, const float *w, float *y, size_t rows, size_t in, size_t out);

/** g[in][out] = x^T[in][rows] d[rows][out]; zeros for no rows. */
void tw_dense_gradient(const float *x, const float *d, float *g, size_t rows, size_t in,
                       size_t out);

/** e[rows][in] = d[rows][out] w^T[out][in]. */
void tw_dense_backward(const float *d, const float *w, float *e, size_t rows, size_t in,
                       size_t out);

/** Softmax and cross-entropy of one row: z[n] + bias[n] becomes scale * (p - 1[label]), the
 * gradient.
 * @param [out] wrong_p  1 if the largest value is not the label's.
 * @return the loss -log p[label], in natural units. */
float tw_softmax_loss(float *z, const float *bias, size_t n, size_t label, float scale,
                      int *wrong_p);

#endif /* TW_COMPUTE_DENSE_H */
