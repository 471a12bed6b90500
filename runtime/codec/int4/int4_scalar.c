/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int4/int4_scalar.c - groups and blocks of int4 by plain C, which is their definition.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/codec/int4/int4.h"

/* As tw_int4_scale() wants it. */
static uint32_t int4_extreme(const float *v)
{
    uint32_t most[8] = {0}, result = 0;

    for (size_t i = 0; i < TW_INT4_GROUP; i += 8) {
        for (size_t j = 0; j < 8; j++) {
            const uint32_t bits = tw_float_bits(v[i + j]), key = bits << 1 | bits >> 31;

            most[j] = key > most[j] ? key : most[j];
        }
    }
    for (size_t j = 0; j < 8; j++) {
        result = most[j] > result ? most[j] : result;
    }
    return result;
}

/* Adding 1.5 * 2^23 rounds to an integer, half to even, in the low bits. */
static void int4_group(const float *restrict v, float factor, int32_t *restrict code)
{
    for (size_t i = 0; i < TW_INT4_GROUP; i++) {
        const int32_t c = (int32_t)(tw_float_bits(v[i] * factor + 0x1.8p23f) - 0x4b400000u);

        code[i] = c < 7 ? c : 7;
    }
}

/* Zero times a negative scale is -0, and +0 with +0 added. */
static void int4_values(const int32_t *restrict code, float scale, float *restrict v)
{
    for (size_t i = 0; i < TW_INT4_GROUP; i++) {
        v[i] = (float)code[i] * scale + 0.0f;
    }
}

static void int4_read(float *v, const uint8_t *src, size_t n)
{
    memset(v, 0, TW_INT4_GROUP * sizeof(*v));
    memcpy(v, src, n * sizeof(*v));
}

static void int4_encode_group(const uint8_t *src, size_t n, uint8_t *residual, uint8_t *scale_at,
                              uint8_t *codes)
{
    float    v[TW_INT4_GROUP], r[TW_INT4_GROUP], factor = 0.0f;
    int32_t  code[TW_INT4_GROUP];
    uint8_t  bytes[TW_INT4_GROUP / 2];
    uint32_t scale;

    int4_read(v, src, n);
    if (residual != NULL) {
        int4_read(r, residual, n);
        for (size_t i = 0; i < TW_INT4_GROUP; i++) {
            v[i] += r[i];
        }
    }
    scale       = tw_int4_scale(int4_extreme(v));
    scale_at[0] = (uint8_t)(scale >> 16);
    scale_at[1] = (uint8_t)(scale >> 24);
    if (scale == TW_INT4_POISON) {
        memset(codes, 0, tw_int4_codes(n));
        return;
    }
    if (scale != 0) {
        factor = 1.0f / tw_bits_float(scale);
    }
    int4_group(v, factor, code);
    for (size_t i = 0; i < TW_INT4_GROUP / 2; i++) {
        bytes[i] = (uint8_t)((code[2 * i] & 15) | (uint32_t)code[2 * i + 1] << 4);
    }
    memcpy(codes, bytes, tw_int4_codes(n));
    if (residual != NULL) {
        int4_values(code, tw_bits_float(scale), r);
        for (size_t i = 0; i < TW_INT4_GROUP; i++) {
            r[i] = v[i] - r[i];
        }
        memcpy(residual, r, n * sizeof(*r));
    }
}

static void int4_decode_group(const uint8_t *scale_at, const uint8_t *codes, size_t n, uint8_t *dst,
                              bool add)
{
    const uint32_t scale = (uint32_t)scale_at[0] << 16 | (uint32_t)scale_at[1] << 24;
    uint8_t        bytes[TW_INT4_GROUP / 2] = {0};
    float          v[TW_INT4_GROUP], a[TW_INT4_GROUP];
    int32_t        code[TW_INT4_GROUP];

    memcpy(bytes, codes, tw_int4_codes(n));
    for (size_t i = 0; i < TW_INT4_GROUP / 2; i++) {
        code[2 * i]     = ((bytes[i] & 15) ^ 8) - 8;
        code[2 * i + 1] = ((bytes[i] >> 4) ^ 8) - 8;
    }
    int4_values(code, tw_bits_float(scale), v);
    if ((scale & 0x7f800000u) == 0x7f800000u) {
        for (size_t i = 0; i < TW_INT4_GROUP; i++) {
            v[i] = tw_bits_float(TW_INT4_POISON);
        }
    }
    if (add) {
        int4_read(a, dst, n);
        for (size_t i = 0; i < TW_INT4_GROUP; i++) {
            v[i] = a[i] + v[i];
        }
    }
    memcpy(dst, v, n * sizeof(*v));
}

void tw_int4_encode_groups(const uint8_t *src, size_t n, uint8_t *residual, uint8_t *scales,
                           uint8_t *codes)
{
    for (size_t i = 0; i < n; i += TW_INT4_GROUP) {
        const size_t m = n - i < TW_INT4_GROUP ? n - i : TW_INT4_GROUP;

        int4_encode_group(src + 4 * i, m, residual != NULL ? residual + 4 * i : NULL,
                          scales + tw_int4_scales(i), codes + i / 2);
    }
}

void tw_int4_decode_groups(const uint8_t *scales, const uint8_t *codes, size_t n, uint8_t *dst,
                           bool add)
{
    for (size_t i = 0; i < n; i += TW_INT4_GROUP) {
        const size_t m = n - i < TW_INT4_GROUP ? n - i : TW_INT4_GROUP;

        int4_decode_group(scales + tw_int4_scales(i), codes + i / 2, m, dst + 4 * i, add);
    }
}

static void int4_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                        uint8_t *dst)
{
    (void)codec;
    tw_int4_encode_groups(src, n, residual, dst, dst + tw_int4_scales(n));
}

static void int4_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                        bool add)
{
    (void)codec;
    tw_int4_decode_groups(src, src + tw_int4_scales(n), n, dst, add);
}

TW_BLOCK_KERNELS(tw_int4_scalar, int4_encode, int4_decode);
