/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int4/int4_avx512.c - int4 by AVX-512, 512 values at a time: 16 groups, whose extremes a
 * tree of maxima brings into the lanes of one register, so that there is one division for all.
 * Twin of: int4_scalar.c; same bytes and bits for every input.
 */
#include "config.h"

#include "runtime/codec/avx512.h"
#include "runtime/codec/int4/int4_loops.h"

#define VALUES 512
#define GROUPS (VALUES / TW_INT4_GROUP)

/* Neighbours of a and of b, in pairs, become their maximum, the order of groups being kept. */
TW_INLINE512 __m512i pairs512(__m512i a, __m512i b)
{
    return _mm512_max_epu32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}

TW_INLINE512 __m512i fours512(__m512i a, __m512i b)
{
    return _mm512_max_epu32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

TW_INLINE512 __m512i eights512(__m512i a, __m512i b)
{
    return _mm512_max_epu32(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}

TW_INLINE512 __m512 value512(const uint8_t *src, const uint8_t *residual, int i, bool feedback)
{
    const __m512 v = _mm512_loadu_ps(src + 64 * i);

    return feedback ? _mm512_add_ps(v, _mm512_loadu_ps(residual + 64 * i)) : v;
}

/* The extremes of 16 groups, a lane each, as in int4_scalar.c. */
TW_INLINE512 __m512i extremes512(const uint8_t *src, const uint8_t *residual, bool feedback)
{
    __m512i key[GROUPS];

#pragma GCC unroll 16
    for (int g = 0; g < GROUPS; g++) {
        const __m512i a = _mm512_castps_si512(value512(src, residual, 2 * g, feedback));
        const __m512i b = _mm512_castps_si512(value512(src, residual, 2 * g + 1, feedback));

        key[g] = _mm512_max_epu32(_mm512_rol_epi32(a, 1), _mm512_rol_epi32(b, 1));
    }
#pragma GCC unroll 8
    for (int g = 0; g < 8; g++) {
        key[g] = pairs512(key[2 * g], key[2 * g + 1]);
    }
#pragma GCC unroll 4
    for (int g = 0; g < 4; g++) {
        key[g] = fours512(key[2 * g], key[2 * g + 1]);
    }
    return eights512(eights512(key[0], key[1]), eights512(key[2], key[3]));
}

/* Bits of their scales, none of which is poison. */
TW_INLINE512 __m512i scales512(__m512i extremes)
{
    const __m512i   top    = _mm512_set1_epi32(INT32_MIN);
    const __m512i   size   = _mm512_srli_epi32(extremes, 1);
    const __mmask16 there  = _mm512_cmpge_epu32_mask(size, _mm512_set1_epi32(TW_INT4_LEAST));
    const __m512    eighth = _mm512_mul_ps(_mm512_castsi512_ps(size), _mm512_set1_ps(0.125f));
    const __m512i   up =
        _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(eighth), _mm512_set1_epi32(0xffff)),
                         _mm512_set1_epi32(0x7fff0000));
    const __m512i scale = _mm512_min_epu32(up, _mm512_set1_epi32(TW_INT4_MOST));
    const __m512i other = _mm512_andnot_si512(_mm512_ror_epi32(extremes, 1), top);

    return _mm512_maskz_or_epi32(there, scale, other);
}

/* Codes of 16 values, a byte of two of them in each lane of 64 bits. */
TW_INLINE512 __m512i bytes512(__m512i code)
{
    return _mm512_ternarylogic_epi64(_mm512_and_si512(code, _mm512_set1_epi64(15)),
                                     _mm512_srli_epi64(code, 28), _mm512_set1_epi64(0xf0),
                                     0xf8); /* a | (b & c) */
}

TW_INLINE512 __m512 number512(__m512i code, __m512 scale)
{
    return _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(code), scale), _mm512_setzero_ps());
}

TW_INLINE512 bool encode_all512(const uint8_t *src, uint8_t *residual, uint8_t *scales,
                                uint8_t *codes, bool feedback)
{
    const __m512i places   = _mm512_set_epi64(0, 0, 0, 0, 0, 0, INT64_C(0x7870686058504840),
                                              INT64_C(0x3830282018100800));
    const __m512i extremes = extremes512(src, residual, feedback);
    const __m512i bits     = scales512(extremes);
    const __m512  scale    = _mm512_castsi512_ps(bits);
    const __m512  factor =
        _mm512_maskz_div_ps(_mm512_test_epi32_mask(bits, bits), _mm512_set1_ps(1.0f), scale);

    if (_mm512_cmpge_epu32_mask(extremes, _mm512_set1_epi32((int)0xff000000u)) != 0) {
        return false;
    }
    _mm256_storeu_si256((__m256i *)(void *)scales,
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16)));
#pragma GCC unroll 16
    for (int g = 0; g < GROUPS; g++) {
        const __m512i group = _mm512_set1_epi32(g), seven = _mm512_set1_epi32(7);
        const __m512  f = _mm512_permutexvar_ps(group, factor);
        const __m512  u = value512(src, residual, 2 * g, feedback);
        const __m512  v = value512(src, residual, 2 * g + 1, feedback);
        const __m512i a = _mm512_min_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(u, f)), seven);
        const __m512i b = _mm512_min_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(v, f)), seven);

        if (feedback) {
            const __m512 s = _mm512_permutexvar_ps(group, scale);

            _mm512_storeu_ps(residual + 128 * g, _mm512_sub_ps(u, number512(a, s)));
            _mm512_storeu_ps(residual + 128 * g + 64, _mm512_sub_ps(v, number512(b, s)));
        }
        _mm_storeu_si128(
            (__m128i *)(void *)(codes + 16 * g),
            _mm512_castsi512_si128(_mm512_permutex2var_epi8(bytes512(a), places, bytes512(b))));
    }
    return true;
}

/* The codes of 16 values, from byte `first` on: each lane gets the byte that it shares, below
 * others that are shifted out. */
TW_INLINE512 __m512i cut512(__m512i codes, int first)
{
    const __m512i half   = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    const __m512i places = _mm512_add_epi32(half, _mm512_set1_epi32(first));
    const __m512i above  = _mm512_set1_epi64(INT64_C(24) << 32 | 28);

    return _mm512_srai_epi32(_mm512_sllv_epi32(_mm512_permutexvar_epi8(places, codes), above), 28);
}

/* A group to dst, or with add: to what is there. */
TW_INLINE512 void decode_group512(float scale, const uint8_t *codes, uint8_t *dst, bool add,
                                  bool stream)
{
    const __m512i c = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)codes));
    __m512        u = number512(cut512(c, 0), _mm512_set1_ps(scale));
    __m512        v = number512(cut512(c, 8), _mm512_set1_ps(scale));

    if (add) {
        u = _mm512_add_ps(_mm512_loadu_ps(dst), u);
        v = _mm512_add_ps(_mm512_loadu_ps(dst + 64), v);
    }
    if (stream) {
        _mm512_stream_ps((float *)(void *)dst, u);
        _mm512_stream_ps((float *)(void *)(dst + 64), v);
    } else {
        _mm512_storeu_ps(dst, u);
        _mm512_storeu_ps(dst + 64, v);
    }
}

static const tw_int4_set_t avx512 = {VALUES, 64, encode_all512, decode_group512, tw_prefetch512};

#define ALWAYS(n)   true
#define END(stream) _mm_sfence()

TW_INT4_KERNELS(tw_int4_avx512, avx512, ALWAYS, END);
