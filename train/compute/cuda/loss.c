/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/loss.c - the losses of dense.h on a GPU, by the kernels of loss.cu.
 */
#include "config.h"

#include "train/compute/cuda/dense.h"

/* What all kernels are told. */
static tw_task_t task_of(const tw_dense_loss_t *loss)
{
    return (tw_task_t){
        .from = {loss->labels},
        .n    = {loss->n, loss->units, loss->first, loss->tops, loss->holders, loss->shared},
        .real = {(double)loss->scale}};
}

/* A thread block takes a few examples at a time. */
static size_t blocks_of(const tw_dense_loss_t *loss)
{
    const size_t blocks = (loss->n + TW_TASK_EXAMPLES - 1) / TW_TASK_EXAMPLES;

    return blocks < 4096 ? blocks : 4096;
}

void tw_gpu_keep_labels(tw_dense_t *dense, const tw_dense_loss_t *loss)
{
    tw_task_t task = task_of(loss);

    task.from[1] = loss->z;
    task.to[0]   = loss->label;
    tw_gpu_dense_start(dense, tw_task_loss_labels(), &task, loss->n);
}

void tw_gpu_find_tops(tw_dense_t *dense, const tw_dense_loss_t *loss)
{
    tw_task_t task = task_of(loss);

    task.from[1] = loss->z;
    task.to[0]   = loss->mine;
    tw_gpu_dense_start_blocks(dense, tw_task_loss_tops(), &task, blocks_of(loss));
}

void tw_gpu_exponentials(tw_dense_t *dense, const tw_dense_loss_t *loss)
{
    tw_task_t task = task_of(loss);

    task.from[1] = loss->mine;
    task.to[0]   = loss->z;
    task.to[1]   = loss->mine + loss->tops * loss->n;
    tw_gpu_dense_start_blocks(dense, tw_task_loss_exponentials(), &task, blocks_of(loss));
}

void tw_gpu_softmax(tw_dense_t *dense, const tw_dense_loss_t *loss, int backward)
{
    float    *factors = loss->mine + loss->tops * loss->n;
    tw_task_t task    = task_of(loss);

    task.from[1] = loss->all;
    task.from[2] = loss->label;
    task.from[3] = loss->mine;
    task.to[0]   = factors;
    task.to[1]   = loss->sums;
    tw_gpu_dense_start_blocks(dense, tw_task_loss_softmax(), &task, 1);
    if (backward) {
        task         = task_of(loss);
        task.from[1] = factors;
        task.to[0]   = loss->z;
        tw_gpu_dense_start(dense, tw_task_loss_gradients(), &task, loss->n * loss->units);
    }
}

void tw_gpu_logistic(tw_dense_t *dense, const tw_dense_loss_t *loss)
{
    tw_task_t task = task_of(loss);

    task.from[1] = loss->label;
    task.to[0]   = loss->z;
    task.to[1]   = loss->loss;
    tw_gpu_dense_start_blocks(dense, tw_task_loss_logistic(), &task, blocks_of(loss));
    task.from[1] = loss->loss;
    task.to[0]   = loss->sums;
    task.to[1]   = NULL;
    tw_gpu_dense_start_blocks(dense, tw_task_loss_total(), &task, 1);
}

void tw_gpu_count(tw_dense_t *dense, const tw_dense_loss_t *loss, int five)
{
    tw_task_t task = task_of(loss);

    task.from[1] = loss->all;
    task.from[2] = loss->label;
    task.to[0]   = loss->sums;
    task.flag[0] = five;
    tw_gpu_dense_start_blocks(dense, tw_task_loss_count(), &task, 1);
}

void tw_gpu_give(tw_dense_t *dense, float *to, tw_dense_sums_t *sums)
{
    const tw_task_t task = {.to = {to, sums}};

    tw_gpu_dense_start_blocks(dense, tw_task_loss_give(), &task, 1);
}
