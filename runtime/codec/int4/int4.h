/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int4/int4.h - what the kernels of int4 share: a block of m values is ceil(m / 32) scales of
 * two bytes, one for each group of 32 values, and then ceil(m / 2) bytes of codes.
 */
#ifndef TW_CODEC_INT4_H
#define TW_CODEC_INT4_H

#include "runtime/base/bytes.h"
#include "runtime/codec/blocks.h"

#define TW_INT4_GROUP 32

#define TW_INT4_LEAST  0x02000000u /* 2^-123: below, a group is zeros */
#define TW_INT4_MOST   0x7dff0000u /* the largest scale: -8 of it is finite */
#define TW_INT4_POISON 0x7fc00000u

static inline size_t tw_int4_scales(size_t n) /* bytes */
{
    return (n + TW_INT4_GROUP - 1) / TW_INT4_GROUP * 2;
}

static inline size_t tw_int4_codes(size_t n) /* bytes */
{
    return (n + 1) / 2;
}

/* Bits of the scale of a group, from its extreme: the largest magnitude, of two the negative one,
 * as bits rotated left by one, so that unsigned integers order them, Inf and NaN on top. An eighth
 * of it, rounded up, of the other sign. */
static inline uint32_t tw_int4_scale(uint32_t extreme)
{
    const uint32_t size  = extreme >> 1;
    const uint32_t scale = (tw_float_bits(tw_bits_float(size) * 0.125f) + 0xffff) & 0x7fff0000u;

    if (size >= 0x7f800000u) {
        return TW_INT4_POISON;
    }
    if (size < TW_INT4_LEAST) {
        return 0;
    }
    return (scale < TW_INT4_MOST ? scale : TW_INT4_MOST) | (~extreme & 1) << 31;
}

/* Groups of a block, the first n values of which are left, by plain C: dst = encode(src), or with a
 * residual, encode(src + residual), which it becomes the error of, but for groups that are poison;
 * the way back is dst = decode(...), or with add: dst += decode(...). */
void tw_int4_encode_groups(const uint8_t *src, size_t n, uint8_t *residual, uint8_t *scales,
                           uint8_t *codes);
void tw_int4_decode_groups(const uint8_t *scales, const uint8_t *codes, size_t n, uint8_t *dst,
                           bool add);

#endif /* TW_CODEC_INT4_H */
