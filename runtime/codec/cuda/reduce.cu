/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/reduce.cu - the largest magnitude of each block, and the l2 norm in an order that is
 * the same on every device (cuda.h says which).
 */
#include "runtime/codec/cuda/device.h"

#define REDUCE_UNIT                                                                                \
    (TW_CUDA_TILE * TW_CUDA_THREADS) /* values of which a thread block finds the maximum */
#define REDUCE_GROUPS (TW_CUDA_TILE / TW_CUDA_GROUP)

/* The bits of group g of value i on, beyond m zeros. */
TW_DEVICE void group_load(uint32_t *v, const uint8_t *src, size_t i, size_t m, int vector)
{
    if (vector && i + TW_CUDA_GROUP <= m) {
        tw_load_group(v, src + 4 * i);
        return;
    }
    TW_UNROLL
    for (size_t j = 0; j < TW_CUDA_GROUP; j++) {
        v[j] = i + j < m ? tw_load32(src + 4 * (i + j)) : 0;
    }
}

TW_KERNEL(absmax, TW_CUDA_THREADS, 5)
{
    for (size_t unit = blockIdx.x; unit < work.units; unit += gridDim.x) {
        const size_t b = work.units_per_block > 1 ? unit / work.units_per_block : unit;
        const size_t i0 =
            (unit - b * work.units_per_block) * REDUCE_UNIT + TW_CUDA_GROUP * threadIdx.x;
        const size_t first = b * work.block;
        const size_t m     = work.n - first < work.block ? work.n - first : work.block;
        uint32_t     v[TW_CUDA_TILE], most = 0;

        TW_UNROLL
        for (int g = 0; g < REDUCE_GROUPS; g++) {
            group_load(v + TW_CUDA_GROUP * g, work.src + 4 * first,
                       i0 + (size_t)g * TW_CUDA_GROUP * TW_CUDA_THREADS, m, work.vector);
        }
        TW_UNROLL
        for (int i = 0; i < TW_CUDA_TILE; i++) {
            most = (v[i] & 0x7fffffffu) > most ? v[i] & 0x7fffffffu : most;
        }
        most = __reduce_max_sync(TW_CUDA_ALL, most);
        if (tw_lane() == 0) {
            atomicMax((unsigned *)(work.dst + 4 * b), most);
        }
    }
}

tw_cuda_launch_t tw_cuda_absmax_launch(tw_cuda_work_t *work, int processors)
{
    const size_t rest = work->n % work->block;

    (void)processors;
    /* Blocks that do not begin at a multiple of a vector are loaded value by value. */
    work->vector = tw_cuda_aligned(work->src, 16) &&
                   (work->block % TW_CUDA_GROUP == 0 || work->block >= work->n);
    work->units_per_block = (work->block + REDUCE_UNIT - 1) / REDUCE_UNIT;
    work->units =
        work->n / work->block * work->units_per_block + (rest + REDUCE_UNIT - 1) / REDUCE_UNIT;
    return tw_cuda_launch(absmax, tw_cuda_blocks(work->units, 1, (size_t)1 << 30), TW_CUDA_THREADS);
}

/* ---- norm -------------------------------------------------------------------------------------
 */

/* The tree over TW_CUDA_THREADS sums; all threads call, thread 0 gets the result. */
TW_DEVICE double threads_sum(double sum, double *lane)
{
    lane[threadIdx.x] = sum;
    for (unsigned half = TW_CUDA_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sum += lane[threadIdx.x + half];
            lane[threadIdx.x] = sum;
        }
    }
    return sum;
}

TW_KERNEL(norm_lanes, TW_CUDA_THREADS, 5)
{
    __shared__ double lane[TW_CUDA_THREADS];
    double            sum[TW_CUDA_GROUP] = {0.0, 0.0, 0.0, 0.0};
    const size_t      step               = TW_CUDA_GROUP * tw_threads();

    for (size_t i = TW_CUDA_GROUP * tw_thread(); i < work.n; i += TW_CUDA_GROUP * step) {
        uint32_t v[TW_CUDA_GROUP][TW_CUDA_GROUP];

        TW_UNROLL
        for (size_t d = 0; d < TW_CUDA_GROUP; d++) {
            group_load(v[d], work.src, i + d * step, work.n, work.vector);
        }
        TW_UNROLL
        for (int d = 0; d < TW_CUDA_GROUP; d++) {
            TW_UNROLL
            for (int j = 0; j < TW_CUDA_GROUP; j++) {
                const double x = (double)tw_cuda_float(v[d][j]);

                sum[j] += x * x;
            }
        }
    }
    sum[0] = threads_sum((sum[0] + sum[2]) + (sum[1] + sum[3]), lane);
    if (threadIdx.x == 0) {
        ((double *)(void *)work.residual)[blockIdx.x] = sum[0];
    }
}

/* Of the sums that norm_lanes leaves, of so many thread blocks; others would find nothing. For
 * thread 0. */
TW_DEVICE double blocks_sum(const uint8_t *sums, size_t blocks, double *lane)
{
    const double *part = (const double *)(const void *)sums;
    double        four[4];

    TW_UNROLL
    for (unsigned q = 0; q < 4; q++) {
        const unsigned t = threadIdx.x + q * TW_CUDA_THREADS;

        four[q] = t < blocks ? part[t] : 0.0;
    }
    return threads_sum((four[0] + four[2]) + (four[1] + four[3]), lane);
}

TW_KERNEL(norm_total, TW_CUDA_THREADS, 1)
{
    __shared__ double lane[TW_CUDA_THREADS];
    const double      sum = blocks_sum(work.residual, work.units, lane);

    if (threadIdx.x == 0) {
        *(double *)(void *)work.dst = sqrt(sum);
    }
}

TW_KERNEL(square_total, TW_CUDA_THREADS, 1)
{
    __shared__ double lane[TW_CUDA_THREADS];
    const double      sum = blocks_sum(work.residual, work.units, lane);

    if (threadIdx.x == 0) {
        *(double *)(void *)work.dst = sum;
    }
}

tw_cuda_launch_t tw_cuda_norm_launch(tw_cuda_work_t *work, int step)
{
    work->vector = tw_cuda_aligned(work->src, 16);
    work->units =
        tw_cuda_blocks(work->n, TW_CUDA_GROUP * TW_CUDA_THREADS, (size_t)4 * TW_CUDA_THREADS);
    return step == 0 ? tw_cuda_launch(norm_lanes, work->units, TW_CUDA_THREADS)
                     : tw_cuda_launch(step == 1 ? norm_total : square_total, 1, TW_CUDA_THREADS);
}
