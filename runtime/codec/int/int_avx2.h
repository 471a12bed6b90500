/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int_avx2.h - codes of `int` by AVX2.
 *
 * As int_avx512.h, in lanes of 128 bits: four codes of at most 32 bits, or two wider ones, are put
 * together by one permutation. The number of bits is a constant wherever this is inlined.
 */
#ifndef TW_CODEC_INT_AVX2_H
#define TW_CODEC_INT_AVX2_H

#include "runtime/codec/int/int_loops.h"
#include "runtime/codec/absmax_avx2.h"

/* What the loops keep in registers within a block; of doubles, factor and scale are doubles. */
typedef struct tw_int_how {
    __m256i to_codes, of_codes, above;
    __m256  factor, scale;
} tw_int_how_t;

TW_INLINE tw_int_how_t tw_int_start2(int bits)
{
    const int width = bits > 32 ? 8 : 4; /* bytes of an integer in a register */
    uint8_t   to[16], of[16];
    int       above[4] = {0};

    for (int i = 0; i < 16; i++) {
        const int own  = bits > 32 ? bits / 8 : TW_INT_OWN(bits);
        const int at   = i / own * (bits > 32 ? 8 : TW_INT_RUN(bits)) + i % own;
        const int byte = i / width * bits / 8 + i % width;

        to[i]        = (uint8_t)(at < 16 ? at : 0x80);
        of[i]        = (uint8_t)(bits > 32 && i % 8 >= bits / 8 ? 0x80 : byte);
        above[i / 4] = 32 - bits - i / 4 * bits % 8;
    }
    return (tw_int_how_t){
        .to_codes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)to)),
        .of_codes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)of)),
        .above    = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)above))};
}

/* Eight integers of 32 bits, or four of 64, whose low bits are the codes. */
TW_INLINE void tw_int_pack2(const tw_int_how_t *how, int bits, __m256i v, uint8_t *dst)
{
    const long long mask = (1ll << (bits < 32 ? bits : 0)) - 1;

    if (bits == 32) {
        _mm256_storeu_si256((__m256i *)dst, v);
        return;
    }
    if (bits % 8 != 0) {
        v = _mm256_or_si256(_mm256_and_si256(v, _mm256_set1_epi64x(mask)),
                            _mm256_and_si256(_mm256_srli_epi64(v, 32 - bits),
                                             _mm256_set1_epi64x(mask << (bits < 32 ? bits : 0))));
    }
    if (bits % 4 != 0) {
        v = _mm256_or_si256(v, _mm256_slli_epi64(_mm256_bsrli_epi128(v, 8), 2 * bits));
    }
    v = _mm256_shuffle_epi8(v, how->to_codes);
    _mm_storeu_si128((__m128i *)dst, _mm256_castsi256_si128(v));
    _mm_storeu_si128((__m128i *)(dst + (bits > 32 ? bits / 4 : bits / 2)),
                     _mm256_extracti128_si256(v, 1));
}

/* The same on the way back: the integers of up to 32 bits; of wider codes the bits alone. */
TW_INLINE __m256i tw_int_unpack2(const tw_int_how_t *how, int bits, const uint8_t *src)
{
    const int step = bits > 32 ? bits / 4 : bits / 2;
    __m256i   v;

    if (bits == 32) {
        return _mm256_loadu_si256((const __m256i *)src);
    }
    v = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)src)),
                                _mm_loadu_si128((const __m128i *)(src + step)), 1);
    v = _mm256_shuffle_epi8(v, how->of_codes);
    return bits > 32 ? v : _mm256_srai_epi32(_mm256_sllv_epi32(v, how->above), 32 - bits);
}

/* The bits of the largest magnitude, of doubles, where NaN is above Inf. */
static __attribute__((noinline, unused)) uint64_t tw_int_most2(const uint8_t *src,
                                                               const uint8_t *residual, size_t n)
{
    const __m256d size    = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7fffffffffffffffll));
    __m256d       most[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(),
                             _mm256_setzero_pd()};
    __m256d       nan     = _mm256_setzero_pd();
    double        lanes[4], in[16], left[16];

    while (n > 0) {
        const size_t   m    = n < 16 ? n : 16;
        const uint8_t *from = src, *rest = residual;

        if (m < 16) {
            memset(in, 0, sizeof(in));
            memcpy(in, src, 8 * m);
            from = (const uint8_t *)in;
            if (residual != NULL) {
                memset(left, 0, sizeof(left));
                memcpy(left, residual, 8 * m);
                rest = (const uint8_t *)left;
            }
        }
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            __m256d v = _mm256_loadu_pd((const double *)(const void *)(from + 32 * j));

            if (residual != NULL) {
                v = _mm256_add_pd(v,
                                  _mm256_loadu_pd((const double *)(const void *)(rest + 32 * j)));
            }
            nan     = _mm256_or_pd(nan, _mm256_cmp_pd(v, v, _CMP_UNORD_Q));
            most[j] = _mm256_max_pd(most[j], _mm256_and_pd(v, size));
        }
        n -= m;
        src += 8 * m;
        residual = residual != NULL ? residual + 8 * m : NULL;
    }
    if (_mm256_movemask_pd(nan) != 0) {
        return UINT64_MAX >> 1;
    }
    most[0] = _mm256_max_pd(_mm256_max_pd(most[0], most[1]), _mm256_max_pd(most[2], most[3]));
    _mm256_storeu_pd(lanes, most[0]);
    for (int j = 1; j < 4; j++) {
        lanes[0] = lanes[j] > lanes[0] ? lanes[j] : lanes[0];
    }
    return tw_double_bits(lanes[0]);
}

TW_INLINE bool tw_int_block2(void *self, const tw_codec_t *codec, size_t e, const uint8_t *src,
                             size_t n, uint8_t *residual, uint8_t *dst)
{
    tw_int_how_t *how    = self;
    double        factor = 0, scale = 0;
    float         factor_f = 0, scale_f = 0;
    bool          finite;

    if (e == 8) {
        finite = tw_int_header_f64(codec, tw_int_most2(src, residual, n), n, dst, &factor, &scale);
        how->factor = _mm256_castpd_ps(_mm256_set1_pd(factor));
        how->scale  = _mm256_castpd_ps(_mm256_set1_pd(scale));
    } else {
        finite      = tw_int_header_f32(codec, tw_avx2_absmax(src, residual, n, false), n, dst,
                                        &factor_f, &scale_f);
        how->factor = _mm256_set1_ps(factor_f);
        how->scale  = _mm256_set1_ps(scale_f);
    }
    return finite;
}

TW_INLINE void tw_int_scale2(void *self, size_t e, const uint8_t *header)
{
    tw_int_how_t *how = self;

    how->scale = e == 8 ? _mm256_castpd_ps(_mm256_set1_pd(tw_bits_double(tw_load_le64(header))))
                        : _mm256_set1_ps(tw_bits_float(tw_load_le32(header)));
}

TW_INLINE void tw_int_fetch2(const uint8_t *p, size_t e)
{
    tw_prefetch_pages(p);
    if (e == 8) {
        tw_prefetch_pages(p + 256);
    }
}

/* The set, from the functions that encode and decode a group of 64. */
#define TW_INT_SET2(encode_group, decode_group)                                                    \
    {                                                                                              \
        64, tw_int_block2, tw_int_scale2, encode_group, decode_group, tw_int_fetch2                \
    }
#define TW_INT_LOOPS2(name, set, bits, e)                                                          \
    TW_INT_LOOPS(name, set, bits, e, tw_int_start2, tw_far, tw_stream_end)

extern const tw_kernels_t *const tw_int64_avx2[TW_INT_BITS_F64 + 1];

#endif /* TW_CODEC_INT_AVX2_H */
