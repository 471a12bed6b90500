/* SPDX-License-Identifier: BSD-3-Clause
 * codec/scaled8.c - see scaled8.h.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/codec/chunk.h"
#include "runtime/codec/scaled8.h"

size_t tw_scaled8_size(const tw_codec_t *codec, size_t n)
{
    return n + TW_SCALED8_HEADER * ((n - 1) / codec->block + 1);
}

static const uint8_t *tw_at(const uint8_t *vector, size_t i)
{
    return vector != NULL ? vector + sizeof(float) * i : NULL;
}

/* One maximum per place in the group, so that the loop has no chain through all values. */
uint32_t tw_scaled8_absmax(const uint8_t *src, const uint8_t *residual, size_t n)
{
    float    v[TW_CHUNK];
    int32_t  most[TW_GROUP] = {0};
    uint32_t result         = 0;

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        tw_chunk_load(v, tw_at(src, i), tw_at(residual, i), m);
        for (size_t g = 0; g < m; g += TW_GROUP) {
            for (size_t j = 0; j < TW_GROUP; j++) {
                const int32_t bits = (int32_t)(tw_float_bits(v[g + j]) & 0x7fffffffu);

                most[j] = bits > most[j] ? bits : most[j];
            }
        }
    }
    for (size_t j = 0; j < TW_GROUP; j++) {
        result = (uint32_t)most[j] > result ? (uint32_t)most[j] : result;
    }
    return result;
}

/* Two passes over src (+ residual), the second from the cache. */
void tw_scaled8_encode(const tw_codec_t *codec, const tw_scaled8_t *type, const uint8_t *src,
                       size_t n, uint8_t *residual, uint8_t *dst)
{
    const uint32_t most = tw_scaled8_absmax(src, residual, n);
    float          v[TW_CHUNK], back[TW_CHUNK], factor, scale;
    uint8_t        codes[TW_CHUNK];

    if (!tw_scaled8_header(most, type->numerator, type->least, n, dst, &factor, &scale)) {
        return;
    }
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        tw_chunk_load(v, tw_at(src, i), tw_at(residual, i), m);
        type->encode(codec, v, m, factor, codes);
        memcpy(dst + TW_SCALED8_HEADER + i, codes, m);
        if (residual != NULL) {
            type->decode(codec, codes, m, scale, back);
            tw_chunk_residual(residual + sizeof(float) * i, v, back, m);
        }
    }
}

void tw_scaled8_decode(const tw_codec_t *codec, const tw_scaled8_t *type, const uint8_t *src,
                       size_t n, uint8_t *dst, bool add)
{
    const uint32_t bits   = tw_load_le32(src);
    const bool     poison = (bits & 0x7f800000u) == 0x7f800000u;
    float          back[TW_CHUNK];
    uint8_t        codes[TW_CHUNK];

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        if (poison) {
            for (size_t j = 0; j < TW_CHUNK; j++) {
                back[j] = tw_bits_float(0x7fc00000u);
            }
        } else {
            tw_chunk_load_codes(codes, src + TW_SCALED8_HEADER + i, m);
            type->decode(codec, codes, m, tw_bits_float(bits), back);
        }
        tw_chunk_store(dst + sizeof(float) * i, back, m, add);
    }
}
