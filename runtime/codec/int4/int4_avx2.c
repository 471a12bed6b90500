/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int4/int4_avx2.c - int4 by AVX2, 256 values at a time: 8 groups, with one division for all.
 * Twin of: int4_scalar.c; same bytes and bits for every input.
 */
#include "config.h"

#include "runtime/codec/int4/int4_loops.h"
#include "runtime/codec/loops_avx2.h"

#define VALUES 256
#define GROUPS (VALUES / TW_INT4_GROUP)

/* The largest of 32 values, eight to a register, as in int4_scalar.c. */
TW_INLINE __m256i largest(tw_lanes_t v)
{
    const __m256 part[4] = {v.a, v.b, v.c, v.d};
    __m256i      most    = _mm256_setzero_si256();

#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        const __m256i x = _mm256_castps_si256(part[j]);

        most = _mm256_max_epu32(most,
                                _mm256_or_si256(_mm256_slli_epi32(x, 1), _mm256_srli_epi32(x, 31)));
    }
    return most;
}

/* Neighbours of a and of b, in pairs, become their maximum, the order of groups being kept. */
TW_INLINE __m256i pairs(__m256i a, __m256i b)
{
    return _mm256_max_epu32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
}

TW_INLINE __m256i fours(__m256i a, __m256i b)
{
    return _mm256_max_epu32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

/* The extremes of 8 groups, a lane each. */
TW_INLINE __m256i extremes_of(const uint8_t *src, const uint8_t *residual)
{
    __m256i key[GROUPS];

#pragma GCC unroll 8
    for (int g = 0; g < GROUPS; g++) {
        key[g] =
            largest(tw_lanes_source(src + 128 * g, residual != NULL ? residual + 128 * g : NULL));
    }
    key[0] = fours(pairs(key[0], key[1]), pairs(key[2], key[3]));
    key[1] = fours(pairs(key[4], key[5]), pairs(key[6], key[7]));
    return _mm256_max_epu32(_mm256_permute2x128_si256(key[0], key[1], 0x20),
                            _mm256_permute2x128_si256(key[0], key[1], 0x31));
}

/* Bits of their scales, none of which is poison. */
TW_INLINE __m256i scales_of(__m256i extremes)
{
    const __m256i size   = _mm256_srli_epi32(extremes, 1);
    const __m256i there  = _mm256_cmpgt_epi32(size, _mm256_set1_epi32(TW_INT4_LEAST - 1));
    const __m256  eighth = _mm256_mul_ps(_mm256_castsi256_ps(size), _mm256_set1_ps(0.125f));
    const __m256i up =
        _mm256_and_si256(_mm256_add_epi32(_mm256_castps_si256(eighth), _mm256_set1_epi32(0xffff)),
                         _mm256_set1_epi32(0x7fff0000));
    const __m256i scale = _mm256_min_epu32(up, _mm256_set1_epi32(TW_INT4_MOST));
    const __m256i other = _mm256_slli_epi32(_mm256_xor_si256(extremes, _mm256_set1_epi32(-1)), 31);

    return _mm256_and_si256(_mm256_or_si256(scale, other), there);
}

TW_INLINE __m256 factors_of(__m256i scales)
{
    const __m256 one  = _mm256_set1_ps(1.0f);
    const __m256 none = _mm256_castsi256_ps(_mm256_cmpeq_epi32(scales, _mm256_setzero_si256()));
    const __m256 safe = _mm256_blendv_ps(_mm256_castsi256_ps(scales), one, none);

    return _mm256_andnot_ps(none, _mm256_div_ps(one, safe));
}

TW_INLINE __m256i code_of(__m256 v, __m256 factor)
{
    return _mm256_min_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(v, factor)), _mm256_set1_epi32(7));
}

TW_INLINE __m256 number(__m256i code, __m256 scale)
{
    return _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(code), scale), _mm256_setzero_ps());
}

/* 32 values to 16 bytes. */
TW_INLINE void encode_group(const uint8_t *src, uint8_t *residual, uint8_t *codes, float scale,
                            float factor)
{
    const tw_lanes_t v = tw_lanes_source(src, residual);
    const __m256     f = _mm256_set1_ps(factor), s = _mm256_set1_ps(scale);
    const __m256i    a = code_of(v.a, f), b = code_of(v.b, f), c = code_of(v.c, f),
                  d = code_of(v.d, f);
    __m256i pack;

    if (residual != NULL) {
        tw_lanes_store(residual, tw_lanes_sub(v, (tw_lanes_t){number(a, s), number(b, s),
                                                              number(c, s), number(d, s)}));
    }
    pack = _mm256_and_si256(tw_pack_signed(a, b, c, d), _mm256_set1_epi8(15));
    pack = _mm256_maddubs_epi16(pack, _mm256_set1_epi16(0x1001)); /* even + 16 odd */
    pack = _mm256_permute4x64_epi64(_mm256_packus_epi16(pack, pack), _MM_SHUFFLE(3, 1, 2, 0));
    _mm_storeu_si128((__m128i *)codes, _mm256_castsi256_si128(pack));
}

TW_INLINE bool encode_all(const uint8_t *src, uint8_t *residual, uint8_t *scales, uint8_t *codes,
                          bool feedback)
{
    const __m256i extremes = extremes_of(src, feedback ? residual : NULL),
                  bits     = scales_of(extremes);
    const __m256i poison =
        _mm256_cmpgt_epi32(_mm256_srli_epi32(extremes, 1), _mm256_set1_epi32(0x7f7fffff));
    float   scale[GROUPS], factor[GROUPS];
    __m256i top;

    if (_mm256_movemask_epi8(poison) != 0) {
        return false;
    }
    _mm256_storeu_ps(scale, _mm256_castsi256_ps(bits));
    _mm256_storeu_ps(factor, factors_of(bits));
    top = _mm256_srli_epi32(bits, 16);
    top = _mm256_permute4x64_epi64(_mm256_packus_epi32(top, top), _MM_SHUFFLE(3, 1, 2, 0));
    _mm_storeu_si128((__m128i *)scales, _mm256_castsi256_si128(top));
#pragma GCC unroll 8
    for (int g = 0; g < GROUPS; g++) {
        encode_group(src + 128 * g, feedback ? residual + 128 * g : NULL, codes + 16 * g, scale[g],
                     factor[g]);
    }
    return true;
}

/* Eight of 16 signed bytes, from byte `first` on, a constant, as numbers. */
#define EIGHT(bytes, first, scale)                                                                 \
    number(_mm256_cvtepi8_epi32(_mm_bsrli_si128(bytes, first)), scale)

/* A group to dst, or with add: to what is there. */
TW_INLINE void decode_group(float scale, const uint8_t *codes, uint8_t *dst, bool add, bool stream)
{
    const __m128i fifteen = _mm_set1_epi8(15), eight = _mm_set1_epi8(8);
    const __m128i c    = _mm_xor_si128(_mm_loadu_si128((const __m128i *)codes),
                                       _mm_set1_epi8((char)0x88)); /* 0 .. 15 */
    const __m128i low  = _mm_sub_epi8(_mm_and_si128(c, fifteen), eight);
    const __m128i high = _mm_sub_epi8(_mm_and_si128(_mm_srli_epi16(c, 4), fifteen), eight);
    const __m128i a = _mm_unpacklo_epi8(low, high), b = _mm_unpackhi_epi8(low, high);
    const __m256  s = _mm256_set1_ps(scale);
    tw_lanes_t    v = {EIGHT(a, 0, s), EIGHT(a, 8, s), EIGHT(b, 0, s), EIGHT(b, 8, s)};

    if (stream) {
        tw_lanes_stream(dst, v);
    } else {
        tw_lanes_store(dst, add ? tw_lanes_add(tw_lanes_load(dst), v) : v);
    }
}

static const tw_int4_set_t avx2 = {VALUES, 32, encode_all, decode_group, tw_prefetch_pages};

TW_INT4_KERNELS(tw_int4_avx2, avx2, tw_far, tw_stream_end);
