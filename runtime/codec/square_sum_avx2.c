/* SPDX-License-Identifier: BSD-3-Clause
 * codec/square_sum_avx2.c - the sum of squares of a vector, by AVX2: eight vectors of four lanes.
 */
#include "config.h"

#include "runtime/codec/avx2.h"
#include "runtime/codec/square_sum.h"

#define TW_VECTORS (TW_SQUARE_LANES / 4)

/* Conversions that load by themselves need no shuffle. */
TW_INLINE void tw_squares_add(__m256d *sum, const uint8_t *src)
{
    const float *p = (const float *)(const void *)src;

#pragma GCC unroll 8
    for (int j = 0; j < TW_VECTORS; j++) {
        const __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(p + 4 * j));

        sum[j] = _mm256_fmadd_pd(x, x, sum[j]);
    }
}

double tw_square_sum_avx2(const uint8_t *src, size_t n)
{
    const size_t step = sizeof(float) * TW_SQUARE_LANES;
    __m256d      sum[TW_VECTORS];
    double       lane[TW_SQUARE_LANES];
    uint8_t      rest[sizeof(float) * TW_SQUARE_LANES] = {0};

#pragma GCC unroll 8
    for (int j = 0; j < TW_VECTORS; j++) {
        sum[j] = _mm256_setzero_pd();
    }
    for (; n >= 2 * TW_SQUARE_LANES; n -= 2 * TW_SQUARE_LANES, src += 2 * step) {
        tw_prefetch_pages(src);
        tw_squares_add(sum, src);
        tw_squares_add(sum, src + step);
    }
    if (n >= TW_SQUARE_LANES) {
        tw_squares_add(sum, src);
        n -= TW_SQUARE_LANES;
        src += step;
    }
    if (n > 0) {
        memcpy(rest, src, sizeof(float) * n);
        tw_squares_add(sum, rest);
    }
#pragma GCC unroll 8
    for (int j = 0; j < TW_VECTORS; j++) {
        _mm256_storeu_pd(lane + 4 * j, sum[j]);
    }
    return tw_square_tree(lane);
}
