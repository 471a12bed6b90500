/* SPDX-License-Identifier: BSD-3-Clause
 * compute/update.h - the optimizers: one pass over weights, their state and their gradient.
 *
 * One source, compiled once per instruction set, and one for GPUs (cuda/update.cu). As in kernels.h
 * every operation is correctly rounded, none is contracted, and sums have a fixed order: the same
 * bits at every instruction set and on a GPU, so ranks on unlike machines keep identical weights.
 */
#ifndef TW_COMPUTE_UPDATE_H
#define TW_COMPUTE_UPDATE_H

#include <stddef.h>

#include "train/compute/backend.h"

/* Gradient descent with momentum and weight decay (Krizhevsky 2014, its rule with the sign of
 * descent): v = momentum * v + rate * (scale * g + decay * w); w = w - v. */
typedef struct tw_sgd_rule {
    float rate, momentum, decay;
    float scale; /* of the gradient, 1: it is the mean already */
} tw_sgd_rule_t;

/* With d = scale * g + decay * w: m = rms_decay * m + (1 - rms_decay) * d^2;
 * w = w - rate * d / (sqrt(m) + epsilon). */
typedef struct tw_rms_rule {
    float rate, rms_decay, epsilon, decay;
    float scale;
} tw_rms_rule_t;

typedef struct tw_update {
    void (*sgd)(float *w, float *v, const float *g, size_t n, const tw_sgd_rule_t *rule);
    void (*rmsprop)(float *w, float *m, const float *g, size_t n, const tw_rms_rule_t *rule);

    /* Each of units rows of per_unit weights that is longer than most (Euclidean norm, > 0) is
     * shortened to it. */
    void (*max_norm)(float *w, size_t units, size_t per_unit, float most);
} tw_update_t;

/** The same in the backend's memory, in the order of its work. @return 0, or -1 with the problem
 * set. */
int tw_backend_sgd(tw_backend_t *backend, float *w, float *v, const float *g, size_t n,
                   const tw_sgd_rule_t *rule, tw_problem_t *problem);
int tw_backend_rmsprop(tw_backend_t *backend, float *w, float *m, const float *g, size_t n,
                       const tw_rms_rule_t *rule, tw_problem_t *problem);
int tw_backend_max_norm(tw_backend_t *backend, float *w, size_t units, size_t per_unit, float most,
                        tw_problem_t *problem);

extern const tw_update_t tw_update_scalar, tw_update_avx2, tw_update_avx512;

#endif /* TW_COMPUTE_UPDATE_H */
