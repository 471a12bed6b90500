/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_avx512.c - bitpack by AVX-512; of double in bitpack64_avx512.c.
 *
 * 64 values are four registers, and each register of codes takes its bytes from one to four of
 * them, by one byte permutation each, merged under a mask; the way back is one permutation a
 * register with the low bytes zeroed. Rounding is the integer arithmetic of rounding.h before that.
 * All of it moves and adds bits, so it is exact. Twin of: bitpack.c; same bytes and bits for every
 * input (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/bitpack/bitpack.h"
#include "runtime/codec/bitpack/bitpack_avx512.h"
#include "runtime/codec/rounding_avx512.h"

/* Byte i of the codes is this byte of the float32 it comes from, counted in registers of 64, ... */
#define OF_FLOAT(i, k) (char)((i) / (k)*4 + 4 - (k) + (i) % (k))
/* ... and byte i of a float32 this byte of the codes; the low 4 - k are zeroed by a mask. */
#define OF_CODE3(i, k) (char)((i) / 4 * 3 + (i) % 4 - 1)

/* Three bytes a value: register j of the codes begins within register j of the values. */
TW_INLINE512 tw_codes512_t three_bytes(__m512i v0, __m512i v1, __m512i v2, __m512i v3)
{
    static const char places[3][64] = {{SIXTY_FOUR(OF_FLOAT, 0, 3)},
                                       {SIXTY_FOUR(OF_FLOAT, 64, 3)},
                                       {SIXTY_FOUR(OF_FLOAT, 128, 3)}};
    const __m512i     p0 = _mm512_loadu_si512(places[0]), p1 = _mm512_loadu_si512(places[1]);
    const __m512i     p2 = _mm512_loadu_si512(places[2]);

    /* 48 bytes come from each register of values. */
    return (tw_codes512_t){
        {_mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(p0, v0), ~UINT64_C(0) << 48, p0, v1),
         _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(p1, v1), ~UINT64_C(0) << 32, p1, v2),
         _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(p2, v2), ~UINT64_C(0) << 16, p2, v3),
         _mm512_setzero_si512()}};
}

/* The upper k bytes of 64 values. */
TW_INLINE512 tw_codes512_t upper_bytes(int k, __m512i v0, __m512i v1, __m512i v2, __m512i v3)
{
    const __m512i unused = _mm512_setzero_si512();

    if (k == 1) {
        return (tw_codes512_t){
            {tw_gather_bytes512(tw_byte_places512(3), v0, v1, v2, v3), unused, unused, unused}};
    }
    if (k == 2) {
        return tw_upper_halves512(v0, v1, v2, v3);
    }
    return three_bytes(v0, v1, v2, v3);
}

TW_INLINE512 tw_codes512_t cut(int k, tw_group512_t g)
{
    return upper_bytes(k, _mm512_castps_si512(g.v[0]), _mm512_castps_si512(g.v[1]),
                       _mm512_castps_si512(g.v[2]), _mm512_castps_si512(g.v[3]));
}

/* K = 1: bits 31..24 as round_to_byte() has them: NaN, Inf and what rounds beyond 0x7d apart. */
TW_INLINE512 __m512i rounded_byte(__m512 v)
{
    const __m512i   sign = _mm512_set1_epi32((int)0x80000000u), bits = _mm512_castps_si512(v);
    const __m512i   size = _mm512_castps_si512(_mm512_abs_ps(v));
    const __m512i   odd  = _mm512_and_si512(_mm512_srli_epi32(size, 24), _mm512_set1_epi32(1));
    const __m512i   up = _mm512_add_epi32(_mm512_add_epi32(size, _mm512_set1_epi32(0x7fffff)), odd);
    const __m512i   most = _mm512_min_epu32(up, _mm512_set1_epi32(0x7e000000));
    const __mmask16 nan  = _mm512_fpclass_ps_mask(v, 0x81);
    const __m512i   code = _mm512_mask_mov_epi32(most, nan, _mm512_set1_epi32(0x7f000000));

    return _mm512_ternarylogic_epi32(code, sign, bits, 0xf8); /* a | (b & c) */
}

TW_INLINE512 __m512i rounded(int k, __m512 v)
{
    return k == 1 ? rounded_byte(v) : tw_round_top512(v, 8 * (4 - (unsigned)k));
}

TW_INLINE512 tw_codes512_t round_off(int k, tw_group512_t g)
{
    return upper_bytes(k, rounded(k, g.v[0]), rounded(k, g.v[1]), rounded(k, g.v[2]),
                       rounded(k, g.v[3]));
}

/* 16 codes of one byte as upper bytes. */
TW_INLINE512 __m512 byte_up(__m128i codes)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu8_epi32(codes), 24));
}

TW_INLINE512 tw_group512_t one_byte_up(__m512i c)
{
    return (tw_group512_t){
        {byte_up(_mm512_castsi512_si128(c)), byte_up(_mm512_extracti32x4_epi32(c, 1)),
         byte_up(_mm512_extracti32x4_epi32(c, 2)), byte_up(_mm512_extracti32x4_epi32(c, 3))}};
}

/* 48 bytes of codes, the lowest of a register, as the upper three of 16 values. */
TW_INLINE512 __m512 three_up(__m512i places, __m512i codes)
{
    return _mm512_castsi512_ps(
        _mm512_maskz_permutexvar_epi8(UINT64_C(0xeeeeeeeeeeeeeeee), places, codes));
}

TW_INLINE512 tw_group512_t three_bytes_up(tw_codes512_t codes)
{
    static const char list[64] = {SIXTY_FOUR(OF_CODE3, 0, 3)};
    const __m512i     places   = _mm512_loadu_si512(list);

    /* alignr: registers seen as one, from dword 12, 8 and 4 on. */
    return (tw_group512_t){{three_up(places, codes.c[0]),
                            three_up(places, _mm512_alignr_epi32(codes.c[1], codes.c[0], 12)),
                            three_up(places, _mm512_alignr_epi32(codes.c[2], codes.c[1], 8)),
                            three_up(places, _mm512_alignr_epi32(codes.c[2], codes.c[2], 4))}};
}

TW_INLINE512 tw_group512_t bytes_up(int k, tw_codes512_t c)
{
    if (k == 1) {
        return one_byte_up(c.c[0]);
    }
    if (k == 2) {
        return (tw_group512_t){{tw_shifted_half512(c.c[0], 0), tw_shifted_half512(c.c[0], 1),
                                tw_shifted_half512(c.c[1], 0), tw_shifted_half512(c.c[1], 1)}};
    }
    return three_bytes_up(c);
}

/* K = 1, round: upper bytes, with those that stand for NaN and Inf replaced. */
TW_INLINE512 __m512 named_up(__m512 v)
{
    const __m512i   bits = _mm512_castps_si512(v), size = _mm512_castps_si512(_mm512_abs_ps(v));
    const __mmask16 nan  = _mm512_cmpeq_epi32_mask(size, _mm512_set1_epi32(0x7f000000));
    const __mmask16 inf  = _mm512_cmpeq_epi32_mask(size, _mm512_set1_epi32(0x7e000000));
    const __m512i   some = _mm512_mask_or_epi32(bits, nan, bits, _mm512_set1_epi32(0x00c00000));

    return _mm512_castsi512_ps(
        _mm512_mask_or_epi32(some, inf, some, _mm512_set1_epi32(0x01800000)));
}

TW_INLINE512 tw_group512_t named_bytes_up(tw_codes512_t c)
{
    const tw_group512_t g = one_byte_up(c.c[0]);

    return (tw_group512_t){
        {named_up(g.v[0]), named_up(g.v[1]), named_up(g.v[2]), named_up(g.v[3])}};
}

/* The kernels for float32 and K = k below 4: `name`. */
#define FLOAT_KERNELS(name, k, to_codes, to_values)                                                \
    TW_INLINE512 tw_codes512_t name##_codes(tw_group512_t g)                                       \
    {                                                                                              \
        return to_codes;                                                                           \
    }                                                                                              \
    TW_INLINE512 tw_group512_t name##_values(tw_codes512_t c)                                      \
    {                                                                                              \
        return to_values;                                                                          \
    }                                                                                              \
    TW_VALUES_LOOPS512(name, k, name##_codes, name##_values)                                       \
    static const tw_kernels_t name = {TW_VERBS_OF(name)};

FLOAT_KERNELS(float_1, 1, cut(1, g), bytes_up(1, c))
FLOAT_KERNELS(float_2, 2, cut(2, g), bytes_up(2, c))
FLOAT_KERNELS(float_3, 3, cut(3, g), bytes_up(3, c))
FLOAT_KERNELS(float_1_round, 1, round_off(1, g), named_bytes_up(c))
FLOAT_KERNELS(float_2_round, 2, round_off(2, g), bytes_up(2, c))
FLOAT_KERNELS(float_3_round, 3, round_off(3, g), bytes_up(3, c))

extern const tw_kernels_t tw_fp32_avx512;

/* By rounding and K - 1; keeping every byte rounds nothing. */
static const tw_kernels_t *const of_float[2][4] = {
    {&float_1, &float_2, &float_3, &tw_fp32_avx512},
    {&float_1_round, &float_2_round, &float_3_round}};

TW_KERNELS_CHOSEN(tw_bitpack_avx512,
                  (codec->dtype == TW_F64
                       ? tw_bitpack64_avx512[tw_bitpack(codec)->round]
                       : of_float[tw_bitpack(codec)->round])[tw_bitpack(codec)->k - 1]);
