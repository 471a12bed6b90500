/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fp32/fp32.c - float32 as it is.
 * Layout: docs/wire-format.md, "fp32": 4 bytes a value, little-endian. Error: none; every bit
 * pattern, NaN payloads included, survives. Feedback: the residual becomes v - v, +0, for finite v.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/values.h"

static tw_status_t fp32_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    (void)why;
    codec->block           = 1;
    codec->bytes_per_value = 4.0;
    codec->bound           = 0.0;
    codec->cuda            = TW_CUDA_CUT4;
    codec->lossless        = true;
    codec->identity        = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    snprintf(codec->spec, sizeof(codec->spec), "fp32");
    return TW_OK;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

static void fp32_copy(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                      bool stream)
{
    (void)codec;
    (void)stream;
    memcpy(dst, src, 4 * n);
}

#else

static void fp32_copy(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                      bool stream)
{
    (void)codec;
    (void)stream;
    for (size_t i = 0; i < n; i++) { /* swapping is its own inverse */
        uint32_t u;

        memcpy(&u, (const uint8_t *)src + 4 * i, 4);
        tw_store_le32((uint8_t *)dst + 4 * i, u);
    }
}

#endif

static void fp32_decode_add(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *acc)
{
    (void)codec;
    for (size_t i = 0; i < n; i++) {
        float a;

        memcpy(&a, acc + 4 * i, 4);
        a += tw_bits_float(tw_load_le32(src + 4 * i));
        memcpy(acc + 4 * i, &a, 4);
    }
}

static void fp32_encode_feedback(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                 uint8_t *residual, uint8_t *dst)
{
    (void)codec;
    for (size_t i = 0; i < n; i++) {
        float v, r;

        memcpy(&v, src + 4 * i, 4);
        memcpy(&r, residual + 4 * i, 4);
        v += r;
        tw_store_le32(dst + 4 * i, tw_float_bits(v));
        if ((tw_float_bits(v) & 0x7f800000u) != 0x7f800000u) {
            r = 0.0f;
            memcpy(residual + 4 * i, &r, 4);
        }
    }
}

TW_KERNELS_OF(tw_fp32);

const tw_kernels_t tw_fp32_scalar = {
    .encode          = fp32_copy,
    .decode          = fp32_copy,
    .decode_add      = fp32_decode_add,
    .encode_feedback = fp32_encode_feedback,
};

const tw_codec_ops_t tw_codec_fp32 = {
    .name    = "fp32",
    .form    = "fp32",
    .help    = "float32 as it is",
    .id      = 1,
    .finish  = fp32_finish,
    .size    = tw_values_size,
    .kernels = TW_KERNELS(tw_fp32),
    .offers  = {{"fp32", TW_F32, TW_OFFER_AUTO}},
};
