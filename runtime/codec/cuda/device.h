/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/device.h - what the kernels share: loads and stores at any alignment, warps and teams,
 * the table of levels in shared memory.
 *
 * The kernels are written in what C and CUDA have in common, and each is made by a macro from one
 * loop that is inlined with constant arguments. tests/gpu/emulate.h defines the words of CUDA for a
 * C compiler, so that make check runs them, thread by thread, where there is no device.
 */
#ifndef TW_CODEC_CUDA_DEVICE_H
#define TW_CODEC_CUDA_DEVICE_H

#include "runtime/codec/cuda/launch.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error NVCC_GENCODE: kernels of thinwire are for compute capability 8.0 and later
#endif

#ifdef __CUDACC__
#define TW_DEVICE      static __device__ __forceinline__
#define TW_DEVICE_RARE static __device__ __noinline__
/* least: thread blocks that a processor must hold at once, which bounds the registers. */
#define TW_KERNEL(name, threads, least)                                                            \
    static __global__ void __launch_bounds__(threads, least)                                       \
        name(const __grid_constant__ tw_cuda_work_t work)
#define TW_UNROLL _Pragma("unroll")
#endif

#define TW_CUDA_ALL 0xffffffffu /* lanes of a warp */

typedef uint32_t __attribute__((may_alias)) tw_cu_word_t; /* a word of a buffer of bytes */

/* Thread and warp numbers in the whole launch. */
TW_DEVICE size_t tw_thread(void)
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}
TW_DEVICE size_t tw_threads(void)
{
    return (size_t)gridDim.x * blockDim.x;
}
TW_DEVICE unsigned tw_lane(void)
{
    return threadIdx.x % TW_CUDA_WARP;
}
TW_DEVICE unsigned tw_warp(void)
{
    return threadIdx.x / TW_CUDA_WARP;
}

/* ---- memory -----------------------------------------------------------------------------------
 */

TW_DEVICE uint32_t tw_load32(const uint8_t *p)
{
    if (((uintptr_t)p & 3) == 0) {
        return *(const tw_cu_word_t *)p;
    }
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

TW_DEVICE void tw_store32(uint8_t *p, uint32_t v)
{
    if (((uintptr_t)p & 3) == 0) {
        *(tw_cu_word_t *)p = v;
        return;
    }
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

/* The low `width` bytes, one by one. */
TW_DEVICE uint64_t tw_load_bytes(const uint8_t *p, int width)
{
    uint64_t v = 0;

    for (int b = 0; b < width; b++) {
        v |= (uint64_t)p[b] << 8 * b;
    }
    return v;
}

TW_DEVICE void tw_store_bytes(uint8_t *p, uint64_t v, int width)
{
    for (int b = 0; b < width; b++) {
        p[b] = (uint8_t)(v >> 8 * b);
    }
}

/* Four words at a multiple of 16. */
TW_DEVICE void tw_load_group(uint32_t *v, const uint8_t *p)
{
    const uint4 u = *(const uint4 *)p;

    v[0] = u.x;
    v[1] = u.y;
    v[2] = u.z;
    v[3] = u.w;
}

TW_DEVICE void tw_store_group(uint8_t *p, const uint32_t *v)
{
    uint4 u;

    u.x         = v[0];
    u.y         = v[1];
    u.z         = v[2];
    u.w         = v[3];
    *(uint4 *)p = u;
}

/* dst = v, or dst += v; count of the 4 values, by vector if all and `vector`. */
TW_DEVICE void tw_put_group(uint8_t *dst, const uint32_t *v, size_t count, int vector, int add)
{
    uint32_t out[TW_CUDA_GROUP], old[TW_CUDA_GROUP];

    if (vector && count >= TW_CUDA_GROUP) {
        if (add) {
            tw_load_group(old, dst);
        }
        TW_UNROLL
        for (int i = 0; i < TW_CUDA_GROUP; i++) {
            out[i] = add ? tw_cuda_bits(tw_cuda_float(old[i]) + tw_cuda_float(v[i])) : v[i];
        }
        tw_store_group(dst, out);
        return;
    }
    TW_UNROLL
    for (int i = 0; i < TW_CUDA_GROUP; i++) {
        if ((size_t)i < count) {
            const uint32_t u =
                add ? tw_cuda_bits(tw_cuda_float(tw_load32(dst + 4 * i)) + tw_cuda_float(v[i]))
                    : v[i];

            tw_store32(dst + 4 * i, u);
        }
    }
}

/* ---- levels -----------------------------------------------------------------------------------
 */

/* Copies of work's levels where a thread can look up what it likes: constant memory, in which
 * parameters lie, serves one address at a time. */
typedef struct tw_cuda_shared {
    uint32_t bins[TW_CUDA_BINS];
    uint32_t value[256];
    uint32_t threshold[TW_CUDA_LEVELS];
    uint32_t code[TW_CUDA_LEVELS];
} tw_cuda_shared_t;

/* By all TW_CUDA_THREADS threads; ends with a barrier. Only what is asked for is filled in. */
TW_DEVICE void tw_cuda_shared_fill(tw_cuda_shared_t *shared, const tw_cuda_levels_t *levels,
                                   int encode, int decode)
{
    const unsigned t = threadIdx.x;

    if (decode) {
        shared->value[t] = levels->value[t];
    }
    if (encode) {
        uint32_t start = levels->low + t * (TW_CUDA_BINS / TW_CUDA_THREADS << TW_CUDA_BIN), rank;

        if (t < TW_CUDA_LEVELS) {
            shared->threshold[t] = levels->threshold[t];
            shared->code[t]      = levels->code[t];
        }
        __syncthreads();
        rank = tw_cuda_rank_search(shared->threshold, start);
        for (unsigned b = 0; b < TW_CUDA_BINS / TW_CUDA_THREADS; b++) {
            shared->bins[t * (TW_CUDA_BINS / TW_CUDA_THREADS) + b] =
                tw_cuda_bin(shared->threshold, start, &rank);
            start += 1u << TW_CUDA_BIN;
        }
    }
    __syncthreads();
}

/* ---- launching --------------------------------------------------------------------------------
 */

/* Thread blocks for `parts` parts of work of which each takes `per_block` at a time, no more than
 * `most`. */
static inline size_t tw_cuda_blocks(size_t parts, size_t per_block, size_t most)
{
    const size_t blocks = (parts + per_block - 1) / per_block;

    return blocks < 1 ? 1 : blocks < most ? blocks : most;
}

static inline tw_cuda_launch_t tw_cuda_launch(tw_cuda_kernel_t kernel, size_t blocks,
                                              unsigned threads)
{
    tw_cuda_launch_t launch;

    launch.kernel  = kernel;
    launch.blocks  = blocks;
    launch.threads = threads;
    return launch;
}

static inline int tw_cuda_aligned(const void *p, size_t to)
{
    return (uintptr_t)p % to == 0;
}

#endif /* TW_CODEC_CUDA_DEVICE_H */
