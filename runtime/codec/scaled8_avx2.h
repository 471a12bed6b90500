/* SPDX-License-Identifier: BSD-3-Clause
 * codec/scaled8_avx2.h - scaled8.h by AVX2: maximum and codes of a block in one go, the second pass
 * from the cache, into which it also fetches the next block: so memory is read while codes are
 * computed.
 * Twin of: scaled8.c; the header is the same code.
 */
#ifndef TW_CODEC_SCALED8_AVX2_H
#define TW_CODEC_SCALED8_AVX2_H

#include "runtime/codec/loops_avx2.h"
#include "runtime/codec/scaled8.h"

/* What the lane functions get as self. */
typedef struct tw_scaled8_lanes {
    const void *table; /* the codec's */
    __m256      factor, scale;
} tw_scaled8_lanes_t;

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

TW_INLINE void tw_avx2_scaled8_encode_block(const tw_codec_t *codec, tw_encode_lanes_fn_t encode,
                                            tw_scaled8_header_fn_t header, const uint8_t *src,
                                            size_t n, uint8_t *residual, uint8_t *dst, bool stream,
                                            bool fetch)
{
    tw_scaled8_lanes_t self = {.table = codec->table};
    float              factor, scale;

    if (!header(codec, tw_avx2_absmax(src, residual, n, false), n, dst, &factor, &scale)) {
        return;
    }
    self.factor = _mm256_set1_ps(factor);
    self.scale  = _mm256_set1_ps(scale);
    tw_avx2_encode(&self, encode, 1, true, src, n, residual, dst + TW_SCALED8_HEADER, stream,
                   fetch);
}

/* residual may be NULL. Short blocks do not go past the cache: the lines in which they begin and
 * end would cost more than that saves. */
TW_INLINE void tw_avx2_scaled8_encode(const tw_codec_t *codec, tw_encode_lanes_fn_t encode,
                                      tw_scaled8_header_fn_t header, const uint8_t *src, size_t n,
                                      uint8_t *residual, uint8_t *dst, bool stream)
{
    const size_t block = codec->block;
    const bool   past  = stream && block >= 1024;

    while (n > 0) {
        const size_t m = n < block ? n : block;

        tw_avx2_scaled8_encode_block(codec, encode, header, src, m, residual, dst, past, n > m);
        n -= m;
        src += 4 * m;
        dst += TW_SCALED8_HEADER + m;
        residual = tw_beyond(residual, 4 * m);
    }
    tw_stream_end(past);
}

TW_INLINE tw_lanes_t tw_scaled8_poison(const void *self, const uint8_t *codes)
{
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));

    (void)self;
    (void)codes;
    return (tw_lanes_t){nan, nan, nan, nan};
}

TW_INLINE void tw_avx2_scaled8_decode(const tw_codec_t *codec, tw_decode_lanes_fn_t decode,
                                      const uint8_t *src, size_t n, uint8_t *dst, bool add,
                                      bool stream)
{
    const bool         fetch = tw_far(n);
    tw_scaled8_lanes_t self  = {.table = codec->table};

    while (n > 0) {
        const size_t   m    = n < codec->block ? n : codec->block;
        const uint32_t bits = tw_load_le32(src);

        self.scale = _mm256_set1_ps(tw_bits_float(bits));
        if ((bits & 0x7f800000u) == 0x7f800000u) {
            tw_avx2_decode(&self, tw_scaled8_poison, 1, src + TW_SCALED8_HEADER, m, dst, add, false,
                           fetch);
        } else {
            tw_avx2_decode(&self, decode, 1, src + TW_SCALED8_HEADER, m, dst, add, stream, fetch);
        }
        n -= m;
        src += TW_SCALED8_HEADER + m;
        dst += 4 * m;
    }
    tw_stream_end(stream);
}

#define TW_AVX2_SCALED8_KERNELS(name, header, encode_lanes, decode_lanes)                          \
    TW_VERBS_EXTERN(                                                                               \
        name, tw_avx2_scaled8_encode(codec, encode_lanes, header, src, n, residual, dst, stream),  \
        tw_avx2_scaled8_decode(codec, decode_lanes, src, n, dst, add, stream))

#endif /* TW_CODEC_SCALED8_AVX2_H */
