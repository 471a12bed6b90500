/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/onebit.cu - signs and the means of both sides.
 *
 * A warp encodes a block. The 64 lanes of the sums (docs/wire-format.md) are two for each thread:
 * thread t loads values 2t and 2t+1 of each row of 64 with one load, and adds row after row, so
 * every lane gets its values in the order of the scalar code; the tree of 64 is five exchanges
 * between threads and one addition in thread 0. The blocks of the default size stay in registers
 * between the sums and the residuals: src and residual are read once, the residual is written once.
 * Signs of a row are two ballots, of the even and the odd values; thread r keeps those of row r and
 * interleaves them, once for 64 values.
 */
#include "runtime/codec/cuda/device.h"

#define ONEBIT_HEADER  8
#define ONEBIT_LANES   64
#define ONEBIT_ROWS    32  /* that a warp keeps: 2048 values                       */
#define ONEBIT_THREADS 128 /* of the encoders' thread blocks: many registers each  */

/* Rows [row0, row0 + ONEBIT_ROWS) of a block of m values: v[2r], v[2r + 1] for row row0 + r; beyond
 * m +0, which changes no sum. */
TW_DEVICE void rows_load(uint32_t *v, const uint8_t *src, const uint8_t *residual, size_t m,
                         size_t row0, int vector)
{
    const size_t at = row0 * ONEBIT_LANES + 2 * tw_lane();

    if (vector && (row0 + ONEBIT_ROWS) * ONEBIT_LANES <= m) {
        TW_UNROLL
        for (int r = 0; r < ONEBIT_ROWS; r++) {
            const uint2 x = *(const uint2 *)(src + 4 * (at + (size_t)r * ONEBIT_LANES));

            v[2 * r]     = x.x;
            v[2 * r + 1] = x.y;
            if (residual != NULL) {
                const uint2 e = *(const uint2 *)(residual + 4 * (at + (size_t)r * ONEBIT_LANES));

                v[2 * r]     = tw_cuda_bits(tw_cuda_float(x.x) + tw_cuda_float(e.x));
                v[2 * r + 1] = tw_cuda_bits(tw_cuda_float(x.y) + tw_cuda_float(e.y));
            }
        }
        return;
    }
    TW_UNROLL
    for (int r = 0; r < ONEBIT_ROWS; r++) {
        TW_UNROLL
        for (int c = 0; c < 2; c++) {
            const size_t i = at + (size_t)r * ONEBIT_LANES + (size_t)c;
            float        x = 0.0f;

            if (i < m) {
                x = tw_cuda_float(tw_load32(src + 4 * i));
                x = residual != NULL ? x + tw_cuda_float(tw_load32(residual + 4 * i)) : x;
            }
            v[2 * r + c] = tw_cuda_bits(x);
        }
    }
}

/* The sums of a thread's two lanes. */
typedef struct onebit_sums {
    float    positive[2], negative[2];
    uint32_t negatives; /* values on the negative side in the rows whose signs this thread keeps */
} onebit_sums_t;

/* Add rows to the sums; *low, *high: the 64 signs of row row0 + (lane). */
TW_DEVICE void rows_add(onebit_sums_t *sums, const uint32_t *v, uint32_t *low, uint32_t *high)
{
    uint32_t even = 0, odd = 0;

    TW_UNROLL
    for (int r = 0; r < ONEBIT_ROWS; r++) {
        uint32_t ballot[2];

        TW_UNROLL
        for (int c = 0; c < 2; c++) {
            const uint32_t u = v[2 * r + c], negative = 0u - (u >> 31);

            sums->positive[c] += tw_cuda_float(u & ~negative);
            sums->negative[c] += tw_cuda_float(u & negative);
            ballot[c] = __ballot_sync(TW_CUDA_ALL, (int)(u >> 31));
        }
        even = tw_lane() == (unsigned)r ? ballot[0] : even;
        odd  = tw_lane() == (unsigned)r ? ballot[1] : odd;
    }
    sums->negatives += (uint32_t)__popc(even) + (uint32_t)__popc(odd);
    *low  = tw_cuda_spread(even) | tw_cuda_spread(odd) << 1;
    *high = tw_cuda_spread(even >> 16) | tw_cuda_spread(odd >> 16) << 1;
}

/* The tree over the 64 lanes of one side; the same result in every thread, for a + b is b + a. */
TW_DEVICE float lanes_sum(const float *lane)
{
    float a = lane[0], b = lane[1];

    TW_UNROLL
    for (int half = TW_CUDA_WARP / 2; half > 0; half /= 2) {
        a += __shfl_xor_sync(TW_CUDA_ALL, a, half);
        b += __shfl_xor_sync(TW_CUDA_ALL, b, half);
    }
    return a + b;
}

/* The mean of one side again, from a sum of values that were scaled down: see
 * codec/onebit/onebit.c. Hardly ever called, so it stays out of the registers. */
TW_DEVICE_RARE float mean_again(const uint8_t *src, const uint8_t *residual, size_t m,
                                uint32_t side, uint32_t count)
{
    float lane[2] = {0.0f, 0.0f}, mean;

    for (size_t row = 0; row < m; row += ONEBIT_LANES) {
        for (int c = 0; c < 2; c++) {
            const size_t i = row + 2 * tw_lane() + (size_t)c;
            float        x = 0.0f;

            if (i < m) {
                x = tw_cuda_float(tw_load32(src + 4 * i));
                x = residual != NULL ? x + tw_cuda_float(tw_load32(residual + 4 * i)) : x;
            }
            lane[c] += tw_cuda_bits(x) >> 31 == side ? x * 0x1p-32f : 0.0f;
        }
    }
    mean = tw_cuda_mean(lanes_sum(lane), count);
    if (!tw_cuda_finite(tw_cuda_bits(mean))) {
        return mean;
    }
    mean *= 0x1p32f;
    return tw_cuda_finite(tw_cuda_bits(mean)) ? mean : tw_cuda_float(0x7f7fffffu | side << 31);
}

/* The signs of one row of a block of m values. */
TW_DEVICE void row_signs(uint8_t *codes, size_t row, size_t m, uint32_t low, uint32_t high)
{
    const size_t rest = row * ONEBIT_LANES < m ? m - row * ONEBIT_LANES : 0;
    uint8_t     *p    = codes + row * (ONEBIT_LANES / 8);
    uint2        signs;

    signs.x = low;
    signs.y = high;
    if (rest >= ONEBIT_LANES && ((uintptr_t)p & 7) == 0) {
        *(uint2 *)p = signs;
        return;
    }
    for (unsigned b = 0; b < ONEBIT_LANES / 8; b++) {
        if (8 * b < rest) {
            p[b] = (uint8_t)((b < 4 ? low : high) >> 8 * (b % 4));
        }
    }
}

/* residual = v - the mean of its side. */
TW_DEVICE void rows_residual(uint8_t *residual, const uint32_t *v, float positive, float negative,
                             size_t m, size_t row0, int vector)
{
    const size_t at   = row0 * ONEBIT_LANES + 2 * tw_lane();
    const int    full = vector && (row0 + ONEBIT_ROWS) * ONEBIT_LANES <= m;

    TW_UNROLL
    for (int r = 0; r < ONEBIT_ROWS; r++) {
        const size_t i = at + (size_t)r * ONEBIT_LANES;
        uint32_t     rest[2];
        uint2        two;

        TW_UNROLL
        for (int c = 0; c < 2; c++) {
            const uint32_t u = v[2 * r + c];

            rest[c] = tw_cuda_bits(tw_cuda_float(u) - ((u >> 31) != 0 ? negative : positive));
        }
        two.x = rest[0];
        two.y = rest[1];
        if (full) {
            *(uint2 *)(residual + 4 * i) = two;
            continue;
        }
        if (i < m) {
            tw_store32(residual + 4 * i, rest[0]);
        }
        if (i + 1 < m) {
            tw_store32(residual + 4 * i + 4, rest[1]);
        }
    }
}

/* The signs go out before the means are known, and are overwritten if the block is poison. */
TW_DEVICE void onebit_encode(const tw_cuda_work_t *work, int feedback)
{
    const size_t bytes = ONEBIT_HEADER + work->block / 8;

    for (size_t b = tw_thread() / TW_CUDA_WARP; b < work->blocks;
         b += tw_threads() / TW_CUDA_WARP) {
        const size_t   first    = b * work->block;
        const size_t   m        = work->n - first < work->block ? work->n - first : work->block;
        const size_t   rows     = (m + ONEBIT_LANES - 1) / ONEBIT_LANES;
        const uint8_t *src      = work->src + 4 * first;
        uint8_t       *residual = feedback ? work->residual + 4 * first : NULL;
        uint8_t       *dst      = work->dst + b * bytes;
        onebit_sums_t  sums     = {{0.0f, 0.0f}, {0.0f, 0.0f}, 0};
        uint32_t       v[2 * ONEBIT_ROWS], low, high, negatives;
        float          positive, negative;
        int            poison;

        for (size_t row0 = 0; row0 < rows; row0 += ONEBIT_ROWS) {
            rows_load(v, src, residual, m, row0, work->vector);
            rows_add(&sums, v, &low, &high);
            row_signs(dst + ONEBIT_HEADER, row0 + tw_lane(), m, low, high);
        }
        negatives = __reduce_add_sync(TW_CUDA_ALL, sums.negatives);
        positive  = tw_cuda_mean(lanes_sum(sums.positive), (uint32_t)m - negatives);
        negative  = tw_cuda_mean(lanes_sum(sums.negative), negatives);
        if (!tw_cuda_finite(tw_cuda_bits(positive))) { /* alike in all threads of the warp */
            positive = mean_again(src, residual, m, 0, (uint32_t)m - negatives);
        }
        if (!tw_cuda_finite(tw_cuda_bits(negative))) {
            negative = mean_again(src, residual, m, 1, negatives);
        }
        poison = !tw_cuda_finite(tw_cuda_bits(positive)) || !tw_cuda_finite(tw_cuda_bits(negative));
        if (tw_lane() == 0) {
            tw_store32(dst, poison ? TW_CUDA_NAN : tw_cuda_bits(positive));
            tw_store32(dst + 4, poison ? TW_CUDA_NAN : tw_cuda_bits(negative));
        }
        for (size_t row0 = 0; (feedback || poison) && row0 < rows; row0 += ONEBIT_ROWS) {
            if (poison) {
                row_signs(dst + ONEBIT_HEADER, row0 + tw_lane(), m, 0, 0);
                continue;
            }
            if (rows > ONEBIT_ROWS) {
                rows_load(v, src, residual, m, row0, work->vector);
            }
            rows_residual(residual, v, positive, negative, m, row0, work->vector);
        }
    }
}

/* ---- decoding ---------------------------------------------------------------------------------
 */

#define ONEBIT_GROUPS 16 /* of 4 values that a thread decodes in a unit */
#define ONEBIT_UNIT   (ONEBIT_GROUPS * TW_CUDA_GROUP * TW_CUDA_WARP) /* values */

TW_DEVICE void onebit_decode(const tw_cuda_work_t *work, int add)
{
    for (size_t unit = tw_thread() / TW_CUDA_WARP; unit < work->units;
         unit += tw_threads() / TW_CUDA_WARP) {
        const size_t b = work->units_per_block > 1 ? unit / work->units_per_block : unit;
        const size_t i0 =
            (unit - b * work->units_per_block) * ONEBIT_UNIT + TW_CUDA_GROUP * tw_lane();
        const size_t   first    = b * work->block;
        const size_t   m        = work->n - first < work->block ? work->n - first : work->block;
        const uint8_t *src      = work->src + b * (ONEBIT_HEADER + work->block / 8);
        uint32_t       positive = tw_load32(src), negative = tw_load32(src + 4);
        uint32_t       bits[ONEBIT_GROUPS];

        if (!tw_cuda_finite(positive) || !tw_cuda_finite(negative)) {
            positive = negative = TW_CUDA_NAN;
        }
        TW_UNROLL
        for (int g = 0; g < ONEBIT_GROUPS; g++) {
            const size_t i = i0 + (size_t)g * TW_CUDA_ROW;

            bits[g] = i < m ? (uint32_t)src[ONEBIT_HEADER + i / 8] >> (i & 4) : 0;
        }
        TW_UNROLL
        for (int g = 0; g < ONEBIT_GROUPS; g++) {
            const size_t i = i0 + (size_t)g * TW_CUDA_ROW;
            uint32_t     v[TW_CUDA_GROUP];

            TW_UNROLL
            for (int j = 0; j < TW_CUDA_GROUP; j++) {
                v[j] = (bits[g] >> j & 1) != 0 ? negative : positive;
            }
            if (i < m) {
                tw_put_group(work->dst + 4 * (first + i), v, m - i, work->vector, add);
            }
        }
    }
}

TW_KERNEL(onebit_ENCODE, ONEBIT_THREADS, 4)
{
    onebit_encode(&work, 0);
}
TW_KERNEL(onebit_ENCODE_FEEDBACK, ONEBIT_THREADS, 4)
{
    onebit_encode(&work, 1);
}
TW_KERNEL(onebit_DECODE, TW_CUDA_THREADS, 4)
{
    onebit_decode(&work, 0);
}
TW_KERNEL(onebit_DECODE_ADD, TW_CUDA_THREADS, 4)
{
    onebit_decode(&work, 1);
}

tw_cuda_launch_t tw_cuda_onebit_launch(tw_cuda_work_t *work, tw_cuda_verb_t verb, int processors)
{
    static const tw_cuda_kernel_t kernels[TW_CUDA_VERBS] = {
        onebit_ENCODE, onebit_DECODE, onebit_DECODE_ADD, onebit_ENCODE_FEEDBACK};
    const size_t rest = work->n % work->block, most = (size_t)1 << 30;

    (void)processors;
    work->blocks          = work->n / work->block + (rest > 0);
    work->units_per_block = (work->block + ONEBIT_UNIT - 1) / ONEBIT_UNIT;
    work->units =
        work->n / work->block * work->units_per_block + (rest + ONEBIT_UNIT - 1) / ONEBIT_UNIT;
    if (verb == TW_CUDA_DECODE || verb == TW_CUDA_DECODE_ADD) {
        work->vector = tw_cuda_aligned(work->dst, 16);
        return tw_cuda_launch(kernels[verb], tw_cuda_blocks(work->units, TW_CUDA_WARPS, most),
                              TW_CUDA_THREADS);
    }
    work->vector = tw_cuda_aligned(work->src, 8) &&
                   (verb != TW_CUDA_ENCODE_FEEDBACK || tw_cuda_aligned(work->residual, 8));
    return tw_cuda_launch(kernels[verb],
                          tw_cuda_blocks(work->blocks, ONEBIT_THREADS / TW_CUDA_WARP, most),
                          ONEBIT_THREADS);
}
