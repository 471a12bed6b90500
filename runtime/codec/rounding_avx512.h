/* SPDX-License-Identifier: BSD-3-Clause
 * codec/rounding_avx512.h - rounding.h by AVX-512, and the way of upper halves into codes and back.
 */
#ifndef TW_CODEC_ROUNDING_AVX512_H
#define TW_CODEC_ROUNDING_AVX512_H

#include "runtime/codec/avx512.h"
#include "runtime/codec/ops.h"

/* The upper 32 - drop bits are those of tw_round_top32(), in place; below them stands anything. */
TW_INLINE512 __m512i tw_round_top512(__m512 v, unsigned drop)
{
    const __m512i   bits = _mm512_castps_si512(v);
    const __mmask16 nan  = _mm512_fpclass_ps_mask(v, 0x81); /* quiet and signalling */
    const __m512i   odd  = _mm512_and_si512(_mm512_srli_epi32(bits, drop), _mm512_set1_epi32(1));
    const __m512i   half = _mm512_set1_epi32((1 << (drop - 1)) - 1);
    const __m512i   up   = _mm512_add_epi32(_mm512_add_epi32(bits, half), odd);

    return _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x00400000));
}

/* The upper halves of 64 values, two bytes each. */
TW_INLINE512 tw_codes512_t tw_upper_halves512(__m512i v0, __m512i v1, __m512i v2, __m512i v3)
{
    const __m512i unused = _mm512_setzero_si512();
    const __m512i places = _mm512_set_epi8(
        63, 62, 59, 58, 55, 54, 51, 50, 47, 46, 43, 42, 39, 38, 35, 34, 31, 30, 27, 26, 23, 22, 19,
        18, 15, 14, 11, 10, 7, 6, 3, 2, 63, 62, 59, 58, 55, 54, 51, 50, 47, 46, 43, 42, 39, 38, 35,
        34, 31, 30, 27, 26, 23, 22, 19, 18, 15, 14, 11, 10, 7, 6, 3, 2);
    const __mmask64 upper = UINT64_C(0xffffffff) << 32;

    return (tw_codes512_t){
        {_mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(places, v0), upper, places, v1),
         _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(places, v2), upper, places, v3),
         unused, unused}};
}

/* 16 of 32 codes as upper halves of float32; half is a constant. */
TW_INLINE512 __m512 tw_shifted_half512(__m512i codes, int half)
{
    const __m256i part =
        half == 0 ? _mm512_castsi512_si256(codes) : _mm512_extracti64x4_epi64(codes, 1);

    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16));
}

#endif /* TW_CODEC_ROUNDING_AVX512_H */
