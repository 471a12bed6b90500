/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/reference.h - what each layer computes, in plain loops and double: the oracle.
 *
 * Tensors are [n][c][h][w]; shapes and settings come from the layer's description. Forward
 * functions leave the activation out (ref_activate() does it); backward functions take the gradient
 * by what they computed and ADD to dx, dw, db, of which each may be NULL.
 */
#ifndef TW_TESTS_REFERENCE_H
#define TW_TESTS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "train/model/network.h"

/* Which masks dropout draws: as tw_op_pass_t. */
typedef struct ref_pass {
    int             training;
    uint64_t        seed, step;
    const uint64_t *examples; /* [n] */
    float           less;
} ref_pass_t;

void ref_conv(const tw_network_layer_t *layer, size_t n, const double *x, const double *w,
              const double *b, double *y);
void ref_conv_back(const tw_network_layer_t *layer, size_t n, const double *x, const double *w,
                   const double *dy, double *dx, double *dw, double *db);

void ref_dense(const tw_network_layer_t *layer, size_t n, const double *x, const double *w,
               const double *b, double *y);
void ref_dense_back(const tw_network_layer_t *layer, size_t n, const double *x, const double *w,
                    const double *dy, double *dx, double *dw, double *db);

/* The gradient of a maximum goes to the first of the largest. */
void ref_pool(const tw_network_layer_t *layer, size_t n, const double *x, double *y);
void ref_pool_back(const tw_network_layer_t *layer, size_t n, const double *x, const double *dy,
                   double *dx);

void ref_lrn(const tw_network_layer_t *layer, size_t n, const double *x, double *y);
void ref_lrn_back(const tw_network_layer_t *layer, size_t n, const double *x, const double *dy,
                  double *dx);

/* x2 is of shape `from`: every stride-th row and column, channels beyond its own are 0. */
void ref_add(const tw_network_layer_t *layer, tw_shape_t from, size_t n, const double *x1,
             const double *x2, double *y);
void ref_add_back(const tw_network_layer_t *layer, tw_shape_t from, size_t n, const double *dy,
                  double *dx1, double *dx2);

/* Input x has c channels, which are those of the output from `first` on. */
void ref_concat(const tw_network_layer_t *layer, size_t first, size_t c, size_t n, const double *x,
                double *y);
void ref_concat_back(const tw_network_layer_t *layer, size_t first, size_t c, size_t n,
                     const double *dy, double *dx);

/* The same for a forward value and for a gradient: times 0 or 1 / (1 - rate). */
void ref_dropout(const tw_network_layer_t *layer, size_t n, const ref_pass_t *pass, double *x);

/* moments [1 + 2c]: count, means, sums of squared deviations; sums [2c]: of dy and dy * xhat.
 * ref_norm_back() takes both over the whole batch and the local dy. */
void ref_moments(const tw_network_layer_t *layer, size_t n, const double *x, double *moments);
void ref_norm(const tw_network_layer_t *layer, size_t n, const double *x, const double *moments,
              const double *gamma, const double *beta, double *y);
void ref_sums(const tw_network_layer_t *layer, size_t n, const double *x, const double *moments,
              const double *dy, double *sums);
void ref_norm_back(const tw_network_layer_t *layer, size_t n, const double *x,
                   const double *moments, const double *sums, const double *gamma, const double *dy,
                   double *dx);

/* a += b for moments of disjoint examples, by the formula for two sets (Chan et al. 1983). */
void ref_moments_merge(double *a, const double *b, size_t channels);

/* In place: y = f(y), and from the gradient by y to that by what f was applied to. */
void ref_activate(tw_activation_t f, size_t count, double *y);
void ref_activate_back(tw_activation_t f, size_t count, const double *y, double *dy);

/* Loss of n examples, summed, from the last layer's sums z [n][classes]; dz = scale * gradient. */
double ref_loss(tw_loss_t loss, size_t classes, size_t n, const double *z, const uint32_t *labels,
                double scale, double *dz);

#endif /* TW_TESTS_REFERENCE_H */
