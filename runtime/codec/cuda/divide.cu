/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/divide.cu - sums become averages, value by value, at any alignment.
 */
#include "runtime/codec/cuda/device.h"

#define DIVIDE_EACH 4 /* values that a thread takes, before there are too many thread blocks */

TW_KERNEL(divide_floats, TW_CUDA_THREADS, 4)
{
    const float by = (float)work.divisor;

    for (size_t i = tw_thread(); i < work.n; i += tw_threads()) {
        uint8_t *at = work.dst + 4 * i;

        tw_store32(at, tw_cuda_bits(tw_cuda_float(tw_load32(at)) / by));
    }
}

TW_KERNEL(divide_doubles, TW_CUDA_THREADS, 4)
{
    const double by = (double)work.divisor;

    for (size_t i = tw_thread(); i < work.n; i += tw_threads()) {
        uint8_t *at = work.dst + 8 * i;

        tw_store_bytes(at, tw_cuda_bits64(tw_cuda_double(tw_load_bytes(at, 8)) / by), 8);
    }
}

tw_cuda_launch_t tw_cuda_divide_launch(tw_cuda_work_t *work, size_t element)
{
    return tw_cuda_launch(
        element == 8 ? divide_doubles : divide_floats,
        tw_cuda_blocks(work->n, (size_t)TW_CUDA_THREADS * DIVIDE_EACH, (size_t)1 << 30),
        TW_CUDA_THREADS);
}
