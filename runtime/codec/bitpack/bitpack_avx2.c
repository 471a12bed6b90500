/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_avx2.c - bitpack of float32 by AVX2, truncating and rounding; choice of the
 * loops, those of double too.
 *
 * K = 1 and 2: shift, pack with saturation (which never saturates here), put the lanes right. K =
 * 3: the 24 bytes that 8 values keep are brought together, turned to where they stand in 32 bytes
 * of output, and blended: four such pieces make three whole vectors. K = 4 copies. Rounding comes
 * before, on the bits.
 * Twin of: bitpack.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 * Source: S0, Algorithm 4 (shuffle and overlapping stores); differs in: whole stores.
 */
#include "config.h"

#include "runtime/codec/loops_avx2.h"
#include "runtime/codec/bitpack/bitpack.h"
#include "runtime/codec/bitpack/bitpack_avx2.h"

TW_INLINE __m256i bits_of(__m256 v)
{
    return _mm256_castps_si256(v);
}

TW_INLINE __m256i top_byte(__m256 v)
{
    return _mm256_srli_epi32(bits_of(v), 24);
}

/* 8 values, their 3 top bytes as the 24 lowest bytes, and these turned left by `by` times 4 bytes.
 */
TW_INLINE __m256i pack_three(__m256 v, int by)
{
    const __m256i kept = _mm256_setr_epi8(1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, -1, -1, -1, -1,
                                          1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, -1, -1, -1, -1);
    const __m256i together = by == 0   ? _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7)
                             : by == 6 ? _mm256_setr_epi32(2, 4, 5, 6, 3, 7, 0, 1)
                             : by == 4 ? _mm256_setr_epi32(5, 6, 3, 7, 0, 1, 2, 4)
                                       : _mm256_setr_epi32(3, 7, 0, 1, 2, 4, 5, 6);

    return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(bits_of(v), kept), together);
}

TW_INLINE tw_coded_t pack(tw_lanes_t v, int k)
{
    tw_coded_t coded = {bits_of(v.a), bits_of(v.b), bits_of(v.c), bits_of(v.d), v};

    if (k == 1) {
        coded.x = tw_pack_unsigned(top_byte(v.a), top_byte(v.b), top_byte(v.c), top_byte(v.d));
    } else if (k == 2) {
        coded.x = tw_pack_halves(v.a, v.b);
        coded.y = tw_pack_halves(v.c, v.d);
    } else {
        const __m256i b = pack_three(v.b, 6), c = pack_three(v.c, 4);

        coded.x = _mm256_blend_epi32(pack_three(v.a, 0), b, 0xc0);
        coded.y = _mm256_blend_epi32(b, c, 0xf0);
        coded.z = _mm256_blend_epi32(c, pack_three(v.d, 2), 0xfc);
    }
    coded.back = tw_lanes_top(v, k);
    return coded;
}

/* 16 bytes of codes to the 8 values in them: byte i of the result is that of the place, or 0. */
TW_INLINE __m256 unpack_byte(__m256i sixteen, int first)
{
    const __m256i place =
        _mm256_setr_epi8(-1, -1, -1, 0, -1, -1, -1, 1, -1, -1, -1, 2, -1, -1, -1, 3, -1, -1, -1, 4,
                         -1, -1, -1, 5, -1, -1, -1, 6, -1, -1, -1, 7);

    /* A place of -1 keeps its top bit, so stays 0. */
    return _mm256_castsi256_ps(_mm256_shuffle_epi8(
        sixteen, first == 0 ? place : _mm256_or_si256(place, _mm256_set1_epi32(0x08000000))));
}

TW_INLINE __m256i load_twice(const uint8_t *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}

/* Exactly 24 bytes. */
TW_INLINE __m256 unpack_three(const uint8_t *codes)
{
    const __m256i place = _mm256_setr_epi8(-1, 0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1,
                                           4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15);
    const __m128i *p = (const __m128i *)codes, *q = (const __m128i *)(codes + 8);

    return _mm256_castsi256_ps(
        _mm256_shuffle_epi8(_mm256_set_m128i(_mm_loadu_si128(q), _mm_loadu_si128(p)), place));
}

TW_INLINE tw_lanes_t unpack(const uint8_t *codes, int k)
{
    tw_lanes_t v;

    if (k == 1) {
        const __m256i low = load_twice(codes), high = load_twice(codes + 16);

        v = (tw_lanes_t){unpack_byte(low, 0), unpack_byte(low, 8), unpack_byte(high, 0),
                         unpack_byte(high, 8)};
    } else if (k == 2) {
        v = tw_lanes_unpack_halves(codes);
    } else {
        v.a = unpack_three(codes);
        v.b = unpack_three(codes + 24);
        v.c = unpack_three(codes + 48);
        v.d = unpack_three(codes + 72);
    }
    return v;
}

/* K = 1, rounding. Magnitudes round to at most 0x80; what is above 0x7e is Inf, 0x7e, and NaN is
 * one more. Back: 0x7e becomes 0x7f800000 and 0x7f becomes 0x7fc00000 by setting bits. */
TW_INLINE __m256i round_to_byte(__m256 v)
{
    const __m256i size = _mm256_and_si256(bits_of(v), _mm256_set1_epi32(0x7fffffff));
    const __m256i odd  = _mm256_and_si256(_mm256_srli_epi32(size, 24), _mm256_set1_epi32(1));
    const __m256i sum  = _mm256_add_epi32(size, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fffff)));
    const __m256i top  = _mm256_min_epi32(_mm256_srli_epi32(sum, 24), _mm256_set1_epi32(0x7e));

    return _mm256_sub_epi32(top, _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7f800000)));
}

/* The number that begins with these 7 bits, with the sign of v. */
TW_INLINE __m256 with_sign(__m256i top, __m256 v)
{
    const __m256 sign = _mm256_and_ps(v, _mm256_set1_ps(-0.0f));

    return _mm256_or_ps(_mm256_castsi256_ps(_mm256_slli_epi32(top, 24)), sign);
}

TW_INLINE __m256 expand_byte(__m256 v)
{
    const __m256i size = _mm256_andnot_si256(_mm256_set1_epi32((int)0x80000000u), bits_of(v));
    const __m256i both = _mm256_and_si256(_mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7d000000)),
                                          _mm256_set1_epi32(0x01800000));
    const __m256i nan  = _mm256_and_si256(_mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x7e000000)),
                                          _mm256_set1_epi32(0x00400000));

    return _mm256_castsi256_ps(_mm256_or_si256(_mm256_or_si256(bits_of(v), both), nan));
}

TW_INLINE tw_lanes_t expand_bytes(tw_lanes_t v)
{
    return (tw_lanes_t){expand_byte(v.a), expand_byte(v.b), expand_byte(v.c), expand_byte(v.d)};
}

TW_INLINE tw_coded_t pack_rounded(tw_lanes_t v, int k)
{
    if (k == 1) {
        const __m256i a = round_to_byte(v.a), b = round_to_byte(v.b);
        const __m256i c = round_to_byte(v.c), d = round_to_byte(v.d);
        const __m256i x = _mm256_or_si256(tw_pack_unsigned(a, b, c, d), tw_lanes_signs(v));

        v = (tw_lanes_t){with_sign(a, v.a), with_sign(b, v.b), with_sign(c, v.c),
                         with_sign(d, v.d)};
        return (tw_coded_t){x, x, x, x, expand_bytes(v)};
    }
    return pack(tw_lanes_round(v, 32 - 8 * k), k);
}

TW_INLINE tw_lanes_t unpack_rounded(const uint8_t *codes, int k)
{
    const tw_lanes_t v = unpack(codes, k);

    return k == 1 ? expand_bytes(v) : v;
}

#define BITPACK_KERNELS(how, k)                                                                    \
    TW_INLINE tw_coded_t pack##how##_lanes_##k(const void *self, tw_lanes_t v)                     \
    {                                                                                              \
        (void)self;                                                                                \
        return pack##how(v, k);                                                                    \
    }                                                                                              \
    TW_INLINE tw_lanes_t unpack##how##_lanes_##k(const void *self, const uint8_t *codes)           \
    {                                                                                              \
        (void)self;                                                                                \
        return unpack##how(codes, k);                                                              \
    }                                                                                              \
    TW_AVX2_VALUE_VERBS(kernels##how##_##k, k, pack##how##_lanes_##k, unpack##how##_lanes_##k)     \
    static const tw_kernels_t kernels##how##_##k = {TW_VERBS_OF(kernels##how##_##k)};

BITPACK_KERNELS(, 1)
BITPACK_KERNELS(, 2)
BITPACK_KERNELS(, 3)
BITPACK_KERNELS(_rounded, 1)
BITPACK_KERNELS(_rounded, 2)
BITPACK_KERNELS(_rounded, 3)

extern const tw_kernels_t tw_fp32_avx2;

/* By rounding, which doubles leave to the scalar kernels, and K - 1. */
static const tw_kernels_t *const of_float[2][4] = {
    {&kernels_1, &kernels_2, &kernels_3, &tw_fp32_avx2},
    {&kernels_rounded_1, &kernels_rounded_2, &kernels_rounded_3}};

TW_KERNELS_CHOSEN(tw_bitpack_avx2,
                  codec->dtype == TW_F32
                      ? of_float[tw_bitpack(codec)->round][tw_bitpack(codec)->k - 1]
                  : tw_bitpack(codec)->round ? NULL
                                             : &tw_bitpack64_avx2[tw_bitpack(codec)->k - 1]);
