/* SPDX-License-Identifier: BSD-3-Clause
 * codec/scaled8.c - see scaled8.h.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/codec/chunk.h"
#include "runtime/codec/scaled8.h"

#define TW_HEADER 4

size_t tw_scaled8_size(const tw_codec_t *codec, size_t n)
{
    return n + TW_HEADER * ((n - 1) / codec->block + 1);
}

/* Bits of the largest |v|: as integers they order like the magnitudes, with Inf and NaN on top. */
static uint32_t tw_absmax(const float *v, size_t n)
{
    int32_t most = 0;

    for (size_t i = 0; i < n; i++) {
        const int32_t bits = (int32_t)(tw_float_bits(v[i]) & 0x7fffffffu);

        most = bits > most ? bits : most;
    }
    return (uint32_t)most;
}

static size_t tw_chunk_of(size_t n, size_t i) { return n - i < TW_CHUNK ? n - i : TW_CHUNK; }

/* Two passes over src (+ residual), the second from the cache. */
void tw_scaled8_encode(const tw_codec_t *codec, const tw_scaled8_t *type, const uint8_t *src,
                       size_t n, uint8_t *residual, uint8_t *dst)
{
    uint32_t most = 0;
    float    v[TW_CHUNK], back[TW_CHUNK], factor = 0.0f, scale = 0.0f;

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_of(n, i);
        uint32_t     bits;

        tw_chunk_load(v, src + 4 * i, residual != NULL ? residual + 4 * i : NULL, m);
        bits = tw_absmax(v, m);
        most = bits > most ? bits : most;
    }
    if (most >= 0x7f800000u) {
        tw_store_le32(dst, 0x7fc00000u);
        memset(dst + TW_HEADER, 0, n);
        return;
    }
    if (tw_bits_float(most) >= type->least) {
        factor = type->numerator / tw_bits_float(most);
        scale  = tw_bits_float(most) / type->numerator;
    }
    tw_store_le32(dst, tw_float_bits(scale));
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_of(n, i);

        tw_chunk_load(v, src + 4 * i, residual != NULL ? residual + 4 * i : NULL, m);
        type->encode(codec, v, m, factor, dst + TW_HEADER + i);
        if (residual != NULL) {
            type->decode(codec, dst + TW_HEADER + i, m, scale, back);
            tw_chunk_residual(residual + 4 * i, v, back, m);
        }
    }
}

void tw_scaled8_decode(const tw_codec_t *codec, const tw_scaled8_t *type, const uint8_t *src,
                       size_t n, uint8_t *dst, bool add)
{
    const uint32_t bits   = tw_load_le32(src);
    const bool     poison = (bits & 0x7f800000u) == 0x7f800000u;
    float          back[TW_CHUNK];

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_of(n, i);

        if (poison) {
            tw_fill_nan((uint8_t *)back, m);
        } else {
            type->decode(codec, src + TW_HEADER + i, m, tw_bits_float(bits), back);
        }
        if (add) {
            tw_chunk_add(dst + 4 * i, back, m);
        } else {
            memcpy(dst + 4 * i, back, 4 * m);
        }
    }
}
