/* SPDX-License-Identifier: BSD-3-Clause
 * codec/onebit/onebit.c - the sign of each value, and per block the mean of the positive and the
 * mean of the negative ones. Made for error feedback.
 *
 * Layout: docs/wire-format.md, "onebit": per block two float32 means and one bit per value.
 * Means:  two independent sums, each over 64 lanes (index in the block mod 64), then a fixed tree.
 *         The sign bit decides the side: +0 counts as positive, -0 as negative.
 * Error:  a value becomes its side's mean. Inf or NaN: the block decodes to NaN and leaves the
 *         residual as it was. Finite values never do: what a huge one leaves in the residual may
 *         make the sums of every later step overflow, which would be NaN for ever.
 * Source: Seide, Fu, Droppo, Li, Yu, "1-Bit Stochastic Gradient Descent", Interspeech 2014; S1,
 *         section 4.5; differs in: blocks of a vector, not columns of a matrix.
 */
#include "config.h"

#include <stdio.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/blocks.h"
#include "runtime/codec/chunk.h"
#include "runtime/codec/onebit/onebit.h"

#define ONEBIT_BLOCK 2048
#define HEADER       8
#define LANES        TW_GROUP

typedef struct onebit_sums {
    float    positive[LANES], negative[LANES];
    uint32_t negatives[LANES]; /* how many values each negative lane has got */
} onebit_sums_t;

static size_t onebit_size(const tw_codec_t *codec, size_t n)
{
    const size_t rest = n % codec->block;

    return n / codec->block * (HEADER + codec->block / 8) +
           (rest > 0 ? HEADER + (rest + 7) / 8 : 0);
}

/* Add the values of a chunk to their sides. The chunk's padding, +0, changes no sum: a lane is
 * never -0, which would need two of -0 to add up, and starts as +0. */
static void onebit_add(onebit_sums_t *sums, const float *v, size_t n)
{
    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t lane = 0; lane < LANES; lane++) {
            const uint32_t bits     = tw_float_bits(v[g + lane]);
            const uint32_t negative = 0u - (bits >> 31); /* all ones or 0 */

            sums->positive[lane] += tw_bits_float(bits & ~negative);
            sums->negative[lane] += tw_bits_float(bits & negative);
            sums->negatives[lane] += bits >> 31;
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

/* The sign bits of a chunk, whole groups. */
static void onebit_signs(const float *restrict v, size_t n, uint8_t *restrict codes)
{
    for (size_t i = 0; i < tw_group_end(n); i += 8) {
        uint32_t byte = 0;

        for (size_t bit = 0; bit < 8; bit++) {
            byte |= tw_float_bits(v[i + bit]) >> 31 << bit;
        }
        codes[i / 8] = (uint8_t)byte;
    }
}

static bool onebit_finite(float x)
{
    return (tw_float_bits(x) & 0x7f800000u) != 0x7f800000u;
}

static const uint32_t onebit_place[8] = {1, 2, 4, 8, 16, 32, 64, 128};

/* v = the means that the codes of a chunk choose; whole groups. */
static void onebit_expand(const uint8_t *restrict codes, size_t n, float positive, float negative,
                          float *restrict v)
{
    const uint32_t base = tw_float_bits(positive), flip = base ^ tw_float_bits(negative);

    for (size_t i = 0; i < tw_group_end(n); i += 8) {
        for (size_t bit = 0; bit < 8; bit++) {
            const uint32_t chosen = (codes[i / 8] & onebit_place[bit]) != 0 ? flip : 0;

            v[i + bit] = tw_bits_float(base ^ chosen);
        }
    }
}

static const uint8_t *onebit_at(const uint8_t *vector, size_t i)
{
    return vector != NULL ? vector + sizeof(float) * i : NULL;
}

#define DOWN 0x1p-32f /* no block has 2^32 values, so no sum of scaled ones overflows */
#define UP   0x1p32f

/* The mean of one side, 0 or 1, of n values at src (+ residual), from scaled sums. */
static float onebit_scaled_mean(const uint8_t *src, const uint8_t *residual, size_t n,
                                uint32_t side, size_t count)
{
    float lanes[LANES] = {0}, v[TW_CHUNK], mean;

    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        tw_chunk_load(v, onebit_at(src, i), onebit_at(residual, i), m);
        for (size_t j = 0; j < m; j++) {
            if (tw_float_bits(v[j]) >> 31 == side) {
                lanes[j % LANES] += v[j] * DOWN;
            }
        }
    }
    mean = onebit_mean(lanes, count);
    if (!onebit_finite(mean)) {
        return mean;
    }
    mean *= UP; /* a mean of the largest numbers may have been rounded beyond them */
    return onebit_finite(mean) ? mean : tw_bits_float(0x7f7fffffu | side << 31);
}

bool tw_onebit_means_again(const uint8_t *src, const uint8_t *residual, size_t n, size_t negatives,
                           float *positive, float *negative)
{
    if (!onebit_finite(*positive)) {
        *positive = onebit_scaled_mean(src, residual, n, 0, n - negatives);
    }
    if (!onebit_finite(*negative)) {
        *negative = onebit_scaled_mean(src, residual, n, 1, negatives);
    }
    return onebit_finite(*positive) && onebit_finite(*negative);
}

/* The signs go out in the first pass. A value that is not finite stays so in its lane: the means
 * tell, and then nothing but the header and zeros is sent. */
static void onebit_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                          uint8_t *dst)
{
    onebit_sums_t sums      = {{0}, {0}, {0}};
    size_t        negatives = 0;
    float         v[TW_CHUNK], back[TW_CHUNK], positive, negative;
    uint8_t       codes[TW_CHUNK / 8] = {0};

    (void)codec;
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        tw_chunk_load(v, onebit_at(src, i), onebit_at(residual, i), m);
        onebit_add(&sums, v, m);
        onebit_signs(v, m, codes);
        memcpy(dst + HEADER + i / 8, codes, (m + 7) / 8);
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        negatives += sums.negatives[lane];
    }
    positive = onebit_mean(sums.positive, n - negatives);
    negative = onebit_mean(sums.negative, negatives);
    if ((!onebit_finite(positive) || !onebit_finite(negative)) &&
        !tw_onebit_means_again(src, residual, n, negatives, &positive, &negative)) {
        tw_store_le32(dst, 0x7fc00000u);
        tw_store_le32(dst + 4, 0x7fc00000u);
        memset(dst + HEADER, 0, (n + 7) / 8);
        return;
    }
    tw_store_le32(dst, tw_float_bits(positive));
    tw_store_le32(dst + 4, tw_float_bits(negative));
    for (size_t i = 0; residual != NULL && i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        tw_chunk_load(v, onebit_at(src, i), onebit_at(residual, i), m);
        memcpy(codes, dst + HEADER + i / 8, (m + 7) / 8);
        onebit_expand(codes, m, positive, negative, back);
        tw_chunk_residual(residual + sizeof(float) * i, v, back, m);
    }
}

static void onebit_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                          bool add)
{
    float   positive = tw_bits_float(tw_load_le32(src));
    float   negative = tw_bits_float(tw_load_le32(src + 4));
    float   v[TW_CHUNK];
    uint8_t codes[TW_CHUNK / 8] = {0};

    (void)codec;
    if (!onebit_finite(positive) || !onebit_finite(negative)) {
        positive = negative = tw_bits_float(0x7fc00000u);
    }
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        memcpy(codes, src + HEADER + i / 8, (m + 7) / 8);
        onebit_expand(codes, m, positive, negative, v);
        tw_chunk_store(dst + sizeof(float) * i, v, m, add);
    }
}

TW_BLOCK_KERNELS(tw_onebit_scalar, onebit_encode, onebit_decode);

static tw_status_t onebit_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    (void)why;
    codec->block           = codec->block != 0 ? codec->block : ONEBIT_BLOCK;
    codec->bytes_per_value = 0.125 + 8.0 / (double)codec->block;
    codec->bound           = 1.0;
    codec->finer           = "int4";
    codec->cuda            = TW_CUDA_BLOCKS_ONEBIT;
    codec->feedback        = true;
    snprintf(codec->spec, sizeof(codec->spec), "onebit:block=%zu", codec->block);
    return TW_OK;
}

TW_KERNELS_OF(tw_onebit);

const tw_codec_ops_t tw_codec_onebit = {
    .name    = "onebit",
    .form    = "onebit[:block=N]",
    .help    = "sign, and the means of both sides of each block; for error feedback",
    .id      = 9,
    .option  = tw_blocks_option,
    .finish  = onebit_finish,
    .size    = onebit_size,
    .kernels = TW_KERNELS(tw_onebit),
    .offers  = {{"onebit", TW_F32, TW_OFFER_AUTO | TW_OFFER_REPORT}},
};
