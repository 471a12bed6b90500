/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int64_avx2.c - `int` of double by AVX2, a loop for each number of bits.
 *
 * A code of more than 32 bits becomes a number by way of the low bits of 2^52, from which 2^52 is
 * subtracted again. Twin of: int_f64.c; same bytes and bits for every input.
 */
#include "config.h"

#include "runtime/codec/int/int_avx2.h"

TW_INLINE __m256i rounded(const tw_int_how_t *how, const uint8_t *src, uint8_t *residual)
{
    const __m256d magic = _mm256_set1_pd(0x1.8p52);
    __m256d       v     = _mm256_loadu_pd((const double *)(const void *)src), y;

    if (residual != NULL) {
        v = _mm256_add_pd(v, _mm256_loadu_pd((const double *)(void *)residual));
    }
    y = _mm256_add_pd(_mm256_mul_pd(v, _mm256_castps_pd(how->factor)), magic);
    if (residual != NULL) {
        const __m256d back = _mm256_mul_pd(_mm256_sub_pd(y, magic), _mm256_castps_pd(how->scale));

        _mm256_storeu_pd((double *)(void *)residual, _mm256_sub_pd(v, back));
    }
    return _mm256_castpd_si256(y);
}

TW_INLINE void encode_group(const void *self, int bits, const uint8_t *src, uint8_t *residual,
                            uint8_t *dst)
{
    const tw_int_how_t *how = self;
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        const __m256i a = rounded(how, src + 64 * j, tw_beyond(residual, 64 * (size_t)j));
        const __m256i b = rounded(how, src + 64 * j + 32, tw_beyond(residual, 64 * (size_t)j + 32));

        if (bits > 32) {
            tw_int_pack2(how, bits, a, dst + bits * j);
            tw_int_pack2(how, bits, b, dst + bits * j + bits / 2);
        } else {
            const __m256 low = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b),
                                                 _MM_SHUFFLE(2, 0, 2, 0));

            tw_int_pack2(
                how, bits,
                _mm256_permute4x64_epi64(_mm256_castps_si256(low), _MM_SHUFFLE(3, 1, 2, 0)),
                dst + bits * j);
        }
    }
}

TW_INLINE __m256d wide(const tw_int_how_t *how, int bits, const uint8_t *src)
{
    const __m256i sign = _mm256_set1_epi64x(1ll << (bits > 32 ? bits - 1 : 0));
    const __m256i two  = _mm256_castpd_si256(_mm256_set1_pd(0x1p52));
    const __m256i c    = _mm256_xor_si256(tw_int_unpack2(how, bits, src), sign);

    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(c, two)),
                         _mm256_castsi256_pd(_mm256_or_si256(sign, two)));
}

TW_INLINE void decode_four(const tw_int_how_t *how, __m256d code, uint8_t *dst, bool add,
                           bool stream)
{
    double *p = (double *)(void *)dst;
    __m256d v = _mm256_mul_pd(code, _mm256_castps_pd(how->scale));

    v = add ? _mm256_add_pd(_mm256_loadu_pd(p), v) : v;
    tw_store_next((float *)(void *)dst, _mm256_castpd_ps(v), stream);
}

TW_INLINE void decode_group(const void *self, int bits, const uint8_t *src, uint8_t *dst, bool add,
                            bool stream)
{
    const tw_int_how_t *how = self;

#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        __m256d a, b;

        if (bits > 32) {
            a = wide(how, bits, src + bits * j);
            b = wide(how, bits, src + bits * j + bits / 2);
        } else {
            const __m256i c = tw_int_unpack2(how, bits, src + bits * j);

            a = _mm256_cvtepi32_pd(_mm256_castsi256_si128(c));
            b = _mm256_cvtepi32_pd(_mm256_extracti128_si256(c, 1));
        }
        decode_four(how, a, dst + 64 * j, add, stream);
        decode_four(how, b, dst + 64 * j + 32, add, stream);
    }
}

static const tw_int_set_t double_set = TW_INT_SET2(encode_group, decode_group);

#define LOOPS(bits)    TW_INT_LOOPS2(double_##bits, double_set, bits, 8)
#define LOOPS_OF(bits) [bits] = &double_##bits,

TW_INT_EACH_F64(LOOPS)

const tw_kernels_t *const tw_int64_avx2[TW_INT_BITS_F64 + 1] = {TW_INT_EACH_F64(LOOPS_OF)};
