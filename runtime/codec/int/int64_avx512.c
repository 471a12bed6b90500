/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int64_avx512.c - `int` of double by AVX-512, a loop for each number of bits.
 *
 * As int_avx512.c, with 1.5 * 2^52. Codes of at most 32 bits become integers of 32 bits, wider ones
 * stay in 64. Twin of: int_f64.c; same bytes and bits for every input.
 */
#include "config.h"

#include "runtime/codec/int/int_avx512.h"

/* 64 values: 8 j .. 8 j + 7 in v[j]. */
typedef struct eights512 {
    __m512d v[8];
} eights512_t;

TW_INLINE512 __mmask8 lanes512(size_t m, int j)
{
    return (__mmask8)(tw_first512(m) >> (8 * j));
}

TW_INLINE512 __m512d load512(const uint8_t *src, size_t m, int j)
{
    return m == TW_GROUP ? _mm512_loadu_pd(src + 64 * j)
                         : _mm512_maskz_loadu_pd(lanes512(m, j), src + 64 * j);
}

TW_INLINE512 void store512(uint8_t *dst, __m512d v, size_t m, int j, bool stream)
{
    if (stream) {
        _mm512_stream_pd((double *)(void *)(dst + 64 * j), v);
    } else if (m == TW_GROUP) {
        _mm512_storeu_pd(dst + 64 * j, v);
    } else {
        _mm512_mask_storeu_pd(dst + 64 * j, lanes512(m, j), v);
    }
}

TW_INLINE512 __m512d sum512(const uint8_t *src, const uint8_t *residual, size_t m, int j,
                            bool feedback)
{
    const __m512d v = load512(src, m, j);

    return feedback ? _mm512_add_pd(v, load512(residual, m, j)) : v;
}

TW_INLINE512 uint64_t largest512(const uint8_t *src, const uint8_t *residual, size_t n,
                                 bool feedback)
{
    const __m512i size    = _mm512_set1_epi64(INT64_MAX);
    __m512i       most[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                             _mm512_setzero_si512()};

    for (; n >= 32; n -= 32, src += 256, residual = feedback ? residual + 256 : NULL) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            const __m512i v = _mm512_castpd_si512(sum512(src, residual, TW_GROUP, j, feedback));

            most[j] = _mm512_max_epu64(most[j], _mm512_and_si512(v, size));
        }
    }
    for (int j = 0; j < 4 && n > (size_t)(8 * j); j++) {
        const __m512i v = _mm512_castpd_si512(sum512(src, residual, n, j, feedback));

        most[j] = _mm512_max_epu64(most[j], _mm512_and_si512(v, size));
    }
    most[0] =
        _mm512_max_epu64(_mm512_max_epu64(most[0], most[1]), _mm512_max_epu64(most[2], most[3]));
    return _mm512_reduce_max_epu64(most[0]);
}

/* In a function of its own: all numbers of bits share it. */
static __attribute__((noinline)) uint64_t most512(const uint8_t *src, const uint8_t *residual,
                                                  size_t n, bool feedback)
{
    return feedback ? largest512(src, residual, n, true) : largest512(src, NULL, n, false);
}

/* Codes of more than 32 bits: of 8 values one permutation. */
TW_INLINE512 void pack_wide512(int bits, __m512i places, __m512i codes, size_t m, int j,
                               uint8_t *dst)
{
    const size_t at = (size_t)(bits * j), bytes = tw_int_bytes(bits, m);

    if (m == TW_GROUP) {
        _mm512_mask_storeu_epi8(dst + at, tw_first512((size_t)bits),
                                _mm512_permutexvar_epi8(places, codes));
    } else if (bytes > at) {
        _mm512_mask_storeu_epi8(dst + at,
                                tw_first512(bytes - at < (size_t)bits ? bytes - at : (size_t)bits),
                                _mm512_permutexvar_epi8(places, codes));
    }
}

TW_INLINE512 void encode_group512(const tw_int_how512_t *how, int bits, const uint8_t *src,
                                  size_t m, uint8_t *residual, uint8_t *dst, bool feedback)
{
    const __m512i low =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512d magic = _mm512_set1_pd(0x1.8p52);
    __m512i       y[8], codes[4];

#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        const __m512d v = sum512(src, residual, m, j, feedback);
        const __m512d rounded =
            _mm512_add_pd(_mm512_mul_pd(v, _mm512_castps_pd(how->factor)), magic);

        y[j] = _mm512_castpd_si512(rounded);
        if (feedback) {
            const __m512d back =
                _mm512_mul_pd(_mm512_sub_pd(rounded, magic), _mm512_castps_pd(how->scale));

            store512(residual, _mm512_sub_pd(v, back), m, j, false);
        }
        if (bits > 32) {
            pack_wide512(bits, how->to_codes, y[j], m, j, dst);
        }
    }
    if (bits <= 32) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            codes[j] = _mm512_permutex2var_epi32(y[2 * j], low, y[2 * j + 1]);
        }
        tw_int_pack512(bits, how->to_codes, codes, m, dst);
    }
}

TW_INLINE512 bool start512(tw_int_how512_t *how, const tw_codec_t *codec, const uint8_t *src,
                           size_t n, uint8_t *residual, uint8_t *dst, bool feedback)
{
    const uint64_t most = most512(src, residual, n, feedback);
    double         factor, scale;
    const bool     finite = tw_int_header_f64(codec, most, n, dst, &factor, &scale);

    how->factor = _mm512_castpd_ps(_mm512_set1_pd(factor));
    how->scale  = _mm512_castpd_ps(_mm512_set1_pd(scale));
    return finite;
}

TW_INLINE512 void scale512(tw_int_how512_t *how, const uint8_t *header)
{
    how->scale = _mm512_castpd_ps(_mm512_set1_pd(tw_bits_double(tw_load_le64(header))));
}

TW_INLINE512 __m512i unpack_wide512(int bits, __m512i places, const uint8_t *src, size_t m, int j)
{
    const size_t    at = (size_t)(bits * j), bytes = tw_int_bytes(bits, m);
    const uint64_t  upper = (UINT64_C(256) - (UINT64_C(1) << (8 - bits / 8))) & 0xff;
    const __mmask64 there = m == TW_GROUP ? tw_first512((size_t)bits)
                            : bytes > at  ? tw_first512(bytes - at)
                                          : 0;
    const __m512i   v = _mm512_maskz_permutexvar_epi8(upper * UINT64_C(0x0101010101010101), places,
                                                      _mm512_maskz_loadu_epi8(there, src + at));

    return _mm512_srai_epi64(v, (unsigned)(64 - bits));
}

TW_INLINE512 void decode_one512(const tw_int_how512_t *how, __m512d code, uint8_t *dst, size_t m,
                                int j, bool stream, bool add)
{
    const __m512d v = _mm512_mul_pd(code, _mm512_castps_pd(how->scale));

    store512(dst, add ? _mm512_add_pd(load512(dst, m, j), v) : v, m, j, stream);
}

TW_INLINE512 void decode_group512(const tw_int_how512_t *how, int bits, const uint8_t *src,
                                  size_t m, uint8_t *dst, bool stream, bool add)
{
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        if (bits > 32) {
            const __m512i a = unpack_wide512(bits, how->of_codes, src, m, 2 * j);
            const __m512i b = unpack_wide512(bits, how->of_codes, src, m, 2 * j + 1);

            decode_one512(how, _mm512_cvtepi64_pd(a), dst, m, 2 * j, stream, add);
            decode_one512(how, _mm512_cvtepi64_pd(b), dst, m, 2 * j + 1, stream, add);
        } else {
            const __m512i c = tw_int_unpack512(bits, how->of_codes, how->above, src, m, j);

            decode_one512(how, _mm512_cvtepi32_pd(_mm512_castsi512_si256(c)), dst, m, 2 * j, stream,
                          add);
            decode_one512(how, _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(c, 1)), dst, m,
                          2 * j + 1, stream, add);
        }
    }
}

static const tw_int_set512_t double_set = {sizeof(double), start512, encode_group512, scale512,
                                           decode_group512};

#define LOOPS(bits)    TW_INT_LOOPS512(double_##bits, double_set, bits)
#define LOOPS_OF(bits) [bits] = &double_##bits,

TW_INT_EACH_F64(LOOPS)

const tw_kernels_t *const tw_int64_avx512[TW_INT_BITS_F64 + 1] = {TW_INT_EACH_F64(LOOPS_OF)};
