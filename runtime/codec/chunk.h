/* SPDX-License-Identifier: BSD-3-Clause
 * codec/chunk.h - vectors of any alignment are worked on in chunks, copied into arrays on
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

/* Of elements of a type:
 *     name_read      v = n elements of src, and zeros; v holds TW_CHUNK elements, so below
 *     name_load      v = src, or src + residual where there is one
 *     name_residual  residual = v - back */
#define TW_CHUNK_OF(number, name)                                                                  \
    static inline void name##_read(number *v, const uint8_t *src, size_t n)                        \
    {                                                                                              \
        memcpy(v, src, n * sizeof(*v));                                                            \
        if (n % TW_GROUP != 0) {                                                                   \
            memset(v + n, 0, (tw_group_end(n) - n) * sizeof(*v));                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static inline void name##_load(number *restrict v, const uint8_t *src,                         \
                                   const uint8_t *residual, size_t n)                              \
    {                                                                                              \
        number r[TW_CHUNK];                                                                        \
                                                                                                   \
        name##_read(v, src, n);                                                                    \
        if (residual == NULL) {                                                                    \
            return;                                                                                \
        }                                                                                          \
        name##_read(r, residual, n);                                                               \
        for (size_t g = 0; g < n; g += TW_GROUP) {                                                 \
            for (size_t i = 0; i < TW_GROUP; i++) {                                                \
                v[g + i] += r[g + i];                                                              \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static inline void name##_residual(uint8_t *residual, const number *restrict v,                \
                                       const number *restrict back, size_t n)                      \
    {                                                                                              \
        number r[TW_CHUNK];                                                                        \
                                                                                                   \
        for (size_t g = 0; g < n; g += TW_GROUP) {                                                 \
            for (size_t i = 0; i < TW_GROUP; i++) {                                                \
                r[g + i] = v[g + i] - back[g + i];                                                 \
            }                                                                                      \
        }                                                                                          \
        memcpy(residual, r, n * sizeof(*r));                                                       \
    }

TW_CHUNK_OF(float, tw_chunk)

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

#endif /* TW_CODEC_CHUNK_H */
