/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_limits.h - what memory allows: loops that read, write and update as many bytes as a
 * codec kernel and do nothing else, and memcpy. A kernel in the cache is not faster than its
 * loop; out of it, one that prefetches well is, since the loops leave that to the processor.
 *
 * A shape is given in eighths of a byte per value, which are cache lines per 512 values: an encoder
 * of bitpack:2 is {32, 16, 0}, a decode-and-add of it {16, 0, 32}.
 */
#ifndef TOOLS_BENCH_LIMITS_H
#define TOOLS_BENCH_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#define LIMITS_STEP 512 /* values */
#define LIMITS_LINE 64  /* bytes  */

typedef struct limits_shape {
    int src;  /* read                */
    int dst;  /* written             */
    int both; /* read and written at the same place */
} limits_shape_t;

typedef struct limits_buffers {
    const uint8_t *src;
    uint8_t       *dst; /* at a multiple of 64 */
    uint8_t       *both;
} limits_buffers_t;

/* Run the loop of a shape for n values with vectors of the given instruction set ("avx512", "avx2";
 * vectors of 16 bytes for all others). stream: write past the caches where the processor can. dst
 * becomes zeros, both stays as it is. */
void limits_run(const char *isa, const limits_shape_t *shape, int stream,
                const limits_buffers_t *buffers, size_t n, int threads);

/* Whether limits_run() writes past the caches here if asked to. */
int limits_can_stream(void);

void limits_copy(float *to, const float *from, size_t n, int threads);

#endif /* TOOLS_BENCH_LIMITS_H */
