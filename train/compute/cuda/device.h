/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/device.h - common code of the kernels. They use the common subset of C and CUDA:
 * tests/gpu/emulate_tasks.c defines CUDA's keywords for a C compiler, so that make check runs them,
 * thread by thread, without a device.
 */
#ifndef TW_COMPUTE_CUDA_DEVICE_H
#define TW_COMPUTE_CUDA_DEVICE_H

#include "train/compute/cuda/task.h"

#ifdef __CUDACC__
#define TW_DEVICE           static __device__ __forceinline__
#define TW_UNROLL           _Pragma("unroll")
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

/* ---- numbers, four at a time ---- */

/* Four numbers at a multiple of 16 bytes, or one, in v[0]. */
typedef struct tw_four {
    float v[4];
} __attribute__((aligned(16))) tw_four_t;

/* How n numbers are shared out: groups of four, as far as they go, and what is left one by one. */
typedef struct tw_groups {
    size_t fours, all; /* groups of four; groups */
} tw_groups_t;

/* addresses: those of all buffers, joined by |. within: fours do not cross multiples of it; 0: of
 * nothing. */
TW_DEVICE tw_groups_t tw_groups(size_t n, uintptr_t addresses, size_t within)
{
    tw_groups_t groups;

    groups.fours = addresses % 16 == 0 && within % 4 == 0 ? n / 4 : 0;
    groups.all   = groups.fours + (n - 4 * groups.fours);
    return groups;
}

/* The first number of group g. */
TW_DEVICE size_t tw_group_at(tw_groups_t groups, size_t g)
{
    return g < groups.fours ? 4 * g : 3 * groups.fours + g;
}

TW_DEVICE tw_four_t tw_get(const float *p, tw_groups_t groups, size_t g)
{
    tw_four_t four;

    if (g < groups.fours) {
        return *(const tw_four_t *)(const void *)(p + 4 * g);
    }
    four.v[0] = p[tw_group_at(groups, g)];
    four.v[1] = four.v[2] = four.v[3] = 0.0f;
    return four;
}

TW_DEVICE void tw_put(float *p, tw_groups_t groups, size_t g, tw_four_t four)
{
    if (g < groups.fours) {
        *(tw_four_t *)(void *)(p + 4 * g) = four;
    } else {
        p[tw_group_at(groups, g)] = four.v[0];
    }
}

/* For each group of this thread's, for each of its four numbers. */
#define TW_EACH_GROUP(g, groups) for (size_t g = tw_thread(); g < (groups).all; g += tw_threads())
#define TW_EACH_OF_FOUR(j)       TW_UNROLL for (int j = 0; j < 4; j++)

/* All in one word, for tw_groups(). */
#define TW_ADDRESS(p) ((uintptr_t)(p))

#endif /* TW_COMPUTE_CUDA_DEVICE_H */
