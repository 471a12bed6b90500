/* SPDX-License-Identifier: BSD-3-Clause
 * codec/tree8/tree8_avx2.c - tree8 by AVX2, both splits.
 *
 * Encoding is the search of levels.h, eight at a time: the bin by a gather from a table of 8 KB,
 * the comparison by the carry of an addition. |y| is at most 1 and two roundings, far below the
 * table's end, so only its start is clamped to. Decoding gathers the level and multiplies by the
 * scale: eight of them in about four cycles of a Sapphire Rapids core, where arithmetic in place of
 * the gather, two lines for each decade and a correction to the listed bits, takes some twenty
 * instructions.
 * Twin of: tree8.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/levels.h"
#include "runtime/codec/scaled8_avx2.h"
#include "runtime/codec/tree8/tree8.h"

TW_INLINE __m256 tree8_level(const tw_levels_t *levels, __m256i code)
{
    return _mm256_i32gather_ps(levels->value, code, 4);
}

/* Ranks of |y|, y not NaN. */
TW_INLINE __m256i tree8_rank(const tw_levels_t *levels, __m256 y)
{
    const __m256i low  = _mm256_set1_epi32((int)levels->low);
    const __m256i size = _mm256_max_epi32(
        low, _mm256_and_si256(_mm256_castps_si256(y), _mm256_set1_epi32(0x7fffffff)));
    const __m256i bin = _mm256_srli_epi32(_mm256_sub_epi32(size, low), TW_LEVELS_BIN);

    return _mm256_srli_epi32(
        _mm256_add_epi32(size, _mm256_i32gather_epi32((const int *)levels->bins, bin, 4)),
        TW_LEVELS_BIN);
}

/* The level of a rank with the sign of y, times the scale. */
TW_INLINE __m256 tree8_back(const tw_scaled8_lanes_t *self, __m256i rank, __m256 y)
{
    const __m256 sign = _mm256_and_ps(y, _mm256_set1_ps(-0.0f));

    return _mm256_mul_ps(_mm256_or_ps(tree8_level(self->table, rank), sign), self->scale);
}

TW_INLINE tw_coded_t tree8_encode_lanes(const void *self, tw_lanes_t v)
{
    const tw_scaled8_lanes_t *s = self;
    const tw_lanes_t          y = tw_lanes_scale(v, s->factor);
    const __m256i             a = tree8_rank(s->table, y.a), b = tree8_rank(s->table, y.b);
    const __m256i             c = tree8_rank(s->table, y.c), d = tree8_rank(s->table, y.d);
    tw_coded_t                coded;

    coded.x = _mm256_or_si256(tw_pack_unsigned(a, b, c, d), tw_lanes_signs(y));
    coded.y = coded.z = coded.w = coded.x;
    coded.back.a                = tree8_back(s, a, y.a);
    coded.back.b                = tree8_back(s, b, y.b);
    coded.back.c                = tree8_back(s, c, y.c);
    coded.back.d                = tree8_back(s, d, y.d);
    return coded;
}

TW_INLINE __m256 tree8_decode_eight(const tw_levels_t *levels, const uint8_t *codes)
{
    return tree8_level(levels, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)codes)));
}

TW_INLINE tw_lanes_t tree8_decode_lanes(const void *self, const uint8_t *codes)
{
    const tw_scaled8_lanes_t *s = self;
    tw_lanes_t                v;

    v.a = tree8_decode_eight(s->table, codes);
    v.b = tree8_decode_eight(s->table, codes + 8);
    v.c = tree8_decode_eight(s->table, codes + 16);
    v.d = tree8_decode_eight(s->table, codes + 24);
    return tw_lanes_scale(v, s->scale);
}

TW_AVX2_SCALED8_KERNELS(tw_tree8_avx2, tw_tree8_header, tree8_encode_lanes, tree8_decode_lanes);
