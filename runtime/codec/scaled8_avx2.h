/* SPDX-License-Identifier: BSD-3-Clause
 * codec/scaled8_avx2.h - blocks of [float32 scale][one byte per value], those of tree8 and int8, by
 * AVX2, from what a codec makes of 32 values.
 */
#ifndef TW_CODEC_SCALED8_AVX2_H
#define TW_CODEC_SCALED8_AVX2_H

#include "runtime/base/bytes.h"
#include "runtime/codec/absmax_avx2.h"
#include "runtime/codec/blocks.h"

#define TW_SCALED8_HEADER 4 /* bytes */

/* The header at dst of a block of n values with this absolute maximum (its bits), and factor and
 * scale for its codes. False for poison: then the codes are written too, nothing is left to do. */
typedef bool (*tw_scaled8_header_fn_t)(const tw_codec_t *codec, uint32_t most, size_t n,
                                       uint8_t *dst, float *factor, float *scale);

/* What the lane functions get as self. */
typedef struct tw_scaled8_lanes {
    const void *table; /* the codec's */
    __m256      factor, scale;
} tw_scaled8_lanes_t;

/* The second pass over a block is from the cache, into which it also fetches the next block: so
 * memory is read while codes are computed. */
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

TW_INLINE void tw_avx2_scaled8_decode(const tw_codec_t *codec, tw_decode_lanes_fn_t decode,
                                      const uint8_t *src, size_t n, uint8_t *dst, bool add,
                                      bool stream)
{
    const bool         fetch = tw_far(n);
    tw_scaled8_lanes_t self  = {.table = codec->table};

    while (n > 0) {
        const size_t   m     = n < codec->block ? n : codec->block;
        const uint8_t *codes = src + TW_SCALED8_HEADER;

        if (!tw_block_poison(src, sizeof(float), m, dst)) {
            self.scale = _mm256_set1_ps(tw_bits_float(tw_load_le32(src)));
            tw_avx2_decode(&self, decode, 1, codes, m, dst, add, stream, fetch);
        }
        n -= m;
        src = codes + m;
        dst += 4 * m;
    }
    tw_stream_end(stream);
}

#define TW_AVX2_SCALED8_KERNELS(name, header, encode_lanes, decode_lanes)                          \
    TW_VERBS_EXTERN(                                                                               \
        name, tw_avx2_scaled8_encode(codec, encode_lanes, header, src, n, residual, dst, stream),  \
        tw_avx2_scaled8_decode(codec, decode_lanes, src, n, dst, add, stream))

#endif /* TW_CODEC_SCALED8_AVX2_H */
