/* SPDX-License-Identifier: BSD-3-Clause
 * codec/scaled8_vec4.h - blocks of tree8 and int8 (scaled8.h) by vectors of four. The maximum is
 * found in a pass of its own; the block is then in the cache, and is encoded, with feedback or
 * without, in one more. No NaN is left there, so the order of a sum of two numbers is all that its
 * bits depend on.
 */
#ifndef TW_CODEC_SCALED8_VEC4_H
#define TW_CODEC_SCALED8_VEC4_H

#include "runtime/base/bytes.h"
#include "runtime/codec/scaled8.h"
#include "runtime/codec/values_vec4.h"

TW_V4_INLINE void tw_v4_scaled8_encode(const tw_codec_t *codec, tw_scaled8_header_fn_t header,
                                       tw_v4_encode_fn_t encode, tw_v4_decode_fn_t decode,
                                       const uint8_t *src, size_t n, uint8_t *residual,
                                       uint8_t *dst)
{
    const uint32_t most =
        residual != NULL ? tw_v4_absmax(src, residual, n) : tw_v4_absmax(src, NULL, n);
    float       factor, scale;
    tw_v4_how_t how;

    if (!header(codec, most, n, dst, &factor, &scale)) {
        return;
    }
    how = (tw_v4_how_t){codec->table, tw_f4_splat(factor), tw_f4_splat(scale)};
    if (residual != NULL) {
        tw_v4_feedback(&how, encode, decode, 1, false, src, n, residual, dst + TW_SCALED8_HEADER);
    } else {
        tw_v4_encode(&how, encode, 1, src, n, dst + TW_SCALED8_HEADER);
    }
}

TW_V4_INLINE void tw_v4_poison(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    (void)how;
    (void)c;
    TW_V4_EACH(i, 4)
    {
        x[i] = tw_u4_splat(0x7fc00000u);
    }
}

TW_V4_INLINE void tw_v4_scaled8_decode(const tw_codec_t *codec, tw_v4_decode_fn_t decode,
                                       const uint8_t *src, size_t n, uint8_t *dst, bool add)
{
    const uint32_t    bits = tw_load_le32(src);
    const tw_v4_how_t how  = {.levels = codec->table, .scale = tw_f4_splat(tw_bits_float(bits))};

    if ((bits & TW_V4_EXPONENT) == TW_V4_EXPONENT) {
        tw_v4_decode(&how, tw_v4_poison, 1, src + TW_SCALED8_HEADER, n, dst, add);
    } else if (add) {
        tw_v4_decode(&how, decode, 1, src + TW_SCALED8_HEADER, n, dst, true);
    } else {
        tw_v4_decode(&how, decode, 1, src + TW_SCALED8_HEADER, n, dst, false);
    }
}

/* The kernels `name` of a type with these functions. */
#define TW_V4_SCALED8_KERNELS(name, header, to_codes, to_values)                                   \
    static void name##_block(const tw_codec_t *codec, const uint8_t *src, size_t n,                \
                             uint8_t *residual, uint8_t *dst)                                      \
    {                                                                                              \
        tw_v4_scaled8_encode(codec, header, to_codes, to_values, src, n, residual, dst);           \
    }                                                                                              \
    static void name##_block_back(const tw_codec_t *codec, const uint8_t *src, size_t n,           \
                                  uint8_t *dst, bool add)                                          \
    {                                                                                              \
        tw_v4_scaled8_decode(codec, to_values, src, n, dst, add);                                  \
    }                                                                                              \
    TW_BLOCK_KERNELS(name, name##_block, name##_block_back)

#endif /* TW_CODEC_SCALED8_VEC4_H */
