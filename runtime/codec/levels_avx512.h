/* SPDX-License-Identifier: BSD-3-Clause
 * codec/levels_avx512.h - the rank of 64 magnitudes in any table of levels (levels.h), and what 64
 * codes decode to, by AVX-512. Both exact: comparisons of bits, and bytes looked up.
 */
#ifndef TW_CODEC_LEVELS_AVX512_H
#define TW_CODEC_LEVELS_AVX512_H

#include "runtime/codec/avx512.h"
#include "runtime/codec/levels.h"

/* The thresholds as a search tree: node i of step s stands at place 2^s + i, and decides between
 * ranks below and from 2 i + 1 times 64 >> s on. */
typedef struct tw_search512 {
    uint32_t node[TW_LEVELS_MAX];
} tw_search512_t;

/* Ranks that do not exist are never reached: their thresholds lie above every number. */
static inline void tw_search_build512(tw_search512_t *search, const tw_levels_t *levels)
{
    search->node[0] = 0;
    for (uint32_t at = 1; at < TW_LEVELS_MAX; at++) {
        const uint32_t step = 31 - (uint32_t)__builtin_clz(at);
        const int      rank = (int)((2 * (at - (1u << step)) + 1) * (64u >> step));

        search->node[at] = rank < levels->count ? levels->threshold[rank] : 0x7fffffffu;
    }
}

/* One step: append to each rank the bit that says whether its number is at or beyond its node.
 * Numbers and nodes are below 2^31, so the sign of node - 1 - number is that bit. */
TW_INLINE512 __m512i tw_search_step512(__m512i rank, __m512i node, __m512i next)
{
    return _mm512_shldi_epi32(rank, _mm512_sub_epi32(node, next), 1);
}

/* The number of thresholds at or below each of 16 magnitudes, given as bits below 0x7fffffff. */
TW_INLINE512 __m512i tw_search512(const tw_search512_t *search, __m512i bits)
{
    const uint32_t *node = search->node;
    const __m512i   next = _mm512_add_epi32(bits, _mm512_set1_epi32(1));
    const __m512i   top  = _mm512_sub_epi32(_mm512_set1_epi32((int)node[1]), next);
    const __mmask16 half = _mm512_movepi32_mask(top);
    __m512i         rank = _mm512_srli_epi32(top, 31), low, high;

#pragma GCC unroll 4
    for (int step = 1; step < 5; step++) {
        low  = _mm512_maskz_loadu_epi32((__mmask16)((1u << (1 << step)) - 1), node + (1 << step));
        rank = tw_search_step512(rank, _mm512_permutexvar_epi32(rank, low), next);
    }
    low  = _mm512_permutex2var_epi32(_mm512_loadu_si512(node + 32), rank,
                                     _mm512_loadu_si512(node + 48));
    rank = tw_search_step512(rank, low, next);
    /* The upper half of the last step is for those beyond the first node. */
    low  = _mm512_permutex2var_epi32(_mm512_loadu_si512(node + 64), rank,
                                     _mm512_loadu_si512(node + 80));
    high = _mm512_permutex2var_epi32(_mm512_loadu_si512(node + 96), rank,
                                     _mm512_loadu_si512(node + 112));
    return tw_search_step512(rank, _mm512_mask_mov_epi32(low, half, high), next);
}

/* 128 float32 as four planes of bytes, each in two registers: byte b of value i is byte i of plane
 * b. */
typedef struct tw_planes512 {
    __m512i low[4], high[4];
} tw_planes512_t;

/* From 128 values times scale. */
TW_INLINE512 void tw_planes_build512(tw_planes512_t *planes, const float *value, __m512 scale)
{
    __m512i v[8];

#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        v[j] = _mm512_castps_si512(_mm512_mul_ps(_mm512_loadu_ps(value + 16 * j), scale));
    }
#pragma GCC unroll 4
    for (int b = 0; b < 4; b++) {
        const __m512i places = tw_byte_places512(b);

        planes->low[b]  = tw_gather_bytes512(places, v[0], v[1], v[2], v[3]);
        planes->high[b] = tw_gather_bytes512(places, v[4], v[5], v[6], v[7]);
    }
}

/* The values of 64 codes, bit 7 of a code turning the sign. The codes are put in the order in which
 * interleaving bytes and then pairs of bytes, which happens within quarters of a register, leaves
 * the values in theirs. */
TW_INLINE512 tw_group512_t tw_planes_values512(const tw_planes512_t *planes, __m512i codes)
{
    const __m512i order = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), codes);
    const __m512i b0 = _mm512_permutex2var_epi8(planes->low[0], order, planes->high[0]);
    const __m512i b1 = _mm512_permutex2var_epi8(planes->low[1], order, planes->high[1]);
    const __m512i b2 = _mm512_permutex2var_epi8(planes->low[2], order, planes->high[2]);
    const __m512i b3 =
        _mm512_ternarylogic_epi32(_mm512_permutex2var_epi8(planes->low[3], order, planes->high[3]),
                                  order, _mm512_set1_epi8((char)0x80), 0x78); /* a ^ (b & c) */
    const __m512i lo0 = _mm512_unpacklo_epi8(b0, b1), hi0 = _mm512_unpackhi_epi8(b0, b1);
    const __m512i lo1 = _mm512_unpacklo_epi8(b2, b3), hi1 = _mm512_unpackhi_epi8(b2, b3);

    return (tw_group512_t){{_mm512_castsi512_ps(_mm512_unpacklo_epi16(lo0, lo1)),
                            _mm512_castsi512_ps(_mm512_unpackhi_epi16(lo0, lo1)),
                            _mm512_castsi512_ps(_mm512_unpacklo_epi16(hi0, hi1)),
                            _mm512_castsi512_ps(_mm512_unpackhi_epi16(hi0, hi1))}};
}

#endif /* TW_CODEC_LEVELS_AVX512_H */
