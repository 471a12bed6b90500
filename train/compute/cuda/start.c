/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/start.c - errors in words, kernels, tensors of cuDNN and scratch memory; see cuda.h.
 */
#include "config.h"

#include <string.h>

#include "train/compute/cuda/dense.h"

/* ---- errors ---- */

int tw_gpu_cuda(const tw_gpu_t *gpu, cudaError_t error, const char *what, tw_problem_t *problem)
{
    if (error == cudaSuccess) {
        return 0;
    }
    (void)cudaGetLastError(); /* it is told here, not again by the next call */
    return tw_problem_machine(problem, "GPU %d: %s: %s", gpu->device, what,
                              cudaGetErrorString(error));
}

int tw_gpu_dnn(const tw_gpu_t *gpu, cudnnStatus_t status, const char *what, tw_problem_t *problem)
{
    return status == CUDNN_STATUS_SUCCESS
               ? 0
               : tw_problem_machine(problem, "GPU %d: %s: %s", gpu->device, what,
                                    gpu->lib.dnn.cudnnGetErrorString(status));
}

int tw_gpu_blas(const tw_gpu_t *gpu, cublasStatus_t status, const char *what, tw_problem_t *problem)
{
    return status == CUBLAS_STATUS_SUCCESS
               ? 0
               : tw_problem_machine(problem, "GPU %d: %s: %s", gpu->device, what,
                                    gpu->lib.blas.status_name(status));
}

/* ---- kernels ---- */

int tw_gpu_start_blocks(tw_gpu_t *gpu, tw_task_fn kernel, const tw_task_t *task, size_t blocks,
                        tw_problem_t *problem)
{
    tw_task_t   copy   = *task;
    void       *args[] = {&copy};
    const dim3  grid = {(unsigned)blocks, 1, 1}, threads = {TW_TASK_THREADS, 1, 1};
    const void *function;

    memcpy(&function, &kernel, sizeof(function));
    return tw_gpu_cuda(gpu, cudaLaunchKernel(function, grid, threads, args, 0, gpu->stream),
                       "a kernel", problem);
}

int tw_gpu_start(tw_gpu_t *gpu, tw_task_fn kernel, const tw_task_t *task, size_t count,
                 tw_problem_t *problem)
{
    const size_t most   = 16 * (size_t)gpu->processors;
    const size_t blocks = (count + TW_TASK_THREADS - 1) / TW_TASK_THREADS;

    return count == 0
               ? 0
               : tw_gpu_start_blocks(gpu, kernel, task, blocks < most ? blocks : most, problem);
}

/* ---- tensors ---- */

int tw_gpu_tensor(tw_gpu_t *gpu, size_t n, tw_shape_t shape, cudnnTensorDescriptor_t *d_p,
                  tw_problem_t *problem)
{
    cudnnStatus_t s = gpu->lib.dnn.cudnnCreateTensorDescriptor(d_p);

    if (s != CUDNN_STATUS_SUCCESS) {
        *d_p = NULL;
    } else {
        s = gpu->lib.dnn.cudnnSetTensor4dDescriptor(*d_p, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT,
                                                    (int)n, (int)shape.c, (int)shape.h,
                                                    (int)shape.w);
    }
    return tw_gpu_dnn(gpu, s, "a tensor", problem);
}

void tw_gpu_tensor_destroy(tw_gpu_t *gpu, cudnnTensorDescriptor_t d)
{
    if (d != NULL) {
        (void)gpu->lib.dnn.cudnnDestroyTensorDescriptor(d);
    }
}

int tw_gpu_workspace(tw_gpu_t *gpu, size_t bytes, tw_problem_t *problem)
{
    void *p;

    if (bytes <= gpu->workspace_bytes) {
        return 0;
    }
    if (tw_backend_allocate(&gpu->base, bytes, &p, problem) != 0) {
        return -1;
    }
    tw_backend_release(&gpu->base, gpu->workspace);
    gpu->workspace       = p;
    gpu->workspace_bytes = bytes;
    return 0;
}

/* ---- of dense layers, which keep the first error ---- */

static tw_gpu_dense_t *of(tw_dense_t *dense)
{
    return (tw_gpu_dense_t *)dense;
}

void tw_gpu_dense_start(tw_dense_t *dense, tw_task_fn kernel, const tw_task_t *task, size_t count)
{
    if (!of(dense)->failure.set) {
        (void)tw_gpu_start(of(dense)->gpu, kernel, task, count, &of(dense)->failure);
    }
}

void tw_gpu_dense_start_blocks(tw_dense_t *dense, tw_task_fn kernel, const tw_task_t *task,
                               size_t blocks)
{
    if (!of(dense)->failure.set && blocks > 0) {
        (void)tw_gpu_start_blocks(of(dense)->gpu, kernel, task, blocks, &of(dense)->failure);
    }
}
