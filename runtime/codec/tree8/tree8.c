/* SPDX-License-Identifier: BSD-3-Clause
 * codec/tree8/tree8.c - 8-bit dynamic tree, scaled by the absolute maximum of each block.
 *
 * Layout: docs/wire-format.md, "tree8": per block a float32 scale and one byte per value. Bit 7 is
 *         the sign; of the other 7 bits n leading zeros give 10^-n, then comes a 1, then 6 - n bits
 *         that bisect (0.1, 1); the value is the middle of the last interval. As an integer these
 *         7 bits are the rank among the magnitudes. 0 is zero, the highest magnitude exactly 1.
 * Error:  nearest of 128 magnitudes to y = fl(x * fl(1 / maximum)); |x - x'| <= 0.0129 * maximum
 *         (split 0.45) or 0.0106 (0.55), below the top; relative about 1.7 % on normal data. The
 *         maximum itself is exact. Inf or NaN: the block decodes to NaN.
 * Source: S1 (Dettmers, "8-Bit Approximations for Parallelism in Deep Learning", 2016), section 3;
 *         differs in: nearest by true search, block-wise maximum, an exact 1 and two exact zeros.
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/chunk.h"
#include "runtime/codec/int/int.h"
#include "runtime/codec/levels.h"
#include "runtime/codec/tree8/tree8.h"

#define TREE8_BLOCK 4096

/* In units of 10^-8: the middle of leaf `leaf` of the tree with `bits` levels over (0.1, 1). */
static uint32_t tree8_leaf_middle(int split, int bits, uint32_t leaf)
{
    uint32_t low = 10000000, high = 100000000;

    for (int b = bits - 1; b >= 0; b--) {
        const uint32_t cut = b == bits - 1 ? (uint32_t)split * 1000000u : (low + high) / 2;

        if ((leaf >> b & 1) != 0) {
            low = cut;
        } else {
            high = cut;
        }
    }
    return (low + high) / 2; /* whole: 0.35 / 64 and 0.55 / 64 have 8 decimals */
}

static void tree8_magnitudes(int split, float *magnitude)
{
    magnitude[0] = 0.0f;
    for (int zeros = 0; zeros <= 6; zeros++) {
        const int      bits  = 6 - zeros;
        const uint32_t first = 1u << bits;

        for (uint32_t leaf = 0; leaf < first; leaf++) {
            magnitude[first + leaf] =
                tw_levels_decimal(tree8_leaf_middle(split, bits, leaf), 8 + zeros);
        }
    }
    magnitude[127] = 1.0f;
}

/* Whole groups. */
static void tree8_codes(const tw_levels_t *levels, const float *restrict values, size_t n,
                        float factor, uint8_t *restrict codes)
{
    uint32_t y[TW_GROUP];

    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            y[i] = tw_float_bits(values[g + i] * factor);
        }
        for (size_t i = 0; i < TW_GROUP; i++) {
            const uint32_t rank = tw_levels_rank(levels, y[i] & 0x7fffffffu);

            codes[g + i] = (uint8_t)(rank | (y[i] >> 24 & 0x80u));
        }
    }
}

static void tree8_values(const tw_levels_t *levels, const uint8_t *restrict codes, size_t n,
                         float scale, float *restrict values)
{
    for (size_t g = 0; g < n; g += TW_GROUP) {
        for (size_t i = 0; i < TW_GROUP; i++) {
            values[g + i] = levels->value[codes[g + i]] * scale;
        }
    }
}

/* Two passes over src (+ residual), the second from the cache. */
static void tree8_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                         uint8_t *dst)
{
    float   v[TW_CHUNK], back[TW_CHUNK], factor, scale;
    uint8_t codes[TW_CHUNK];

    if (!tw_tree8_header(codec, tw_int_most_f32(src, residual, n), n, dst, &factor, &scale)) {
        return;
    }
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m    = tw_chunk_count(n, i);
        uint8_t     *left = tw_beyond(residual, sizeof(float) * i);

        tw_chunk_load(v, src + sizeof(float) * i, left, m);
        tree8_codes(codec->table, v, m, factor, codes);
        memcpy(dst + TW_TREE8_HEADER + i, codes, m);
        if (residual != NULL) {
            tree8_values(codec->table, codes, m, scale, back);
            tw_chunk_residual(left, v, back, m);
        }
    }
}

static void tree8_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                         bool add)
{
    const float scale = tw_bits_float(tw_load_le32(src));
    float       back[TW_CHUNK];
    uint8_t     codes[TW_CHUNK];

    if (tw_block_poison(src, sizeof(float), n, dst)) {
        return;
    }
    for (size_t i = 0; i < n; i += TW_CHUNK) {
        const size_t m = tw_chunk_count(n, i);

        tw_chunk_load_codes(codes, src + TW_TREE8_HEADER + i, m);
        tree8_values(codec->table, codes, m, scale, back);
        tw_chunk_store(dst + sizeof(float) * i, back, m, add);
    }
}

TW_BLOCK_KERNELS(tw_tree8_scalar, tree8_encode, tree8_decode);

static size_t tree8_size(const tw_codec_t *codec, size_t n)
{
    return n + TW_TREE8_HEADER * ((n - 1) / codec->block + 1);
}

/* Of a codec: its options. */
typedef struct tree8 {
    int split; /* 45 or 55, in hundredths */
} tree8_t;

static tw_status_t tree8_option(tw_codec_t *codec, const char *key, const char *value,
                                const tw_spec_why_t *why)
{
    tree8_t *tree8 = codec->state;

    if (strcmp(key, "block") == 0) {
        return tw_codec_option_block(codec, value, why);
    }
    if (strcmp(key, "split") != 0) {
        return tw_codec_no_option(codec, key, value, why);
    }
    if (value != NULL && strcmp(value, "0.45") == 0) {
        tree8->split = 45;
    } else if (value != NULL && strcmp(value, "0.55") == 0) {
        tree8->split = 55;
    } else {
        tw_why_set(why, "codec tree8: split=%s is not accepted; split takes 0.45 or 0.55",
                   value != NULL ? value : "");
        return TW_ERR_SPEC;
    }
    return TW_OK;
}

static tw_status_t tree8_finish(tw_codec_t *codec, const tw_spec_why_t *why)
{
    tree8_t     *tree8 = codec->state;
    tw_levels_t *levels;
    float        magnitude[TW_LEVELS_MAX];
    bool         fits;

    levels = malloc(sizeof(*levels));
    if (levels == NULL) {
        tw_why_set(why, "%s", "out of memory");
        return TW_ERR_NO_MEMORY;
    }
    codec->table           = levels;
    tree8->split           = tree8->split != 0 ? tree8->split : 45;
    codec->block           = codec->block != 0 ? codec->block : TREE8_BLOCK;
    codec->bytes_per_value = 1.0 + 4.0 / (double)codec->block;
    codec->bound           = tree8->split == 45 ? 0.0129 : 0.0106;
    codec->finer           = "int:12";
    codec->cuda            = TW_CUDA_BLOCKS_TREE8;
    tree8_magnitudes(tree8->split, magnitude);
    fits = tw_levels_build(levels, magnitude, NULL, TW_LEVELS_MAX);
    assert(fits);
    (void)fits;
    snprintf(codec->spec, sizeof(codec->spec), "tree8:block=%zu,split=0.%d", codec->block,
             tree8->split);
    return TW_OK;
}

TW_KERNELS_OF(tw_tree8);

const tw_codec_ops_t tw_codec_tree8 = {
    .name    = "tree8",
    .form    = "tree8[:block=N][,split=0.45|0.55]",
    .help    = "8-bit dynamic tree, scaled by the maximum of each block",
    .id      = 5,
    .state   = sizeof(tree8_t),
    .option  = tree8_option,
    .finish  = tree8_finish,
    .size    = tree8_size,
    .kernels = TW_KERNELS(tw_tree8),
    .offers =
        {{"tree8", TW_F32, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE | TW_OFFER_FIRST},
         {"tree8", TW_F16, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE | TW_OFFER_FIRST},
         {"tree8", TW_BF16, TW_OFFER_AUTO | TW_OFFER_REPORT | TW_OFFER_ADVICE | TW_OFFER_FIRST}},
};
