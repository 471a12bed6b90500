/* SPDX-License-Identifier: BSD-3-Clause
 * codec/chunk.h - float32 vectors of any alignment are worked on in chunks, copied into arrays on
 * the stack; so a chunk of v = src + residual costs no memory of its own.
 *
 * A chunk is padded with zeros to whole groups, and the loops below and in the codecs run over
 * whole groups, with a constant length: compilers turn these into vector code at -O2.
 */
#ifndef TW_CODEC_CHUNK_H
#define TW_CODEC_CHUNK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TW_CHUNK 256 /* values */
#define TW_GROUP 64  /* divides TW_CHUNK and every block; the lanes of onebit */

/* Values of the chunk that starts at i in a vector of n. */
static inline size_t tw_chunk_count(size_t n, size_t i)
{
    return n - i < TW_CHUNK ? n - i : TW_CHUNK;
}

/* n rounded up to whole groups. */
static inline size_t tw_group_end(size_t n)
{
    return (n + TW_GROUP - 1) / TW_GROUP * TW_GROUP;
}

static inline void tw_chunk_read(float *v, const uint8_t *src, size_t n)
{
    memcpy(v, src, n * sizeof(float));
    if (n % TW_GROUP != 0) {
        memset(v + n, 0, (tw_group_end(n) - n) * sizeof(float));
    }
}

/* v = src, or src + residual where there is one. v holds TW_CHUNK floats; so below. */
static inline void tw_chunk_load(float *restrict v, const uint8_t *src, const uint8_t *residual,
                                 size_t n)
{
    float r[TW_CHUNK];

    tw_chunk_read(v, src, n);
    if (residual == NULL) {
        return;
    }
    tw_chunk_read(r, residual, n);
    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            v[g + i] += r[g + i];
        }
    }
}

/* The codes of a chunk, padded. */
static inline void tw_chunk_load_codes(uint8_t *restrict codes, const uint8_t *src, size_t n)
{
    memcpy(codes, src, n);
    if (n % TW_GROUP != 0) {
        memset(codes + n, 0, tw_group_end(n) - n);
    }
}

/* dst = v, or acc in dst += v. */
static inline void tw_chunk_store(uint8_t *dst, const float *restrict v, size_t n, int add)
{
    float a[TW_CHUNK];

    if (!add) {
        memcpy(dst, v, n * sizeof(float));
        return;
    }
    tw_chunk_read(a, dst, n);
    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            a[g + i] += v[g + i];
        }
    }
    memcpy(dst, a, n * sizeof(float));
}

/* residual = v - back. */
static inline void tw_chunk_residual(uint8_t *residual, const float *restrict v,
                                     const float *restrict back, size_t n)
{
    float r[TW_CHUNK];

    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            r[g + i] = v[g + i] - back[g + i];
        }
    }
    memcpy(residual, r, n * sizeof(float));
}

#endif /* TW_CODEC_CHUNK_H */
