/* SPDX-License-Identifier: BSD-3-Clause
 * codec/absmax_avx512.h - the largest magnitude of values, or of values and their residuals, by
 * AVX-512.
 */
#ifndef TW_CODEC_ABSMAX_AVX512_H
#define TW_CODEC_ABSMAX_AVX512_H

#include "runtime/codec/avx512.h"

TW_INLINE512 __m512i tw_larger512(__m512i most, __m512 v)
{
    const __m512i size = _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));

    return _mm512_max_epu32(most, size);
}

TW_INLINE512 void tw_absmax_group512(__m512i *most, const tw_group512_t *g)
{
    most[0] = tw_larger512(most[0], g->v[0]);
    most[1] = tw_larger512(most[1], g->v[1]);
    most[2] = tw_larger512(most[2], g->v[2]);
    most[3] = tw_larger512(most[3], g->v[3]);
}

/* Bits of the largest |v|, Inf and NaN on top. fetch: what follows is prefetched. */
TW_INLINE512 uint32_t tw_absmax512(const uint8_t *src, uint8_t *residual, size_t n, bool feedback,
                                   bool fetch)
{
    __m512i       most[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                             _mm512_setzero_si512()};
    tw_group512_t g;
    size_t        i = 0;

    for (; i + TW_GROUP <= n; i += TW_GROUP) {
        if (fetch) {
            tw_prefetch512(src + 4 * i);
        }
        g = tw_load_sum512(src + 4 * i, tw_at512(residual, i, feedback), TW_GROUP, feedback);
        tw_absmax_group512(most, &g);
    }
    if (i < n) {
        g = tw_load_sum512(src + 4 * i, tw_at512(residual, i, feedback), n - i, feedback);
        tw_absmax_group512(most, &g);
    }
    most[0] =
        _mm512_max_epu32(_mm512_max_epu32(most[0], most[1]), _mm512_max_epu32(most[2], most[3]));
    return _mm512_reduce_max_epu32(most[0]);
}

#endif /* TW_CODEC_ABSMAX_AVX512_H */
