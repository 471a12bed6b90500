/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/dense_net.h - small networks of dense layers without a file, and what they compute
 * in double.
 */
#ifndef TW_TESTS_DENSE_NET_H
#define TW_TESTS_DENSE_NET_H

#include "train/model/head.h"

/* The layers of a network as text, one letter and a number each: "d0.5" dropout of half; dense
 * layers of as many units: "l10" linear, "r10" ReLU, "s10" logistic (sigmoid); "R10" and so on:
 * without biases; "r10/2": in two groups; "r10+": split by input. */
void dense_net_make(tw_network_t *net, tw_shape_t input, tw_loss_t loss, const char *layers);
void dense_net_destroy(tw_network_t *net);

/* Values of any kind: +-range, by key. */
void dense_net_fill(float *x, size_t n, uint64_t key, float range);

/* The same in new memory, of range 1. */
float *dense_net_drawn(size_t n, uint64_t key);

/* Labels below classes and examples' global numbers, by key. */
void dense_net_examples(size_t n, size_t classes, uint64_t key, uint32_t *labels,
                        uint64_t *examples);

/* The loss, and how many examples some other class wins, or five others do; gradients, laid out as
 * params->gradient, of scale * loss. value [total] are the parameters, x [n][features]; gradient,
 * gx may be NULL. */
double dense_net_reference(const tw_network_t *net, const tw_params_t *params,
                           const tw_head_pass_t *pass, const double *value, const double *x,
                           double *gradient, double *gx, tw_head_wrong_t *wrong_p);

#endif /* TW_TESTS_DENSE_NET_H */
