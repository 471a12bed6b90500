/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/divide.cu - sums become averages: 16 bytes at a time, and value by value what is left
 * behind the last of these, or everything where the vector does not lie at a multiple of 16.
 */
#include "runtime/codec/cuda/device.h"

#define DIVIDE_EACH                                                                                \
    4 /* groups, or values, that a thread takes, before there are too many thread blocks */

TW_DEVICE uint32_t divide_float(uint32_t u, float by)
{
    return tw_cuda_bits(tw_cuda_float(u) / by);
}

TW_DEVICE uint64_t divide_double(uint64_t u, double by)
{
    return tw_cuda_bits64(tw_cuda_double(u) / by);
}

TW_KERNEL(divide_floats, TW_CUDA_THREADS, 4)
{
    const float by = (float)work.divisor;
    uint32_t    v[TW_CUDA_GROUP];

    for (size_t g = tw_thread(); g < work.units; g += tw_threads()) {
        tw_load_group(v, work.dst + 16 * g);
        TW_UNROLL
        for (int i = 0; i < TW_CUDA_GROUP; i++) {
            v[i] = divide_float(v[i], by);
        }
        tw_store_group(work.dst + 16 * g, v);
    }
    for (size_t i = TW_CUDA_GROUP * work.units + tw_thread(); i < work.n; i += tw_threads()) {
        tw_store32(work.dst + 4 * i, divide_float(tw_load32(work.dst + 4 * i), by));
    }
}

TW_KERNEL(divide_doubles, TW_CUDA_THREADS, 4)
{
    const double by = (double)work.divisor;
    uint32_t     v[TW_CUDA_GROUP];

    for (size_t g = tw_thread(); g < work.units; g += tw_threads()) {
        tw_load_group(v, work.dst + 16 * g);
        TW_UNROLL
        for (int i = 0; i < TW_CUDA_GROUP; i += 2) {
            const uint64_t u = divide_double((uint64_t)v[i + 1] << 32 | v[i], by);

            v[i]     = (uint32_t)u;
            v[i + 1] = (uint32_t)(u >> 32);
        }
        tw_store_group(work.dst + 16 * g, v);
    }
    for (size_t i = TW_CUDA_GROUP / 2 * work.units + tw_thread(); i < work.n; i += tw_threads()) {
        tw_store_bytes(work.dst + 8 * i, divide_double(tw_load_bytes(work.dst + 8 * i, 8), by), 8);
    }
}

tw_cuda_launch_t tw_cuda_divide_launch(tw_cuda_work_t *work, size_t element)
{
    work->units = tw_cuda_aligned(work->dst, 16) ? work->n / (16 / element) : 0;
    return tw_cuda_launch(element == 8 ? divide_doubles : divide_floats,
                          tw_cuda_blocks(work->units > 0 ? work->units : work->n,
                                         (size_t)TW_CUDA_THREADS * DIVIDE_EACH, (size_t)1 << 30),
                          TW_CUDA_THREADS);
}
