/* SPDX-License-Identifier: BSD-3-Clause
 * codec/absmax_avx2.h - the largest magnitude of values, or of values and their residuals, by AVX2.
 */
#ifndef TW_CODEC_ABSMAX_AVX2_H
#define TW_CODEC_ABSMAX_AVX2_H

#include "runtime/codec/loops_avx2.h"

/* The maxima of four vectors of lanes, kept apart so that no chain goes through all values. */
typedef struct tw_maxima {
    __m256i a, b, c, d;
} tw_maxima_t;

TW_INLINE void tw_maxima_take(tw_maxima_t *most, tw_lanes_t v)
{
    most->a = tw_larger(most->a, v.a);
    most->b = tw_larger(most->b, v.b);
    most->c = tw_larger(most->c, v.c);
    most->d = tw_larger(most->d, v.d);
}

TW_INLINE uint32_t tw_maxima_end(const tw_maxima_t *most)
{
    const __m256i all =
        _mm256_max_epi32(_mm256_max_epi32(most->a, most->b), _mm256_max_epi32(most->c, most->d));
    __m128i v = _mm_max_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));

    v = _mm_max_epi32(v, _mm_shuffle_epi32(v, _MM_SHUFFLE(1, 0, 3, 2)));
    v = _mm_max_epi32(v, _mm_shuffle_epi32(v, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(v);
}

/* Bits of the largest |src|, or |src + residual|: as integers they order like the magnitudes.
 * fetch: what follows the values is fetched into the cache. */
TW_INLINE uint32_t tw_avx2_absmax(const uint8_t *src, uint8_t *residual, size_t n, bool fetch)
{
    const size_t step               = 4 * TW_LANES;
    tw_maxima_t  most               = {0};
    uint8_t      in[4 * TW_LANES]   = {0};
    uint8_t      left[4 * TW_LANES] = {0};

    for (; n >= 2 * TW_LANES; n -= 2 * TW_LANES) {
        if (fetch) {
            tw_prefetch_pages(src);
        }
        tw_maxima_take(&most, tw_lanes_source(src, residual));
        tw_maxima_take(&most, tw_lanes_source(src + step, tw_beyond(residual, step)));
        src += 2 * step;
        residual = tw_beyond(residual, 2 * step);
    }
    if (n >= TW_LANES) {
        tw_maxima_take(&most, tw_lanes_source(src, residual));
        n -= TW_LANES;
        src += step;
        residual = tw_beyond(residual, step);
    }
    if (n > 0) {
        memcpy(in, src, 4 * n);
        if (residual != NULL) {
            memcpy(left, residual, 4 * n);
        }
        tw_maxima_take(&most, tw_lanes_source(in, residual != NULL ? left : NULL));
    }
    return tw_maxima_end(&most);
}

#endif /* TW_CODEC_ABSMAX_AVX2_H */
