/* SPDX-License-Identifier: BSD-3-Clause
 * codec/values_vec4.h - the four verbs as loops over groups, from two functions that turn a group
 * into codes and back. They are inlined with these functions and the width as constants.
 */
#ifndef TW_CODEC_VALUES_VEC4_H
#define TW_CODEC_VALUES_VEC4_H

#include "runtime/codec/vec4.h"

/* What the two functions may need. */
typedef struct tw_v4_how {
    const tw_levels_t *levels;
    tw_f4              factor, scale; /* of the block */
} tw_v4_how_t;

/* x: bits of 16 values; c: their codes, `width` vectors for codes of `width` bytes. */
typedef void (*tw_v4_encode_fn_t)(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c);
typedef void (*tw_v4_decode_fn_t)(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x);

TW_V4_INLINE void tw_v4_load_codes(const uint8_t *src, size_t width, tw_b16 *c)
{
    TW_V4_EACH(i, width)
    {
        c[i] = tw_b16_load(src + 16 * i);
    }
}

TW_V4_INLINE void tw_v4_store_codes(uint8_t *dst, size_t width, const tw_b16 *c)
{
    TW_V4_EACH(i, width)
    {
        tw_b16_store(dst + 16 * i, c[i]);
    }
}

TW_V4_INLINE void tw_v4_encode_group(const tw_v4_how_t *how, tw_v4_encode_fn_t encode, size_t width,
                                     const uint8_t *src, uint8_t *dst)
{
    tw_u4  x[4];
    tw_b16 c[4];

    tw_v4_load(src, x);
    encode(how, x, c);
    tw_v4_store_codes(dst, width, c);
}

TW_V4_INLINE void tw_v4_encode(const tw_v4_how_t *how, tw_v4_encode_fn_t encode, size_t width,
                               const uint8_t *src, size_t n, uint8_t *dst)
{
    for (; n >= TW_V4_GROUP; n -= TW_V4_GROUP, src += TW_V4_BYTES, dst += TW_V4_GROUP * width) {
        tw_v4_encode_group(how, encode, width, src, dst);
    }
    if (n > 0) {
        uint8_t in[TW_V4_BYTES] = {0}, out[TW_V4_BYTES];

        memcpy(in, src, 4 * n);
        tw_v4_encode_group(how, encode, width, in, out);
        memcpy(dst, out, width * n);
    }
}

/* dst = decoded, or dst += decoded. */
TW_V4_INLINE void tw_v4_decode_group(const tw_v4_how_t *how, tw_v4_decode_fn_t decode, size_t width,
                                     const uint8_t *src, uint8_t *dst, bool add)
{
    tw_u4  x[4], a[4];
    tw_b16 c[4];

    tw_v4_load_codes(src, width, c);
    decode(how, c, x);
    if (add) {
        tw_v4_load(dst, a);
        TW_V4_EACH(i, 4)
        {
            x[i] = (tw_u4)((tw_f4)a[i] + (tw_f4)x[i]);
        }
    }
    tw_v4_store(dst, x);
}

TW_V4_INLINE void tw_v4_decode(const tw_v4_how_t *how, tw_v4_decode_fn_t decode, size_t width,
                               const uint8_t *src, size_t n, uint8_t *dst, bool add)
{
    for (; n >= TW_V4_GROUP; n -= TW_V4_GROUP, src += TW_V4_GROUP * width, dst += TW_V4_BYTES) {
        tw_v4_decode_group(how, decode, width, src, dst, add);
    }
    if (n > 0) {
        uint8_t in[TW_V4_BYTES] = {0}, out[TW_V4_BYTES] = {0};

        memcpy(in, src, width * n);
        memcpy(out, dst, add ? 4 * n : 0);
        tw_v4_decode_group(how, decode, width, in, out, add);
        memcpy(dst, out, 4 * n);
    }
}

/* keep: a residual stays where v = src + residual, or what that decodes to, is not finite. */
TW_V4_INLINE void tw_v4_feedback_group(const tw_v4_how_t *how, tw_v4_encode_fn_t encode,
                                       tw_v4_decode_fn_t decode, size_t width, bool keep,
                                       const uint8_t *src, uint8_t *residual, uint8_t *dst)
{
    tw_u4  r[4], v[4], back[4];
    tw_b16 c[4];

    tw_v4_load(residual, r);
    tw_v4_load_sum(src, residual, v);
    encode(how, v, c);
    tw_v4_store_codes(dst, width, c);
    decode(how, c, back);
    TW_V4_EACH(i, 4)
    {
        const tw_u4 rest = (tw_u4)((tw_f4)v[i] - (tw_f4)back[i]);

        r[i] = keep ? tw_u4_select(tw_u4_not_finite(v[i]) | tw_u4_not_finite(back[i]), r[i], rest)
                    : rest;
    }
    tw_v4_store(residual, r);
}

TW_V4_INLINE void tw_v4_feedback(const tw_v4_how_t *how, tw_v4_encode_fn_t encode,
                                 tw_v4_decode_fn_t decode, size_t width, bool keep,
                                 const uint8_t *src, size_t n, uint8_t *residual, uint8_t *dst)
{
    for (; n >= TW_V4_GROUP; n -= TW_V4_GROUP) {
        tw_v4_feedback_group(how, encode, decode, width, keep, src, residual, dst);
        src += TW_V4_BYTES;
        residual += TW_V4_BYTES;
        dst += TW_V4_GROUP * width;
    }
    if (n > 0) {
        uint8_t in[TW_V4_BYTES] = {0}, r[TW_V4_BYTES] = {0}, out[TW_V4_BYTES];

        memcpy(in, src, 4 * n);
        memcpy(r, residual, 4 * n);
        tw_v4_feedback_group(how, encode, decode, width, keep, in, r, out);
        memcpy(residual, r, 4 * n);
        memcpy(dst, out, width * n);
    }
}

/* The verbs `name` of a codec without blocks. */
#define TW_V4_VALUES_LOOPS(name, to_codes, to_values, width)                                       \
    static const tw_v4_how_t name##_how = {.levels = NULL};                                        \
    TW_VERBS(name,                                                                                 \
             feedback ? tw_v4_feedback(&name##_how, to_codes, to_values, width, true, src, n,      \
                                       residual, dst)                                              \
                      : tw_v4_encode(&name##_how, to_codes, width, src, n, dst),                   \
             tw_v4_decode(&name##_how, to_values, width, src, n, dst, add))

/* The kernels `name`. */
#define TW_V4_VALUES_KERNELS(name, to_codes, to_values, width)                                     \
    TW_V4_VALUES_LOOPS(name, to_codes, to_values, width)                                           \
    extern const tw_kernels_t name;                                                                \
    const tw_kernels_t        name = {TW_VERBS_OF(name)}

#endif /* TW_CODEC_VALUES_VEC4_H */
