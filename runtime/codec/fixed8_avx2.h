/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fixed8_avx2.h - fixed8.h by AVX2: the search of levels.h, eight values at a time, the bin
 * by a gather and the comparison by the carry; decoding is a gather. The lane functions of static8
 * and mantissa8, which differ in how a rank becomes a code.
 * Twin of: fixed8.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 */
#ifndef TW_CODEC_FIXED8_AVX2_H
#define TW_CODEC_FIXED8_AVX2_H

#include "runtime/codec/loops_avx2.h"
#include "runtime/codec/levels.h"

/* Codes of 16 ranks, in 16-bit numbers. */
typedef __m256i (*tw_fixed8_codes_fn_t)(__m256i ranks);

TW_INLINE __m256i tw_fixed8_rank(const tw_levels_t *levels, __m256 v)
{
    const __m256i low  = _mm256_set1_epi32((int)levels->low),
                  high = _mm256_set1_epi32((int)levels->high);
    const __m256i u    = _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff));
    const __m256i in   = _mm256_min_epi32(_mm256_max_epi32(u, low), high);
    const __m256i bin  = _mm256_srli_epi32(_mm256_sub_epi32(in, low), TW_LEVELS_BIN);

    return _mm256_srli_epi32(
        _mm256_add_epi32(in, _mm256_i32gather_epi32((const int *)levels->bins, bin, 4)),
        TW_LEVELS_BIN);
}

/* The upper 16 bits of 16 lanes, in the order that packing leaves. */
TW_INLINE __m256i tw_fixed8_upper(__m256 a, __m256 b)
{
    return _mm256_packs_epi32(_mm256_srai_epi32(_mm256_castps_si256(a), 16),
                              _mm256_srai_epi32(_mm256_castps_si256(b), 16));
}

/* All ones where 16 upper halves are those of Inf or NaN. */
TW_INLINE __m256i tw_fixed8_not_finite(__m256i upper)
{
    return _mm256_cmpgt_epi16(_mm256_and_si256(upper, _mm256_set1_epi16(0x7fff)),
                              _mm256_set1_epi16(0x7f7f));
}

TW_INLINE __m256 tw_fixed8_values(const tw_levels_t *levels, __m128i codes)
{
    return _mm256_i32gather_ps(levels->value, _mm256_cvtepu8_epi32(codes), 4);
}

/* What 32 codes stand for. */
TW_INLINE tw_lanes_t tw_fixed8_back(const tw_levels_t *levels, __m256i codes)
{
    const __m128i low = _mm256_castsi256_si128(codes), high = _mm256_extracti128_si256(codes, 1);
    tw_lanes_t    v;

    v.a = tw_fixed8_values(levels, low);
    v.b = tw_fixed8_values(levels, _mm_srli_si128(low, 8));
    v.c = tw_fixed8_values(levels, high);
    v.d = tw_fixed8_values(levels, _mm_srli_si128(high, 8));
    return v;
}

/* Zero has no sign; Inf and NaN are 0x80. */
TW_INLINE tw_coded_t tw_fixed8_encode_lanes(const tw_levels_t *levels, tw_lanes_t v,
                                            tw_fixed8_codes_fn_t codes)
{
    const __m256i top = _mm256_set1_epi8((char)0x80);
    const __m256i a = tw_fixed8_rank(levels, v.a), b = tw_fixed8_rank(levels, v.b);
    const __m256i c = tw_fixed8_rank(levels, v.c), d = tw_fixed8_rank(levels, v.d);
    const __m256i ab = tw_fixed8_upper(v.a, v.b), cd = tw_fixed8_upper(v.c, v.d);
    const __m256i size =
        tw_pack_words(codes(_mm256_packus_epi32(a, b)), codes(_mm256_packus_epi32(c, d)), false);
    const __m256i signs = _mm256_and_si256(tw_pack_words(ab, cd, true), top);
    const __m256i zero  = _mm256_cmpeq_epi8(size, _mm256_setzero_si256());
    const __m256i nan   = tw_pack_words(tw_fixed8_not_finite(ab), tw_fixed8_not_finite(cd), true);
    const __m256i code  = _mm256_or_si256(size, _mm256_andnot_si256(zero, signs));
    const __m256i x     = _mm256_blendv_epi8(code, top, nan);

    return (tw_coded_t){x, x, x, x, tw_fixed8_back(levels, x)};
}

TW_INLINE tw_lanes_t tw_fixed8_decode_lanes(const void *self, const uint8_t *codes)
{
    const tw_levels_t *levels = self;
    const __m128i     *p      = (const __m128i *)codes;
    tw_lanes_t         v;

    v.a = tw_fixed8_values(levels, _mm_loadl_epi64(p));
    v.b = tw_fixed8_values(levels, _mm_loadl_epi64((const __m128i *)(codes + 8)));
    v.c = tw_fixed8_values(levels, _mm_loadl_epi64(p + 1));
    v.d = tw_fixed8_values(levels, _mm_loadl_epi64((const __m128i *)(codes + 24)));
    return v;
}

#endif /* TW_CODEC_FIXED8_AVX2_H */
