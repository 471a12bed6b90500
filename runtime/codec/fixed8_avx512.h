/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fixed8_avx512.h - static8 and mantissa8 (fixed8.h) by AVX-512: the search for any table,
 * the code of each rank, and planes of bytes on the way back.
 */
#ifndef TW_CODEC_FIXED8_AVX512_H
#define TW_CODEC_FIXED8_AVX512_H

#include <stdlib.h>

#include "runtime/codec/levels_avx512.h"
#include "runtime/codec/ops.h"

#define TW_NAN_CODE512 0x80

typedef struct tw_fixed512 {
    tw_search512_t search;
    tw_planes512_t planes;
    __m512i        code[2]; /* of each rank */
} tw_fixed512_t;

static bool tw_fixed8_prepare512(tw_codec_t *codec)
{
    tw_search512_t *search = malloc(sizeof(*search));

    if (search == NULL) {
        return false;
    }
    tw_search_build512(search, codec->table);
    codec->vectors = search;
    return true;
}

/* What the loops keep in registers, or next to them. */
TW_INLINE512 tw_fixed512_t tw_fixed8_start512(const tw_codec_t *codec)
{
    const tw_levels_t *levels = codec->table;
    tw_fixed512_t      fixed;

    fixed.search  = *(const tw_search512_t *)codec->vectors;
    fixed.code[0] = _mm512_loadu_si512(levels->code);
    fixed.code[1] = _mm512_loadu_si512(levels->code + 64);
    tw_planes_build512(&fixed.planes, levels->value, _mm512_set1_ps(1.0f));
    return fixed;
}

TW_INLINE512 __m512i tw_fixed8_rank512(const tw_fixed512_t *fixed, __m512 v)
{
    return tw_search512(&fixed->search,
                        _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff)));
}

/* Lanes of a group that are not finite. */
TW_INLINE512 __mmask64 tw_fixed8_strange512(const tw_group512_t *g)
{
    const __mmask32 low  = _mm512_kunpackw(_mm512_fpclass_ps_mask(g->v[1], TW_NOT_FINITE512),
                                           _mm512_fpclass_ps_mask(g->v[0], TW_NOT_FINITE512));
    const __mmask32 high = _mm512_kunpackw(_mm512_fpclass_ps_mask(g->v[3], TW_NOT_FINITE512),
                                           _mm512_fpclass_ps_mask(g->v[2], TW_NOT_FINITE512));

    return _mm512_kunpackd(high, low);
}

TW_INLINE512 tw_codes512_t tw_fixed8_codes512(const void *context, tw_group512_t g)
{
    const tw_fixed512_t *fixed  = context;
    const __m512i        unused = _mm512_setzero_si512();
    const __m512i        places = tw_byte_places512(0);
    const __m512i        ranks  = tw_gather_bytes512(
                places, tw_fixed8_rank512(fixed, g.v[0]), tw_fixed8_rank512(fixed, g.v[1]),
                tw_fixed8_rank512(fixed, g.v[2]), tw_fixed8_rank512(fixed, g.v[3]));
    const __m512i   top  = tw_gather_bytes512(tw_byte_places512(3), _mm512_castps_si512(g.v[0]),
                                              _mm512_castps_si512(g.v[1]), _mm512_castps_si512(g.v[2]),
                                              _mm512_castps_si512(g.v[3]));
    const __m512i   code = _mm512_permutex2var_epi8(fixed->code[0], ranks, fixed->code[1]);
    const __m512i   sign = _mm512_and_si512(top, _mm512_set1_epi8((char)0x80));
    const __mmask64 some = _mm512_test_epi8_mask(code, code); /* zero has no sign */
    const __m512i   both = _mm512_mask_mov_epi8(code, some, _mm512_or_si512(code, sign));

    return (tw_codes512_t){{_mm512_mask_mov_epi8(both, tw_fixed8_strange512(&g),
                                                 _mm512_set1_epi8((char)TW_NAN_CODE512)),
                            unused, unused, unused}};
}

TW_INLINE512 tw_group512_t tw_fixed8_values512(const void *context, tw_codes512_t codes)
{
    const tw_fixed512_t *fixed = context;
    const __m512         nan_  = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
    const __mmask64      lost =
        _mm512_cmpeq_epi8_mask(codes.c[0], _mm512_set1_epi8((char)TW_NAN_CODE512));
    tw_group512_t g = tw_planes_values512(&fixed->planes, codes.c[0]);

    g.v[0] = _mm512_mask_mov_ps(g.v[0], (__mmask16)lost, nan_);
    g.v[1] = _mm512_mask_mov_ps(g.v[1], (__mmask16)(lost >> 16), nan_);
    g.v[2] = _mm512_mask_mov_ps(g.v[2], (__mmask16)(lost >> 32), nan_);
    g.v[3] = _mm512_mask_mov_ps(g.v[3], (__mmask16)(lost >> 48), nan_);
    return g;
}

/* The kernels tw_<name>_avx512. */
#define TW_FIXED8_KERNELS512(name)                                                                 \
    TW_VALUES_LOOPS512(name, 1, tw_fixed512_t, tw_fixed8_start512, tw_fixed8_codes512,             \
                       tw_fixed8_values512)                                                        \
    extern const tw_kernels_t tw_##name##_avx512;                                                  \
    const tw_kernels_t        tw_##name##_avx512 = {.prepare         = tw_fixed8_prepare512,       \
                                                    .encode          = name##_encode,              \
                                                    .decode          = name##_decode,              \
                                                    .decode_add      = name##_decode_add,          \
                                                    .encode_feedback = name##_encode_feedback}

#endif /* TW_CODEC_FIXED8_AVX512_H */
