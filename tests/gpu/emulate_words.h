/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/emulate_words.h - the words of CUDA that kernels use, for a C compiler: they run on the
 * host, one thread of a thread block after the other, switched at every barrier and exchange.
 *
 * Which thread goes on is drawn by lot, so a missing barrier shows in the results sooner or later.
 * Thread blocks run one after another, and shared memory keeps what the one before left in it.
 */
#ifndef TW_TESTS_GPU_EMULATE_WORDS_H
#define TW_TESTS_GPU_EMULATE_WORDS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct uint2 {
    uint32_t x, y;
} __attribute__((may_alias, aligned(8))) uint2;

typedef struct uint4 {
    uint32_t x, y, z, w;
} __attribute__((may_alias, aligned(16))) uint4;

typedef struct emulate_index {
    unsigned x;
} emulate_index_t;

extern emulate_index_t emulate_block, emulate_blocks, emulate_thread, emulate_threads;

#define blockIdx  emulate_block
#define gridDim   emulate_blocks
#define threadIdx emulate_thread
#define blockDim  emulate_threads

#define TW_DEVICE      static inline
#define TW_DEVICE_RARE static inline
#define TW_UNROLL
#define __shared__ static

void     emulate_syncthreads(void);
void     emulate_syncwarp(void);
uint32_t emulate_exchange(uint32_t mine, unsigned from);
uint32_t emulate_most(uint32_t mine);
uint32_t emulate_total(uint32_t mine);
uint32_t emulate_ballot(int mine);
float    emulate_shuffle(float mine, int with);
unsigned emulate_atomic_max(unsigned *at, unsigned v);

#define __syncthreads()                 emulate_syncthreads()
#define __syncwarp(lanes)               emulate_syncwarp()
#define __reduce_max_sync(lanes, v)     emulate_most(v)
#define __reduce_add_sync(lanes, v)     emulate_total(v)
#define __ballot_sync(lanes, v)         emulate_ballot(v)
#define __shfl_xor_sync(lanes, v, with) emulate_shuffle(v, with)
#define __popc(v)                       __builtin_popcount(v)
#define atomicMax(at, v)                emulate_atomic_max(at, v)

/* Of a thread block at most, and of a warp. */
#define EMULATE_THREADS 256
#define EMULATE_WARP    32

/* Run all thread blocks of a launch; body(argument) is what a thread does. */
void emulate_launch(void (*body)(const void *argument), const void *argument, size_t blocks,
                    unsigned threads);

#endif /* TW_TESTS_GPU_EMULATE_WORDS_H */
