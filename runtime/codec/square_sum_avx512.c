/* SPDX-License-Identifier: BSD-3-Clause
 * codec/square_sum_avx512.c - the sum of squares of a vector, by AVX-512: four vectors of eight
 * lanes.
 */
#include "config.h"

#include "runtime/codec/avx512.h"
#include "runtime/codec/square_sum.h"

#define TW_VECTORS (TW_SQUARE_LANES / 8)

/* m of a group's values; m is a constant 64 but at the end. Conversions that load by themselves
 * need no shuffle. */
TW_INLINE512 void tw_squares_add512(__m512d *sum, const uint8_t *src, size_t m)
{
    const float *p = (const float *)(const void *)src;

#pragma GCC unroll 8
    for (int j = 0; j < TW_GROUP / 8; j++) {
        const __mmask8 first = (__mmask8)(tw_first512(m) >> (8 * j));
        const __m256   v =
            m == TW_GROUP ? _mm256_loadu_ps(p + 8 * j) : _mm256_maskz_loadu_ps(first, p + 8 * j);
        const __m512d x = _mm512_cvtps_pd(v);

        sum[j % TW_VECTORS] = _mm512_fmadd_pd(x, x, sum[j % TW_VECTORS]);
    }
}

double tw_square_sum_avx512(const uint8_t *src, size_t n)
{
    __m512d sum[TW_VECTORS] = {_mm512_setzero_pd(), _mm512_setzero_pd(), _mm512_setzero_pd(),
                               _mm512_setzero_pd()};
    double  lane[TW_SQUARE_LANES];

    for (; n >= TW_GROUP; n -= TW_GROUP, src += sizeof(float) * TW_GROUP) {
        tw_prefetch512(src);
        tw_squares_add512(sum, src, TW_GROUP);
    }
    if (n > 0) {
        tw_squares_add512(sum, src, n);
    }
#pragma GCC unroll 4
    for (int j = 0; j < TW_VECTORS; j++) {
        _mm512_storeu_pd(lane + 8 * j, sum[j]);
    }
    return tw_square_tree(lane);
}
