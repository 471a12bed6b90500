/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int4/int4_loops.h - the walk of int4 over blocks, for instruction sets that encode some
 * groups at a time and decode one. What a block has left behind those goes through arrays; values
 * with Inf or NaN among them, and the last part of a group, go by int4_scalar.c.
 */
#ifndef TW_CODEC_INT4_LOOPS_H
#define TW_CODEC_INT4_LOOPS_H

#include "runtime/base/bytes.h"
#include "runtime/codec/int4/int4.h"

#define TW_INT4_INLINE static inline __attribute__((always_inline))
#define TW_INT4_VALUES 512 /* at a time, at most */

/* An instruction set. It is constant wherever it is inlined, and so is `feedback`: residual is not
 * NULL. */
typedef struct tw_int4_set {
    size_t values;  /* encoded at a time, in whole groups                     */
    size_t aligned; /* bytes: dst is a multiple of them where decoding streams */
    bool (*encode)(const uint8_t *src, uint8_t *residual, uint8_t *scales, uint8_t *codes,
                   bool feedback); /* false, and nothing is done: one is Inf or NaN */
    void (*decode)(float scale, const uint8_t *codes, uint8_t *dst, bool add, bool stream);
    void (*fetch)(const uint8_t *p); /* what follows 64 values; or NULL */
} tw_int4_set_t;

/* What encodes fewer than set->values values. */
typedef void (*tw_int4_rest_t)(const uint8_t *src, size_t n, uint8_t *residual, uint8_t *scales,
                               uint8_t *codes);

TW_INT4_INLINE void tw_int4_encode_some(const tw_int4_set_t *set, const uint8_t *src,
                                        uint8_t *residual, uint8_t *scales, uint8_t *codes,
                                        bool feedback)
{
    if (!set->encode(src, residual, scales, codes, feedback)) {
        tw_int4_encode_groups(src, set->values, feedback ? residual : NULL, scales, codes);
    }
}

/* In arrays padded with zeros. */
TW_INT4_INLINE void tw_int4_encode_rest(const tw_int4_set_t *set, const uint8_t *src, size_t n,
                                        uint8_t *residual, uint8_t *scales, uint8_t *codes)
{
    uint8_t in[4 * TW_INT4_VALUES] = {0}, left[4 * TW_INT4_VALUES] = {0};
    uint8_t of_scales[TW_INT4_VALUES / 16], of_codes[TW_INT4_VALUES / 2];

    memcpy(in, src, 4 * n);
    if (residual != NULL) {
        memcpy(left, residual, 4 * n);
        tw_int4_encode_some(set, in, left, of_scales, of_codes, true);
        memcpy(residual, left, 4 * n);
    } else {
        tw_int4_encode_some(set, in, NULL, of_scales, of_codes, false);
    }
    memcpy(scales, of_scales, tw_int4_scales(n));
    memcpy(codes, of_codes, tw_int4_codes(n));
}

TW_INT4_INLINE void tw_int4_encode_blocks(const tw_int4_set_t *set, tw_int4_rest_t rest,
                                          const tw_codec_t *codec, const uint8_t *src, size_t n,
                                          uint8_t *residual, uint8_t *dst, bool feedback,
                                          bool fetch)
{
    while (n > 0) {
        const size_t m      = n < codec->block ? n : codec->block;
        uint8_t     *scales = dst, *codes = dst + tw_int4_scales(m);
        size_t       i = 0;

        for (; i + set->values <= m; i += set->values) {
            for (size_t line = 0; fetch && line < 4 * set->values; line += 256) {
                set->fetch(src + 4 * i + line);
                if (feedback) {
                    set->fetch(residual + 4 * i + line);
                }
            }
            tw_int4_encode_some(set, src + 4 * i, feedback ? residual + 4 * i : NULL,
                                scales + i / 16, codes + i / 2, feedback);
        }
        if (i < m) {
            rest(src + 4 * i, m - i, feedback ? residual + 4 * i : NULL, scales + i / 16,
                 codes + i / 2);
        }
        n -= m;
        src += 4 * m;
        dst      = codes + tw_int4_codes(m);
        residual = feedback ? residual + 4 * m : NULL;
    }
}

TW_INT4_INLINE void tw_int4_decode_blocks(const tw_int4_set_t *set, const tw_codec_t *codec,
                                          const uint8_t *src, size_t n, uint8_t *dst, bool add,
                                          bool stream, bool fetch)
{
    while (n > 0) {
        const size_t   m     = n < codec->block ? n : codec->block;
        const uint8_t *codes = src + tw_int4_scales(m);

        for (size_t i = 0; i < m; i += TW_INT4_GROUP) {
            const uint8_t *at    = src + i / 16;
            const uint32_t scale = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 24;
            const size_t   k     = m - i < TW_INT4_GROUP ? m - i : TW_INT4_GROUP;

            if (k < TW_INT4_GROUP || (scale & 0x7f800000u) == 0x7f800000u) {
                tw_int4_decode_groups(at, codes + i / 2, k, dst + 4 * i, add);
                continue;
            }
            if (fetch && !stream && i % 64 == 0) {
                set->fetch(dst + 4 * i);
            }
            set->decode(tw_bits_float(scale), codes + i / 2, dst + 4 * i, add, stream);
        }
        n -= m;
        src = codes + tw_int4_codes(m);
        dst += 4 * m;
    }
}

/* The table `name` of kernels. far(n) says whether n values are worth fetching, and end(stream)
 * follows what went past the cache. */
#define TW_INT4_KERNELS(name, set, far, end)                                                       \
    static __attribute__((noinline)) void int4_rest(                                               \
        const uint8_t *src, size_t n, uint8_t *residual, uint8_t *scales, uint8_t *codes)          \
    {                                                                                              \
        tw_int4_encode_rest(&(set), src, n, residual, scales, codes);                              \
    }                                                                                              \
    TW_VERBS_EXTERN(                                                                               \
        name,                                                                                      \
        tw_int4_encode_blocks(&(set), int4_rest, codec, src, n, residual, dst, feedback, far(n)),  \
        stream && (uintptr_t)dst % (set).aligned == 0                                              \
            ? (tw_int4_decode_blocks(&(set), codec, src, n, dst, false, true, false), end(true))   \
            : tw_int4_decode_blocks(&(set), codec, src, n, dst, add, false, far(n)))

#endif /* TW_CODEC_INT4_LOOPS_H */
