/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack64_avx2.c - bitpack of double, truncating, by AVX2.
 *
 * Two doubles are one load, one byte shuffle and one store of 16 bytes, of which those behind the
 * codes are overwritten by the next; the way back likewise. The loops run while 16 bytes of codes
 * remain, so never read or write behind the end, and the scalar loops do the rest. What a code
 * stands for is the double masked.
 * Twin of: bitpack.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/loops_avx2.h"
#include "runtime/codec/bitpack/bitpack.h"
#include "runtime/codec/bitpack/bitpack_avx2.h"

TW_INLINE __m128i load_two(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

TW_INLINE void store_two(uint8_t *p, __m128i v)
{
    _mm_storeu_si128((__m128i *)p, v);
}

TW_INLINE __m128d add_two(const uint8_t *p, __m128d v)
{
    return _mm_add_pd(_mm_loadu_pd((const double *)p), v);
}

TW_INLINE void pack64(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, size_t k,
                      __m128i from)
{
    for (; n * k >= 16; n -= 2, src += 16, dst += 2 * k) {
        store_two(dst, _mm_shuffle_epi8(load_two(src), from));
    }
    tw_bitpack64_scalar[0][k - 1]->encode(codec, src, n, dst, false);
}

TW_INLINE void unpack64(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                        size_t k, __m128i from)
{
    for (; n * k >= 16; n -= 2, src += 2 * k, dst += 16) {
        store_two(dst, _mm_shuffle_epi8(load_two(src), from));
    }
    tw_bitpack64_scalar[0][k - 1]->decode(codec, src, n, dst, false);
}

TW_INLINE void add64(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *acc, size_t k,
                     __m128i from)
{
    for (; n * k >= 16; n -= 2, src += 2 * k, acc += 16) {
        const __m128d v = _mm_castsi128_pd(_mm_shuffle_epi8(load_two(src), from));

        _mm_storeu_pd((double *)acc, add_two(acc, v));
    }
    tw_values_decode_add(codec, src, n, acc);
}

/* Where v is finite, so is what it is cut to. */
TW_INLINE void feedback64(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                          uint8_t *dst, size_t k, __m128i from)
{
    const __m128i exponent = _mm_set1_epi64x(0x7ff0000000000000);
    const __m128d kept =
        _mm_castsi128_pd(_mm_set1_epi64x((long long)(~UINT64_C(0) << (64 - 8 * k))));

    for (; n * k >= 16; n -= 2) {
        const __m128d r    = _mm_loadu_pd((const double *)residual);
        const __m128d v    = _mm_add_pd(_mm_loadu_pd((const double *)src), r);
        const __m128i bits = _mm_castpd_si128(v);
        const __m128i keep = _mm_cmpeq_epi64(_mm_and_si128(bits, exponent), exponent);
        const __m128d rest = _mm_sub_pd(v, _mm_and_pd(v, kept));

        store_two(dst, _mm_shuffle_epi8(bits, from));
        _mm_storeu_pd((double *)residual, _mm_blendv_pd(rest, r, _mm_castsi128_pd(keep)));
        src += 16;
        residual += 16;
        dst += 2 * k;
    }
    tw_values_encode_feedback(codec, src, n, residual, dst);
}

/* Where byte i of the codes stands in the doubles, and byte i of the doubles in the codes; -1 gives
 * a zero byte. */
#define IN_DOUBLES(i, k) ((i) / (k) < 2 ? (i) / (k)*8 + 8 - (k) + (i) % (k) : -1)
#define IN_CODES(i, k)   ((i) % 8 < 8 - (k) ? -1 : (i) / 8 * (k) + (i) % 8 - 8 + (k))
#define SIXTEEN(OF, k)                                                                             \
    _mm_setr_epi8(OF(0, k), OF(1, k), OF(2, k), OF(3, k), OF(4, k), OF(5, k), OF(6, k), OF(7, k),  \
                  OF(8, k), OF(9, k), OF(10, k), OF(11, k), OF(12, k), OF(13, k), OF(14, k),       \
                  OF(15, k))

#define BITPACK64(k)                                                                               \
    TW_VERBS(with_##k,                                                                             \
             feedback ? feedback64(codec, src, n, residual, dst, k, SIXTEEN(IN_DOUBLES, k))        \
                      : pack64(codec, src, n, dst, k, SIXTEEN(IN_DOUBLES, k)),                     \
             add ? add64(codec, src, n, dst, k, SIXTEEN(IN_CODES, k))                              \
                 : unpack64(codec, src, n, dst, k, SIXTEEN(IN_CODES, k)))

BITPACK64(1)
BITPACK64(2)
BITPACK64(3)
BITPACK64(4)
BITPACK64(5)
BITPACK64(6)
BITPACK64(7)
BITPACK64(8)

const tw_kernels_t tw_bitpack64_avx2[8] = {
    {TW_VERBS_OF(with_1)}, {TW_VERBS_OF(with_2)}, {TW_VERBS_OF(with_3)}, {TW_VERBS_OF(with_4)},
    {TW_VERBS_OF(with_5)}, {TW_VERBS_OF(with_6)}, {TW_VERBS_OF(with_7)}, {TW_VERBS_OF(with_8)}};
