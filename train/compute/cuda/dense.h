/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/dense.h - shared declarations of dense.c and loss.c.
 */
#ifndef TW_COMPUTE_CUDA_DENSE_H
#define TW_COMPUTE_CUDA_DENSE_H

#include "train/compute/cuda/cuda.h"

typedef struct tw_gpu_dense {
    tw_dense_t   base;
    tw_gpu_t    *gpu;
    tw_problem_t failure; /* the first, until check() has told it; nothing is started meanwhile */
} tw_gpu_dense_t;

/* Start a kernel on `count` parts of work, or on so many thread blocks. */
void tw_gpu_dense_start(tw_dense_t *dense, tw_task_fn kernel, const tw_task_t *task, size_t count);
void tw_gpu_dense_start_blocks(tw_dense_t *dense, tw_task_fn kernel, const tw_task_t *task,
                               size_t blocks);

/* Slots: see tw_dense_ops_t. */
void tw_gpu_keep_labels(tw_dense_t *dense, const tw_dense_loss_t *loss);
void tw_gpu_find_tops(tw_dense_t *dense, const tw_dense_loss_t *loss);
void tw_gpu_exponentials(tw_dense_t *dense, const tw_dense_loss_t *loss);
void tw_gpu_softmax(tw_dense_t *dense, const tw_dense_loss_t *loss, int backward);
void tw_gpu_logistic(tw_dense_t *dense, const tw_dense_loss_t *loss);
void tw_gpu_count(tw_dense_t *dense, const tw_dense_loss_t *loss, int five);
void tw_gpu_give(tw_dense_t *dense, float *to, tw_dense_sums_t *sums);

#endif /* TW_COMPUTE_CUDA_DENSE_H */
