/* SPDX-License-Identifier: BSD-3-Clause
 * codec/onebit/onebit.c - the sign of each value, and per block the mean of the positive and the
 * mean of the negative ones. Made for error feedback.
 *
 * Layout: docs/wire-format.md, "onebit": per block two float32 means and one bit per value.
 * Means:  two independent sums, each over 64 lanes (index in the block mod 64), then a fixed tree.
 *         The sign bit decides the side: +0 counts as positive, -0 as negative.
 * Error:  a value becomes its side's mean. Inf or NaN, or a sum that overflows: the block decodes
 *         to NaN and leaves the residual as it was.
 * Source: Seide, Fu, Droppo, Li, Yu, "1-Bit Stochastic Gradient Descent", Interspeech 2014; S1,
 *         section 4.5; differs in: blocks of a vector, not columns of a matrix.
 */
#include "config.h"

#include <stdio.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/blocks.h"
#include "runtime/codec/chunk.h"

#define ONEBIT_BLOCK 2048
#define HEADER       8
#define LANES        64

typedef struct onebit_sums {
    float    positive[LANES], negative[LANES];
    size_t   negatives;
    uint32_t most; /* largest bits of |v|: at least 0x7f800000 where one is not finite */
} onebit_sums_t;

static size_t onebit_size(const tw_codec_t *codec, size_t n)
{
    const size_t rest = n % codec->block;

    return n / codec->block * (HEADER + codec->block / 8) +
           (rest > 0 ? HEADER + (rest + 7) / 8 : 0);
}

/* Add n <= TW_CHUNK values; v is padded with +0 to whole lanes, which changes no sum: a lane is
 * never -0. */
static void onebit_add(onebit_sums_t *sums, const float *v, size_t n)
{
    for (size_t i = 0; i < n; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            const uint32_t bits     = tw_float_bits(v[i + lane]);
            const uint32_t negative = (uint32_t)-(int32_t)(bits >> 31); /* all ones or 0 */
            const uint32_t size     = bits & 0x7fffffffu;

            sums->positive[lane] += tw_bits_float(bits & ~negative);
            sums->negative[lane] += tw_bits_float(bits & negative);
            sums->negatives += bits >> 31;
            sums->most = size > sums->most ? size : sums->most;
        }
    }
}

static float onebit_mean(float *lanes, size_t count)
{
    for (size_t half = LANES / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++) {
            lanes[i] += lanes[i + half];
        }
    }
    return count > 0 ? lanes[0] / (float)count : 0.0f;
}

static bool onebit_finite(float x) { return (tw_float_bits(x) & 0x7f800000u) != 0x7f800000u; }

/* The signs of n <= TW_CHUNK values, v padded with +0 to whole lanes. */
static void onebit_signs(const float *v, size_t n, uint8_t *codes)
{
    for (size_t i = 0; i < n; i += 8) {
        uint32_t byte = 0;

        for (size_t bit = 0; bit < 8; bit++) {
            byte |= tw_float_bits(v[i + bit]) >> 31 << bit;
        }
        codes[i / 8] = (uint8_t)byte;
    }
}

static void onebit_expand(const uint8_t *codes, size_t n, float positive, float negative, float *v)
{
    const float mean[2] = {positive, negative};

    for (size_t i = 0; i < n; i++) {
        v[i] = mean[codes[i / 8] >> i % 8 & 1];
    }
}

/* As tw_chunk_load, padded with +0 to whole lanes. */
static void onebit_load(float *v, const uint8_t *src, const uint8_t *residual, size_t n)
{
    tw_chunk_load(v, src, residual, n);
    for (size_t i = n; i % LANES != 0; i++) {
        v[i] = 0.0f;
    }
}

static size_t onebit_chunk(size_t n, size_t i) { return n - i < TW_CHUNK ? n - i : TW_CHUNK; }

static void onebit_encode(const tw_codec_t *codec, const uint8_t *src, size_t n,
                          uint8_t *residual, uint8_t *dst)
{
    onebit_sums_t sums = {.negatives = 0};
    float         v[TW_CHUNK], back[TW_CHUNK], positive, negative;

    (void)codec;
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = onebit_chunk(n, i);

        onebit_load(v, src + 4 * i, residual != NULL ? residual + 4 * i : NULL, m);
        onebit_add(&sums, v, m);
    }
    positive = onebit_mean(sums.positive, n - sums.negatives);
    negative = onebit_mean(sums.negative, sums.negatives);
    if (sums.most >= 0x7f800000u || !onebit_finite(positive) || !onebit_finite(negative)) {
        tw_store_le32(dst, 0x7fc00000u);
        tw_store_le32(dst + 4, 0x7fc00000u);
        memset(dst + HEADER, 0, (n + 7) / 8);
        return;
    }
    tw_store_le32(dst, tw_float_bits(positive));
    tw_store_le32(dst + 4, tw_float_bits(negative));
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = onebit_chunk(n, i);

        onebit_load(v, src + 4 * i, residual != NULL ? residual + 4 * i : NULL, m);
        onebit_signs(v, m, dst + HEADER + i / 8);
        if (residual != NULL) {
            onebit_expand(dst + HEADER + i / 8, m, positive, negative, back);
            tw_chunk_residual(residual + 4 * i, v, back, m);
        }
    }
}

static void onebit_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                          bool add)
{
    float positive = tw_bits_float(tw_load_le32(src));
    float negative = tw_bits_float(tw_load_le32(src + 4));
    float v[TW_CHUNK];

    (void)codec;
    if (!onebit_finite(positive) || !onebit_finite(negative)) {
        positive = negative = tw_bits_float(0x7fc00000u);
    }
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = onebit_chunk(n, i);

        onebit_expand(src + HEADER + i / 8, m, positive, negative, v);
        if (add) {
            tw_chunk_add(dst + 4 * i, v, m);
        } else {
            memcpy(dst + 4 * i, v, 4 * m);
        }
    }
}

static const tw_block_kernels_t onebit_scalar = {onebit_encode, onebit_decode};

static tw_status_t onebit_finish(tw_codec_t *codec, const tw_why_t *why)
{
    if (codec->dtype != TW_F32) {
        return tw_codec_only_f32(codec, why);
    }
    codec->block           = codec->block != 0 ? codec->block : ONEBIT_BLOCK;
    codec->bytes_per_value = 0.125 + 8.0 / (double)codec->block;
    codec->feedback        = true;
    codec->kernels         = &onebit_scalar;
    snprintf(codec->spec, sizeof(codec->spec), "onebit:block=%zu", codec->block);
    return TW_OK;
}

const tw_codec_ops_t tw_codec_onebit = {
    .name            = "onebit",
    .form            = "onebit[:block=N]",
    .help            = "sign, and the means of both sides of each block; for error feedback",
    .id              = 9,
    .option          = tw_blocks_option,
    .finish          = onebit_finish,
    .size            = onebit_size,
    .encode          = tw_blocks_encode,
    .decode          = tw_blocks_decode,
    .decode_add      = tw_blocks_decode_add,
    .encode_feedback = tw_blocks_encode_feedback,
};
