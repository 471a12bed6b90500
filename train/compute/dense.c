/* SPDX-License-Identifier: BSD-3-Clause
 * compute/dense.c - the functions of dense.h and update.h, dispatched by the backend's table.
 */
#include "config.h"

#include "train/compute/backend_ops.h"

int tw_backend_dense(tw_backend_t *backend, size_t rows_max, tw_dense_t **dense_p,
                     tw_problem_t *problem)
{
    return backend->ops->dense(backend, rows_max, dense_p, problem);
}

void tw_dense_destroy(tw_dense_t *dense)
{
    if (dense != NULL) {
        dense->ops->destroy(dense);
    }
}

int tw_backend_sgd(tw_backend_t *backend, float *w, float *v, const float *g, size_t n,
                   const tw_sgd_rule_t *rule, tw_problem_t *problem)
{
    return n == 0 ? 0 : backend->ops->sgd(backend, w, v, g, n, rule, problem);
}

int tw_backend_rmsprop(tw_backend_t *backend, float *w, float *m, const float *g, size_t n,
                       const tw_rms_rule_t *rule, tw_problem_t *problem)
{
    return n == 0 ? 0 : backend->ops->rmsprop(backend, w, m, g, n, rule, problem);
}

int tw_backend_max_norm(tw_backend_t *backend, float *w, size_t units, size_t per_unit, float most,
                        tw_problem_t *problem)
{
    return units == 0 ? 0 : backend->ops->max_norm(backend, w, units, per_unit, most, problem);
}
