/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_avx512.c - bitpack by AVX-512.
 *
 * float32: 64 values are four registers, and each register of codes takes its bytes from one to
 * four of them, by one byte permutation each, merged under a mask; the way back is one permutation
 * a register with the low bytes zeroed. double: 8 values are one register and one permutation,
 * stored under a mask. Rounding is the integer arithmetic of rounding.h before that. All of it
 * moves and adds bits, so it is exact. Twin of: bitpack.c; same bytes and bits for every input
 * (tests/codec/test_twins.c).
 */
#include "config.h"

#include <string.h>

#include "runtime/codec/bitpack/bitpack.h"
#include "runtime/codec/rounding_avx512.h"

/* Lists of 64: OF(0), OF(1), ... */
#define EIGHT(OF, i, k)                                                                            \
    OF((i) + 0, k), OF((i) + 1, k), OF((i) + 2, k), OF((i) + 3, k), OF((i) + 4, k),                \
        OF((i) + 5, k), OF((i) + 6, k), OF((i) + 7, k)
#define SIXTY_FOUR(OF, k)                                                                          \
    EIGHT(OF, 0, k), EIGHT(OF, 8, k), EIGHT(OF, 16, k), EIGHT(OF, 24, k), EIGHT(OF, 32, k),        \
        EIGHT(OF, 40, k), EIGHT(OF, 48, k), EIGHT(OF, 56, k)

/* Byte i of the codes is this byte of the float32 it comes from, counted in registers of 64, ... */
#define OF_FLOAT(i, k) (char)((i) / (k)*4 + 4 - (k) + (i) % (k))
/* ... and byte i of a float32 this byte of the codes; the low 4 - k are zeroed by a mask. */
#define OF_CODE3(i, k) (char)((i) / 4 * 3 + (i) % 4 - 1)

/* Three bytes a value: register j of the codes begins within register j of the values. */
TW_INLINE512 tw_codes512_t three_bytes(__m512i v0, __m512i v1, __m512i v2, __m512i v3)
{
    static const char places[3][64] = {
        {SIXTY_FOUR(OF_FLOAT, 3)},
        {EIGHT(OF_FLOAT, 64, 3), EIGHT(OF_FLOAT, 72, 3), EIGHT(OF_FLOAT, 80, 3),
         EIGHT(OF_FLOAT, 88, 3), EIGHT(OF_FLOAT, 96, 3), EIGHT(OF_FLOAT, 104, 3),
         EIGHT(OF_FLOAT, 112, 3), EIGHT(OF_FLOAT, 120, 3)},
        {EIGHT(OF_FLOAT, 128, 3), EIGHT(OF_FLOAT, 136, 3), EIGHT(OF_FLOAT, 144, 3),
         EIGHT(OF_FLOAT, 152, 3), EIGHT(OF_FLOAT, 160, 3), EIGHT(OF_FLOAT, 168, 3),
         EIGHT(OF_FLOAT, 176, 3), EIGHT(OF_FLOAT, 184, 3)}};
    const __m512i p0 = _mm512_loadu_si512(places[0]), p1 = _mm512_loadu_si512(places[1]);
    const __m512i p2 = _mm512_loadu_si512(places[2]);

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
    return k == 3 ? three_bytes(v0, v1, v2, v3) : (tw_codes512_t){{v0, v1, v2, v3}};
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
    static const char list[64] = {SIXTY_FOUR(OF_CODE3, 3)};
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
    if (k == 3) {
        return three_bytes_up(c);
    }
    return (tw_group512_t){{_mm512_castsi512_ps(c.c[0]), _mm512_castsi512_ps(c.c[1]),
                            _mm512_castsi512_ps(c.c[2]), _mm512_castsi512_ps(c.c[3])}};
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

/* The kernels for float32 and K = k: `name`. */
#define FLOAT_KERNELS(name, k, to_codes, to_values)                                                \
    TW_INLINE512 tw_codes512_t name##_codes(const void *none, tw_group512_t g)                     \
    {                                                                                              \
        (void)none;                                                                                \
        return to_codes;                                                                           \
    }                                                                                              \
    TW_INLINE512 tw_group512_t name##_values(const void *none, tw_codes512_t c)                    \
    {                                                                                              \
        (void)none;                                                                                \
        return to_values;                                                                          \
    }                                                                                              \
    TW_VALUES_LOOPS512(name, k, tw_nothing512_t, tw_no_start512, name##_codes, name##_values)      \
    static const tw_kernels_t name = TW_LOOPS512(name);

FLOAT_KERNELS(float_1, 1, cut(1, g), bytes_up(1, c))
FLOAT_KERNELS(float_2, 2, cut(2, g), bytes_up(2, c))
FLOAT_KERNELS(float_3, 3, cut(3, g), bytes_up(3, c))
FLOAT_KERNELS(float_4, 4, cut(4, g), bytes_up(4, c))
FLOAT_KERNELS(float_1_round, 1, round_off(1, g), named_bytes_up(c))
FLOAT_KERNELS(float_2_round, 2, round_off(2, g), bytes_up(2, c))
FLOAT_KERNELS(float_3_round, 3, round_off(3, g), bytes_up(3, c))

/* Eight doubles, and where their bytes go. */
typedef struct places {
    __m512i   to_codes, to_values;
    __mmask64 kept; /* bytes of the values that are not zero */
} places_t;

#define OF_DOUBLE(i, k) (char)((i) / (k)*8 + 8 - (k) + (i) % (k))
#define OF_CODE(i, k)   (char)((i) / 8 * (k) + (i) % 8 - (8 - (k)))

TW_INLINE512 places_t places_of(const char *to_codes, const char *to_values, size_t k)
{
    const uint64_t upper = (UINT64_C(256) - (UINT64_C(1) << (8 - k))) & 0xff;

    return (places_t){_mm512_loadu_si512(to_codes), _mm512_loadu_si512(to_values),
                      upper * UINT64_C(0x0101010101010101)};
}

TW_INLINE512 __m512d load_doubles(const uint8_t *src, size_t m)
{
    return m == 8 ? _mm512_loadu_pd(src) : _mm512_maskz_loadu_pd((__mmask8)tw_first512(m), src);
}

TW_INLINE512 void store_doubles(uint8_t *dst, __m512d v, size_t m)
{
    if (m == 8) {
        _mm512_storeu_pd(dst, v);
    } else {
        _mm512_mask_storeu_pd(dst, (__mmask8)tw_first512(m), v);
    }
}

/* round_to_byte() in bits 63..56. */
TW_INLINE512 __m512i rounded_byte_of_double(__m512d v)
{
    const __m512i  sign = _mm512_set1_epi64(INT64_MIN), bits = _mm512_castpd_si512(v);
    const __m512i  size = _mm512_castpd_si512(_mm512_abs_pd(v));
    const __m512i  odd  = _mm512_and_si512(_mm512_srli_epi64(size, 56), _mm512_set1_epi64(1));
    const __m512i  half = _mm512_set1_epi64((INT64_C(1) << 55) - 1);
    const __m512i  up   = _mm512_add_epi64(_mm512_add_epi64(size, half), odd);
    const __m512i  most = _mm512_min_epu64(up, _mm512_set1_epi64(INT64_C(0x7e) << 56));
    const __mmask8 nan  = _mm512_fpclass_pd_mask(v, 0x81);
    const __m512i  code = _mm512_mask_mov_epi64(most, nan, _mm512_set1_epi64(INT64_C(0x7f) << 56));

    return _mm512_ternarylogic_epi64(code, sign, bits, 0xf8); /* a | (b & c) */
}

/* tw_round_top64(), in place. */
TW_INLINE512 __m512i rounded_double(__m512d v, unsigned drop)
{
    const __m512i  bits = _mm512_castpd_si512(v);
    const __m512i  odd  = _mm512_and_si512(_mm512_srli_epi64(bits, drop), _mm512_set1_epi64(1));
    const __m512i  half = _mm512_set1_epi64((INT64_C(1) << (drop - 1)) - 1);
    const __m512i  up   = _mm512_add_epi64(_mm512_add_epi64(bits, half), odd);
    const __mmask8 nan  = _mm512_fpclass_pd_mask(v, 0x81);

    return _mm512_mask_or_epi64(up, nan, bits, _mm512_set1_epi64(INT64_C(1) << 51));
}

TW_INLINE512 __m512i codes_of_doubles(const places_t *places, size_t k, bool round, __m512d v)
{
    __m512i bits = _mm512_castpd_si512(v);

    if (round) {
        bits = k == 1 ? rounded_byte_of_double(v) : rounded_double(v, 8 * (8 - (unsigned)k));
    }
    return _mm512_permutexvar_epi8(places->to_codes, bits);
}

TW_INLINE512 __m512d doubles_of_codes(const places_t *places, size_t k, bool round, __m512i codes)
{
    __m512i  bits = _mm512_maskz_permutexvar_epi8(places->kept, places->to_values, codes);
    __m512i  size;
    __mmask8 nan, inf;

    if (round && k == 1) {
        size = _mm512_and_si512(bits, _mm512_set1_epi64(INT64_MAX));
        nan  = _mm512_cmpeq_epi64_mask(size, _mm512_set1_epi64(INT64_C(0x7f) << 56));
        inf  = _mm512_cmpeq_epi64_mask(size, _mm512_set1_epi64(INT64_C(0x7e) << 56));
        bits = _mm512_mask_or_epi64(bits, nan, bits, _mm512_set1_epi64(INT64_C(0x00f8) << 48));
        bits = _mm512_mask_or_epi64(bits, inf, bits, _mm512_set1_epi64(INT64_C(0x01f0) << 48));
    }
    return _mm512_castsi512_pd(bits);
}

TW_INLINE512 void encode_doubles(const places_t *places, size_t k, bool round, const uint8_t *src,
                                 size_t m, uint8_t *dst)
{
    const __m512i codes = codes_of_doubles(places, k, round, load_doubles(src, m));

    _mm512_mask_storeu_epi8(dst, tw_first512(k * m), codes);
}

TW_INLINE512 void decode_doubles(const places_t *places, size_t k, bool round, const uint8_t *src,
                                 size_t m, uint8_t *dst, bool add)
{
    const __m512i codes = _mm512_maskz_loadu_epi8(tw_first512(k * m), src);
    __m512d       v     = doubles_of_codes(places, k, round, codes);

    v = add ? _mm512_add_pd(load_doubles(dst, m), v) : v;
    store_doubles(dst, v, m);
}

TW_INLINE512 void feedback_doubles(const places_t *places, size_t k, bool round, const uint8_t *src,
                                   size_t m, uint8_t *residual, uint8_t *dst)
{
    const __m512d  old   = load_doubles(residual, m);
    const __m512d  v     = _mm512_add_pd(load_doubles(src, m), old);
    const __m512i  codes = codes_of_doubles(places, k, round, v);
    const __m512d  back  = doubles_of_codes(places, k, round, codes);
    const __mmask8 keep  = _mm512_fpclass_pd_mask(v, TW_NOT_FINITE512) |
                          _mm512_fpclass_pd_mask(back, TW_NOT_FINITE512);

    _mm512_mask_storeu_epi8(dst, tw_first512(k * m), codes);
    store_doubles(residual, _mm512_mask_mov_pd(_mm512_sub_pd(v, back), keep, old), m);
}

/* The kernels for double and K = k: `name`. */
#define DOUBLE_KERNELS(name, k, round)                                                             \
    static const char name##_codes[64]  = {SIXTY_FOUR(OF_DOUBLE, k)};                              \
    static const char name##_values[64] = {SIXTY_FOUR(OF_CODE, k)};                                \
    static void name##_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, \
                              bool stream)                                                         \
    {                                                                                              \
        const places_t places = places_of(name##_codes, name##_values, k);                         \
        (void)codec;                                                                               \
        (void)stream;                                                                              \
        for (; n >= 8; n -= 8, src += 64, dst += 8 * k) {                                          \
            encode_doubles(&places, k, round, src, 8, dst);                                        \
        }                                                                                          \
        encode_doubles(&places, k, round, src, n, dst);                                            \
    }                                                                                              \
    static void name##_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, \
                              bool stream)                                                         \
    {                                                                                              \
        const places_t places = places_of(name##_codes, name##_values, k);                         \
        (void)codec;                                                                               \
        (void)stream;                                                                              \
        for (; n >= 8; n -= 8, src += 8 * k, dst += 64) {                                          \
            decode_doubles(&places, k, round, src, 8, dst, false);                                 \
        }                                                                                          \
        decode_doubles(&places, k, round, src, n, dst, false);                                     \
    }                                                                                              \
    static void name##_decode_add(const tw_codec_t *codec, const uint8_t *src, size_t n,           \
                                  uint8_t *acc)                                                    \
    {                                                                                              \
        const places_t places = places_of(name##_codes, name##_values, k);                         \
        (void)codec;                                                                               \
        for (; n >= 8; n -= 8, src += 8 * k, acc += 64) {                                          \
            decode_doubles(&places, k, round, src, 8, acc, true);                                  \
        }                                                                                          \
        decode_doubles(&places, k, round, src, n, acc, true);                                      \
    }                                                                                              \
    static void name##_encode_feedback(const tw_codec_t *codec, const uint8_t *src, size_t n,      \
                                       uint8_t *residual, uint8_t *dst)                            \
    {                                                                                              \
        const places_t places = places_of(name##_codes, name##_values, k);                         \
        (void)codec;                                                                               \
        for (; n >= 8; n -= 8, src += 64, residual += 64, dst += 8 * k) {                          \
            feedback_doubles(&places, k, round, src, 8, residual, dst);                            \
        }                                                                                          \
        feedback_doubles(&places, k, round, src, n, residual, dst);                                \
    }                                                                                              \
    static const tw_kernels_t name = TW_LOOPS512(name);

DOUBLE_KERNELS(double_1, 1, false)
DOUBLE_KERNELS(double_2, 2, false)
DOUBLE_KERNELS(double_3, 3, false)
DOUBLE_KERNELS(double_4, 4, false)
DOUBLE_KERNELS(double_5, 5, false)
DOUBLE_KERNELS(double_6, 6, false)
DOUBLE_KERNELS(double_7, 7, false)
DOUBLE_KERNELS(double_8, 8, false)
DOUBLE_KERNELS(double_1_round, 1, true)
DOUBLE_KERNELS(double_2_round, 2, true)
DOUBLE_KERNELS(double_3_round, 3, true)
DOUBLE_KERNELS(double_4_round, 4, true)
DOUBLE_KERNELS(double_5_round, 5, true)
DOUBLE_KERNELS(double_6_round, 6, true)
DOUBLE_KERNELS(double_7_round, 7, true)

/* By rounding and K - 1; keeping every byte rounds nothing. */
static const tw_kernels_t *const of_float[2][4] = {
    {&float_1, &float_2, &float_3, &float_4},
    {&float_1_round, &float_2_round, &float_3_round, &float_4}};
static const tw_kernels_t *const of_double[2][8] = {
    {&double_1, &double_2, &double_3, &double_4, &double_5, &double_6, &double_7, &double_8},
    {&double_1_round, &double_2_round, &double_3_round, &double_4_round, &double_5_round,
     &double_6_round, &double_7_round, &double_8}};

static const tw_kernels_t *kernels_of(const tw_codec_t *codec)
{
    return codec->dtype == TW_F64 ? of_double[tw_bitpack(codec)->round][tw_bitpack(codec)->k - 1]
                                  : of_float[tw_bitpack(codec)->round][tw_bitpack(codec)->k - 1];
}

static void bitpack_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                           bool stream)
{
    if ((size_t)tw_bitpack(codec)->k == codec->element) {
        memcpy(dst, src, n * codec->element);
    } else {
        kernels_of(codec)->encode(codec, src, n, dst, stream);
    }
}

static void bitpack_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                           bool stream)
{
    if ((size_t)tw_bitpack(codec)->k == codec->element) {
        memcpy(dst, src, n * codec->element);
    } else {
        kernels_of(codec)->decode(codec, src, n, dst, stream);
    }
}

static void bitpack_decode_add(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *acc)
{
    kernels_of(codec)->decode_add(codec, src, n, acc);
}

static void bitpack_encode_feedback(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                    uint8_t *residual, uint8_t *dst)
{
    kernels_of(codec)->encode_feedback(codec, src, n, residual, dst);
}

extern const tw_kernels_t tw_bitpack_avx512;

const tw_kernels_t tw_bitpack_avx512 = TW_LOOPS512(bitpack);
