/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/device.h - what the kernels share. They are written in what C and CUDA have in common:
 * tests/gpu/emulate_tasks.c defines the words of CUDA for a C compiler, so that make check runs them,
 * thread by thread, where there is no device.
 */
#ifndef TW_COMPUTE_CUDA_DEVICE_H
#define TW_COMPUTE_CUDA_DEVICE_H

#include "train/compute/cuda/task.h"

#ifdef __CUDACC__
#define TW_DEVICE static __device__ __forceinline__
#define TW_DEVICE_MEMORY(p) (p) /* that is named by what lies in memory of the device */
#define TW_TASK(name)                                                                              \
    static __global__ void __launch_bounds__(TW_TASK_THREADS)                                      \
        name(const __grid_constant__ tw_task_t task);                                              \
    tw_task_fn tw_task_##name(void)                                                                \
    {                                                                                              \
        return name;                                                                               \
    }                                                                                              \
    static __global__ void __launch_bounds__(TW_TASK_THREADS)                                      \
        name(const __grid_constant__ tw_task_t task)
#endif

/* Thread numbers in the whole launch. */
TW_DEVICE size_t tw_thread(void)
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

TW_DEVICE size_t tw_threads(void)
{
    return (size_t)gridDim.x * blockDim.x;
}

#endif /* TW_COMPUTE_CUDA_DEVICE_H */
