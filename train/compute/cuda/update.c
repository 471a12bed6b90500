/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/update.c - the optimizers of update.h on a GPU, by the kernels of update.cu.
 */
#include "config.h"

#include "train/compute/cuda/cuda.h"

int tw_gpu_sgd(tw_backend_t *backend, float *w, float *v, const float *g, size_t n,
               const tw_sgd_rule_t *rule, tw_problem_t *problem)
{
    const tw_task_t task = {.from = {g},
                            .to   = {w, v},
                            .n    = {n},
                            .real = {(double)rule->rate, (double)rule->momentum,
                                     (double)rule->decay, (double)rule->scale}};

    return tw_gpu_start((tw_gpu_t *)backend, tw_task_update_sgd(), &task, TW_FOURS(n), problem);
}

int tw_gpu_rmsprop(tw_backend_t *backend, float *w, float *m, const float *g, size_t n,
                   const tw_rms_rule_t *rule, tw_problem_t *problem)
{
    const tw_task_t task = {.from = {g},
                            .to   = {w, m},
                            .n    = {n},
                            .real = {(double)rule->rate, (double)rule->rms_decay,
                                     (double)rule->epsilon, (double)rule->decay,
                                     (double)rule->scale}};

    return tw_gpu_start((tw_gpu_t *)backend, tw_task_update_rmsprop(), &task, TW_FOURS(n), problem);
}

int tw_gpu_max_norm(tw_backend_t *backend, float *w, size_t units, size_t per_unit, float most,
                    tw_problem_t *problem)
{
    const tw_task_t task = {.to = {w}, .n = {units, per_unit}, .real = {(double)most}};

    return tw_gpu_start((tw_gpu_t *)backend, tw_task_update_max_norm(), &task,
                        units * TW_TASK_LANES, problem);
}
