/* SPDX-License-Identifier: BSD-3-Clause
 * codec/scaled8.h - what tree8 and int8 share: blocks of [float32 scale][one byte per value], the
 * scale from the block's absolute maximum.
 *
 * With a the maximum and q the type's numerator (1 for tree8, 127 for int8): scale = fl(a / q),
 * y = fl(x * fl(q / a)); the type turns y into a code. A block whose maximum is below `least` has
 * scale 0 and y = x * 0. A block that holds Inf or NaN is poison: scale 0x7fc00000, codes 0.
 */
#ifndef TW_CODEC_SCALED8_H
#define TW_CODEC_SCALED8_H

#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/blocks.h"

#define TW_SCALED8_HEADER 4 /* bytes */

typedef struct tw_scaled8 {
    float numerator;
    float least;
    /* codes[i] from values[i] * factor; all finite. The arrays hold TW_CHUNK elements, of which
     * whole groups (chunk.h) are worked on. */
    void (*encode)(const tw_codec_t *codec, const float *values, size_t n, float factor,
                   uint8_t *codes);
    void (*decode)(const tw_codec_t *codec, const uint8_t *codes, size_t n, float scale,
                   float *values);
} tw_scaled8_t;

/* Bits of the largest |v|, v = src or src + residual where there is one: as integers they order
 * like the magnitudes, Inf and NaN on top. */
uint32_t tw_scaled8_absmax(const uint8_t *src, const uint8_t *residual, size_t n);

/* The header at dst of a block of n values with this absolute maximum (its bits), and factor and
 * scale for its codes. False for poison: then the codes are written too, nothing is left to do. */
static inline bool tw_scaled8_header(uint32_t most, float numerator, float least, size_t n,
                                     uint8_t *dst, float *factor, float *scale)
{
    *factor = *scale = 0.0f;
    if (most >= 0x7f800000u) {
        tw_store_le32(dst, 0x7fc00000u);
        memset(dst + TW_SCALED8_HEADER, 0, n);
        return false;
    }
    if (tw_bits_float(most) >= least) {
        *factor = numerator / tw_bits_float(most);
        *scale  = tw_bits_float(most) / numerator;
        if ((tw_float_bits(*scale * numerator) & 0x7f800000u) == 0x7f800000u) {
            *scale = tw_bits_float(tw_float_bits(*scale) - 1); /* else the maximum would be Inf */
        }
    }
    tw_store_le32(dst, tw_float_bits(*scale));
    return true;
}

/* The same for a codec. */
typedef bool (*tw_scaled8_header_fn_t)(const tw_codec_t *codec, uint32_t most, size_t n,
                                       uint8_t *dst, float *factor, float *scale);

static inline bool tw_tree8_header(const tw_codec_t *codec, uint32_t most, size_t n, uint8_t *dst,
                                   float *factor, float *scale)
{
    (void)codec;
    return tw_scaled8_header(most, 1.0f, 0x1p-126f, n, dst, factor, scale);
}

size_t tw_scaled8_size(const tw_codec_t *codec, size_t n);

/* One block, as in blocks.h, of the given type. */
void tw_scaled8_encode(const tw_codec_t *codec, const tw_scaled8_t *type, const uint8_t *src,
                       size_t n, uint8_t *residual, uint8_t *dst);
void tw_scaled8_decode(const tw_codec_t *codec, const tw_scaled8_t *type, const uint8_t *src,
                       size_t n, uint8_t *dst, bool add);

/* The table `name` of kernels of blocks of this type. */
#define TW_SCALED8_KERNELS(name, type)                                                             \
    static void name##_block(const tw_codec_t *codec, const uint8_t *src, size_t n,                \
                             uint8_t *residual, uint8_t *dst)                                      \
    {                                                                                              \
        tw_scaled8_encode(codec, type, src, n, residual, dst);                                     \
    }                                                                                              \
    static void name##_block_back(const tw_codec_t *codec, const uint8_t *src, size_t n,           \
                                  uint8_t *dst, bool add)                                          \
    {                                                                                              \
        tw_scaled8_decode(codec, type, src, n, dst, add);                                          \
    }                                                                                              \
    TW_BLOCK_KERNELS(name, name##_block, name##_block_back)

#endif /* TW_CODEC_SCALED8_H */
