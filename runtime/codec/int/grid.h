/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/grid.h - what a grid (int:B,step=2^K) does before codes are made and after they are
 * read, a chunk at a time: its loops are those of `int` with the scale of a block whose maximum is
 * q steps.
 */
#ifndef TW_CODEC_GRID_H
#define TW_CODEC_GRID_H

#include <math.h>

#include "runtime/codec/chunk.h"
#include "runtime/codec/int/int.h"

#define TW_INT_INLINE static inline __attribute__((always_inline))

TW_CHUNK_OF(double, tw_wide_chunk)

/* Of elements `number`:
 *     name_fit   v = src, or src + residual; `lost` for what has no code
 *     name_left  residual = v - its nearest step, where it has a code
 *     name_back  decoded values, and NaN where they are `lost` */
#define TW_GRID_OF(number, name, chunk, magic)                                                     \
    static inline void name##_fit(const tw_int_t *grid, const uint8_t *src,                        \
                                  const uint8_t *residual, size_t n, number *restrict v)           \
    {                                                                                              \
        const number fits = (number)grid->fits, lost = (number)grid->lost;                         \
                                                                                                   \
        chunk##_load(v, src, residual, n);                                                         \
        for (size_t g = 0; g < n; g += TW_GROUP) {                                                 \
            for (size_t i = 0; i < TW_GROUP; i++) {                                                \
                const int has = (v[g + i] < fits) & (v[g + i] > -fits);                            \
                                                                                                   \
                v[g + i] = has ? v[g + i] : lost;                                                  \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static inline void name##_left(const tw_int_t *grid, const number *restrict v, size_t n,       \
                                   uint8_t *residual)                                              \
    {                                                                                              \
        const number step = (number)ldexp(1.0, grid->exponent), lost = (number)grid->lost;         \
        number       r[TW_CHUNK];                                                                  \
                                                                                                   \
        memcpy(r, residual, n * sizeof(*r));                                                       \
        for (size_t i = 0; i < n; i++) {                                                           \
            const number code = v[i] / step + magic;                                               \
                                                                                                   \
            r[i] = v[i] == lost ? r[i] : v[i] - (code - magic) * step;                             \
        }                                                                                          \
        memcpy(residual, r, n * sizeof(*r));                                                       \
    }                                                                                              \
                                                                                                   \
    static inline void name##_back(const tw_int_t *grid, number *restrict v, size_t n)             \
    {                                                                                              \
        const number lost = (number)grid->lost, nan = (number)NAN;                                 \
                                                                                                   \
        for (size_t g = 0; g < n; g += TW_GROUP) {                                                 \
            for (size_t i = 0; i < TW_GROUP; i++) {                                                \
                v[g + i] = v[g + i] == lost ? nan : v[g + i];                                      \
            }                                                                                      \
        }                                                                                          \
    }

TW_GRID_OF(float, tw_grid_f32, tw_chunk, 0x1.8p23f)
TW_GRID_OF(double, tw_grid_f64, tw_wide_chunk, 0x1.8p52)

/* The same by the bytes of an element, a constant; v has room for TW_CHUNK. */
static inline void tw_grid_fit(const tw_codec_t *codec, size_t e, const uint8_t *src,
                               const uint8_t *residual, size_t n, void *v)
{
    if (e == 8) {
        tw_grid_f64_fit(tw_int(codec), src, residual, n, v);
    } else {
        tw_grid_f32_fit(tw_int(codec), src, residual, n, v);
    }
}

static inline void tw_grid_left(const tw_codec_t *codec, size_t e, const void *v, size_t n,
                                uint8_t *residual)
{
    if (e == 8) {
        tw_grid_f64_left(tw_int(codec), v, n, residual);
    } else {
        tw_grid_f32_left(tw_int(codec), v, n, residual);
    }
}

/* To dst, or onto what is there. */
static inline void tw_grid_back(const tw_codec_t *codec, size_t e, void *v, size_t n, uint8_t *dst,
                                bool add)
{
    if (e == 8) {
        tw_grid_f64_back(tw_int(codec), v, n);
    } else {
        tw_grid_f32_back(tw_int(codec), v, n);
    }
    if (add) {
        codec->type->combine[TW_COMBINE_ADD](dst, v, n, dst);
    } else {
        memcpy(dst, v, n * e);
    }
}

/* The codes of m values, at most TW_CHUNK, of elements of e bytes, and the values of codes; `set`
 * and `how` are what an instruction set has for it, `end` that of all that is written, or read. */
typedef void tw_grid_put_t(const void *set, void *how, int bits, size_t e, const void *v, size_t m,
                           uint8_t *dst, const uint8_t *end);
typedef void tw_grid_take_t(const void *set, void *how, int bits, size_t e, const uint8_t *src,
                            const uint8_t *end, size_t m, void *v);

/* The walk over a grid, one block without a header: by way of an array, chunk by chunk. */
TW_INT_INLINE void tw_grid_encode(const tw_codec_t *codec, int bits, size_t e, const uint8_t *src,
                                  size_t n, uint8_t *residual, uint8_t *dst, tw_grid_put_t *put,
                                  const void *set, void *how)
{
    const uint8_t *end = dst + tw_int_bytes(bits, n);
    double         v[TW_CHUNK];

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        tw_grid_fit(codec, e, src + i * e, tw_beyond(residual, i * e), m, v);
        put(set, how, bits, e, v, m, dst + tw_int_bytes(bits, i), end);
        if (residual != NULL) {
            tw_grid_left(codec, e, v, m, residual + i * e);
        }
    }
}

TW_INT_INLINE void tw_grid_decode(const tw_codec_t *codec, int bits, size_t e, const uint8_t *src,
                                  size_t n, uint8_t *dst, bool add, tw_grid_take_t *take,
                                  const void *set, void *how)
{
    const uint8_t *end = src + tw_int_bytes(bits, n);
    double         v[TW_CHUNK];

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        take(set, how, bits, e, src + tw_int_bytes(bits, i), end, m, v);
        tw_grid_back(codec, e, v, m, dst + i * e, add);
    }
}

#endif /* TW_CODEC_GRID_H */
