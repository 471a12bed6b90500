/* SPDX-License-Identifier: BSD-3-Clause
 * codec/chunk.h - vectors of any alignment are worked on in chunks, copied into aligned arrays on
 * the stack; so a chunk of v = src + residual costs no memory of its own, and the loops over whole
 * chunks have a constant length.
 */
#ifndef TW_CODEC_CHUNK_H
#define TW_CODEC_CHUNK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TW_CHUNK 256 /* values; a multiple of 64, so that it never splits the lanes of onebit */

/* v[0..n) = src, or src + residual where there is one. n <= TW_CHUNK. */
static inline void tw_chunk_load(float *restrict v, const uint8_t *src, const uint8_t *residual,
                                 size_t n)
{
    memcpy(v, src, n * sizeof(float));
    if (residual != NULL) {
        float r[TW_CHUNK];

        memcpy(r, residual, n * sizeof(float));
        for (size_t i = 0; i < n; i++) {
            v[i] += r[i];
        }
    }
}

/* acc[0..n) += v, acc of any alignment. n <= TW_CHUNK. */
static inline void tw_chunk_add(uint8_t *acc, const float *restrict v, size_t n)
{
    float a[TW_CHUNK];

    memcpy(a, acc, n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        a[i] += v[i];
    }
    memcpy(acc, a, n * sizeof(float));
}

/* residual[0..n) = v - back. n <= TW_CHUNK. */
static inline void tw_chunk_residual(uint8_t *residual, const float *restrict v,
                                     const float *restrict back, size_t n)
{
    float r[TW_CHUNK];

    for (size_t i = 0; i < n; i++) {
        r[i] = v[i] - back[i];
    }
    memcpy(residual, r, n * sizeof(float));
}

/* n floats of any alignment become the quiet NaN 0x7fc00000: what a poison block decodes to. */
static inline void tw_fill_nan(uint8_t *dst, size_t n)
{
    const uint32_t nan = 0x7fc00000u;

    for (size_t i = 0; i < n; i++) {
        memcpy(dst + 4 * i, &nan, 4);
    }
}

#endif /* TW_CODEC_CHUNK_H */
