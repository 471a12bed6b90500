/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/moments.cu - moments (thinwire/statistics.h) of no values become zeros.
 */
#include "runtime/codec/cuda/device.h"

TW_KERNEL(moments_empty, TW_CUDA_THREADS, 1)
{
    double      *moments = (double *)(void *)work.dst;
    const double count   = moments[0];

    __syncthreads(); /* before it is overwritten */
    for (size_t i = threadIdx.x; i < work.n && !(count > 0.0); i += TW_CUDA_THREADS) {
        moments[i] = 0.0;
    }
}

tw_cuda_launch_t tw_cuda_moments_empty_launch(void)
{
    return tw_cuda_launch(moments_empty, 1, TW_CUDA_THREADS);
}
