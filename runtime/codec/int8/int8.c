/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int8/int8.c - linear 8-bit integers, scaled by the absolute maximum of each block.
 *
 * Layout: docs/wire-format.md, "int8": per block a float32 scale = fl(maximum / 127) and one signed
 *         byte per value. q = y rounded half to even, y = fl(x * fl(127 / maximum)), in -127..127.
 * Error:  |x - x'| <= maximum / 254 + float32 rounding. Inf or NaN: the block decodes to NaN. A
 *         block whose maximum is below 2^-119 decodes to zeros. The sign of zero is not kept.
 */
#include "config.h"

#include <stdio.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/chunk.h"
#include "runtime/codec/scaled8.h"

#define INT8_BLOCK 4096

static void int8_encode(const tw_codec_t *codec, const float *restrict values, size_t n,
                        float factor, uint8_t *restrict codes)
{
    (void)codec;
    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            /* |y| is at most 127 and two roundings. Adding 1.5 * 2^23 rounds it to an integer, half
             * to even, in the low bits. */
            const float rounded = values[g + i] * factor + 0x1.8p23f;

            codes[g + i] = (uint8_t)tw_float_bits(rounded);
        }
    }
}

static void int8_decode(const tw_codec_t *codec, const uint8_t *restrict codes, size_t n,
                        float scale, float *restrict values)
{
    (void)codec;
    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            values[g + i] = (float)((int32_t)(codes[g + i] ^ 0x80u) - 128) * scale;
        }
    }
}

static const tw_scaled8_t int8_type = {
    .numerator = 127.0f,
    .least     = 0x1p-119f, /* keeps the scale a normal number and 127 / maximum finite */
    .encode    = int8_encode,
    .decode    = int8_decode,
};

TW_SCALED8_KERNELS(tw_int8_scalar, &int8_type);

static tw_status_t int8_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    (void)why;
    codec->block           = codec->block != 0 ? codec->block : INT8_BLOCK;
    codec->bytes_per_value = 1.0 + 4.0 / (double)codec->block;
    codec->bound           = 0.00394; /* 1 / 254, and roundings */
    codec->finer           = "bf16";
    codec->cuda            = TW_CUDA_BLOCKS_INT8;
    snprintf(codec->spec, sizeof(codec->spec), "int8:block=%zu", codec->block);
    return TW_OK;
}

TW_KERNELS_OF(tw_int8);

const tw_codec_ops_t tw_codec_int8 = {
    .name    = "int8",
    .form    = "int8[:block=N]",
    .help    = "linear 8-bit, scaled by the maximum of each block / 127",
    .id      = 6,
    .option  = tw_blocks_option,
    .finish  = int8_finish,
    .size    = tw_scaled8_size,
    .kernels = TW_KERNELS(tw_int8),
    .offers  = {{"int8", TW_F32, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE}},
};
