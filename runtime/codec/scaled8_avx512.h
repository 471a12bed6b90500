/* SPDX-License-Identifier: BSD-3-Clause
 * codec/scaled8_avx512.h - the blocks of tree8 and int8 (scaled8.h) by AVX-512.
 *
 * A block is read twice, for its maximum and for its codes, the second time from the first cache;
 * while it is encoded, the next block is prefetched, so that memory is never idle.
 */
#ifndef TW_CODEC_SCALED8_AVX512_H
#define TW_CODEC_SCALED8_AVX512_H

#include "runtime/base/bytes.h"
#include "runtime/codec/levels_avx512.h"
#include "runtime/codec/scaled8.h"

/* What a type's loops need within one block; filled by start() and then kept in registers. */
typedef struct tw_state512 {
    __m512         factor; /* encoding: q / maximum */
    __m512         scale;  /* decoding              */
    __m512i        table[5];
    tw_planes512_t planes;
} tw_state512_t;

typedef struct tw_scaled512 {
    float numerator, least; /* as in scaled8.h */
    void (*start_encode)(tw_state512_t *state, const tw_codec_t *codec);
    void (*start_decode)(tw_state512_t *state, const tw_codec_t *codec, float scale);
    __m512i (*codes)(const tw_state512_t *state, const tw_codec_t *codec,
                     const tw_group512_t *group);
    tw_group512_t (*values)(const tw_state512_t *state, __m512i codes);
} tw_scaled512_t;

TW_INLINE512 __m512i tw_larger512(__m512i most, __m512 v)
{
    const __m512i size = _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));

    return _mm512_max_epu32(most, size);
}

TW_INLINE512 void tw_absmax_group512(__m512i *most, const tw_group512_t *g)
{
    most[0] = tw_larger512(most[0], g->v[0]);
    most[1] = tw_larger512(most[1], g->v[1]);
    most[2] = tw_larger512(most[2], g->v[2]);
    most[3] = tw_larger512(most[3], g->v[3]);
}

/* Bits of the largest |v|, Inf and NaN on top. fetch: what follows is prefetched. */
TW_INLINE512 uint32_t tw_absmax512(const uint8_t *src, uint8_t *residual, size_t n, bool feedback,
                                   bool fetch)
{
    __m512i       most[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                             _mm512_setzero_si512()};
    tw_group512_t g;
    size_t        i = 0;

    for (; i + TW_GROUP <= n; i += TW_GROUP) {
        if (fetch) {
            tw_prefetch512(src + 4 * i);
        }
        g = tw_load_sum512(src + 4 * i, tw_at512(residual, i, feedback), TW_GROUP, feedback);
        tw_absmax_group512(most, &g);
    }
    if (i < n) {
        g = tw_load_sum512(src + 4 * i, tw_at512(residual, i, feedback), n - i, feedback);
        tw_absmax_group512(most, &g);
    }
    most[0] =
        _mm512_max_epu32(_mm512_max_epu32(most[0], most[1]), _mm512_max_epu32(most[2], most[3]));
    return _mm512_reduce_max_epu32(most[0]);
}

TW_INLINE512 void tw_scaled8_group512(const tw_scaled512_t *type, const tw_state512_t *state,
                                      const tw_codec_t *codec, const uint8_t *src, size_t m,
                                      uint8_t *residual, uint8_t *dst, bool feedback)
{
    const tw_group512_t v = tw_load_sum512(src, residual, m, feedback);
    const __m512i       c = type->codes(state, codec, &v);

    tw_store_code512(dst, c, 0, m, false);
    if (feedback) {
        tw_store512(residual, tw_sub512(v, type->values(state, c)), m, false);
    }
}

TW_INLINE512 void tw_scaled8_block512(const tw_scaled512_t *type, tw_state512_t *state,
                                      const tw_codec_t *codec, const uint8_t *src, size_t n,
                                      uint8_t *residual, uint8_t *dst, bool feedback)
{
    const uint32_t most = tw_absmax512(src, residual, n, feedback, false);
    float          factor, scale;
    size_t         i = 0;

    if (!tw_scaled8_header(most, type->numerator, type->least, n, dst, &factor, &scale)) {
        return;
    }
    dst += TW_SCALED8_HEADER;
    state->factor = _mm512_set1_ps(factor);
    if (feedback) {
        type->start_decode(state, codec, scale);
    }
    for (; i + TW_GROUP <= n; i += TW_GROUP) {
        tw_prefetch512(src + 4 * i);
        if (feedback) {
            tw_prefetch512(residual + 4 * i);
        }
        tw_scaled8_group512(type, state, codec, src + 4 * i, TW_GROUP,
                            tw_at512(residual, i, feedback), dst + i, feedback);
    }
    if (i < n) {
        tw_scaled8_group512(type, state, codec, src + 4 * i, n - i, tw_at512(residual, i, feedback),
                            dst + i, feedback);
    }
}

TW_INLINE512 void tw_scaled8_encode512(const tw_scaled512_t *type, const tw_codec_t *codec,
                                       const uint8_t *src, size_t n, uint8_t *residual,
                                       uint8_t *dst, bool feedback)
{
    const size_t  block = codec->block;
    tw_state512_t state;

    type->start_encode(&state, codec);
    for (; n > 0; src += 4 * block, dst += TW_SCALED8_HEADER + block) {
        const size_t m = n < block ? n : block;

        tw_scaled8_block512(type, &state, codec, src, m, residual, dst, feedback);
        residual = tw_at512(residual, block, feedback);
        n -= m;
    }
}

/* Groups of one block from i on, as long as they are whole. Returns where it stopped. */
TW_INLINE512 size_t tw_scaled8_run512(const tw_scaled512_t *type, const tw_state512_t *state,
                                      const uint8_t *src, size_t i, size_t n, uint8_t *dst,
                                      bool stream, bool add)
{
    for (; i + TW_GROUP <= n; i += TW_GROUP) {
        tw_group512_t g = type->values(state, _mm512_loadu_si512(src + i));

        if (!stream) {
            tw_prefetch512(dst + 4 * i);
        }
        g = add ? tw_add512(tw_load512(dst + 4 * i, TW_GROUP), g) : g;
        tw_store512(dst + 4 * i, g, TW_GROUP, stream);
    }
    return i;
}

/* The m values of a block from i on, fewer than a group. */
TW_INLINE512 void tw_scaled8_end512(const tw_scaled512_t *type, const tw_state512_t *state,
                                    const uint8_t *src, size_t i, size_t m, uint8_t *dst, bool add)
{
    tw_group512_t g = type->values(state, _mm512_maskz_loadu_epi8(tw_first512(m), src + i));

    g = add ? tw_add512(tw_load512(dst + 4 * i, m), g) : g;
    tw_store512(dst + 4 * i, g, m, false);
}

static inline void tw_poison512(uint8_t *dst, size_t n)
{
    const __m512        nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
    const tw_group512_t g   = {{nan, nan, nan, nan}};

    for (; n > TW_GROUP; n -= TW_GROUP, dst += 4 * TW_GROUP) {
        tw_store512(dst, g, TW_GROUP, false);
    }
    tw_store512(dst, g, n, false);
}

/* All of a poison block is NaN, with what was there before added or not. */
TW_INLINE512 void tw_scaled8_decode512(const tw_scaled512_t *type, const tw_codec_t *codec,
                                       const uint8_t *src, size_t n, uint8_t *dst, bool stream,
                                       bool add)
{
    const size_t  block = codec->block;
    tw_state512_t state;

    for (; n > 0; src += TW_SCALED8_HEADER + block, dst += 4 * block) {
        const uint32_t bits  = tw_load_le32(src);
        const uint8_t *codes = src + TW_SCALED8_HEADER;
        const size_t   m     = n < block ? n : block;
        const size_t   head  = stream ? tw_head512(dst, 4, m) : m;
        size_t         i     = 0;

        n -= m;
        if ((bits & 0x7f800000u) == 0x7f800000u) {
            tw_poison512(dst, m);
            continue;
        }
        type->start_decode(&state, codec, tw_bits_float(bits));
        if (head < m) {
            tw_scaled8_end512(type, &state, codes, 0, head, dst, false);
            i = tw_scaled8_run512(type, &state, codes, head, m, dst, true, false);
        } else {
            i = tw_scaled8_run512(type, &state, codes, 0, m, dst, false, add);
        }
        if (i < m) {
            tw_scaled8_end512(type, &state, codes, i, m - i, dst, add);
        }
    }
    if (stream) {
        _mm_sfence();
    }
}

/* The table `name` of kernels of a type. */
#define TW_SCALED8_KERNELS512(name, type, prepare_or_null)                                         \
    TW_VERBS(name##_verbs, tw_scaled8_encode512(&(type), codec, src, n, residual, dst, feedback),  \
             tw_scaled8_decode512(&(type), codec, src, n, dst, stream, add))                       \
    extern const tw_kernels_t name;                                                                \
    const tw_kernels_t        name = {.prepare = prepare_or_null, TW_VERBS_OF(name##_verbs)}

#endif /* TW_CODEC_SCALED8_AVX512_H */
