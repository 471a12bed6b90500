/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack64_avx512.c - bitpack of double by AVX-512.
 *
 * 8 values are one register and one byte permutation, stored under a mask. Rounding is the integer
 * arithmetic of rounding.h before that. Twin of: bitpack.c; same bytes and bits for every input
 * (tests/codec/test_twins.c).
 */
#include "config.h"

#include <string.h>

#include "runtime/codec/avx512.h"
#include "runtime/codec/bitpack/bitpack_avx512.h"

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

/* Any number of them. */
TW_INLINE512 void encode_all(const places_t *places, size_t k, bool round, const uint8_t *src,
                             size_t n, uint8_t *residual, uint8_t *dst, bool feedback)
{
    for (; n >= 8 && feedback; n -= 8, src += 64, residual += 64, dst += 8 * k) {
        feedback_doubles(places, k, round, src, 8, residual, dst);
    }
    for (; n >= 8; n -= 8, src += 64, dst += 8 * k) {
        encode_doubles(places, k, round, src, 8, dst);
    }
    if (feedback) {
        feedback_doubles(places, k, round, src, n, residual, dst);
    } else {
        encode_doubles(places, k, round, src, n, dst);
    }
}

TW_INLINE512 void decode_all(const places_t *places, size_t k, bool round, const uint8_t *src,
                             size_t n, uint8_t *dst, bool add)
{
    for (; n >= 8; n -= 8, src += 8 * k, dst += 64) {
        decode_doubles(places, k, round, src, 8, dst, add);
    }
    decode_doubles(places, k, round, src, n, dst, add);
}

/* The kernels for double and K = k: `name`. */
#define DOUBLE_KERNELS(name, k, round)                                                             \
    static const char name##_codes[64]  = {SIXTY_FOUR(OF_DOUBLE, 0, k)};                           \
    static const char name##_values[64] = {SIXTY_FOUR(OF_CODE, 0, k)};                             \
    TW_VERBS(name, const places_t places = places_of(name##_codes, name##_values, k);              \
             k == 8 && !feedback ? (void)memcpy(dst, src, 8 * n)                                   \
                                 : encode_all(&places, k, round, src, n, residual, dst, feedback), \
             const places_t places = places_of(name##_codes, name##_values, k);                    \
             k == 8 && !add ? (void)memcpy(dst, src, 8 * n)                                        \
                            : decode_all(&places, k, round, src, n, dst, add))                     \
    static const tw_kernels_t name = {TW_VERBS_OF(name)};

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

const tw_kernels_t *const tw_bitpack64_avx512[2][8] = {
    {&double_1, &double_2, &double_3, &double_4, &double_5, &double_6, &double_7, &double_8},
    {&double_1_round, &double_2_round, &double_3_round, &double_4_round, &double_5_round,
     &double_6_round, &double_7_round}};
