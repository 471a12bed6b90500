/* SPDX-License-Identifier: BSD-3-Clause
 * codec/onebit/onebit_vec4.c - onebit by vectors of four, for NEON and VSX.
 *
 * Sums:    64 lanes for each side are 32 vectors, all that NEON has. So the block is passed over
 *          twice, once for the lower 32 lanes and once for the upper ones: each reads only its own
 *          half of every group of 64, so that together they read the block once. A value is added
 *          to its side and +0 to the other, as in onebit.c: same lanes, same order, same bits.
 * Padding: +0, which changes no sum and counts as positive.
 * Twin of: onebit.c.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/codec/blocks.h"
#include "runtime/codec/onebit/onebit.h"
#include "runtime/codec/vec4.h"

#define HEADER   8
#define LANES    64
#define HALF     32 /* lanes, or values whose bits are one word of codes */
#define HALF_X   (4 * HALF)
#define VECTORS  (HALF / 4)
#define QUIETNAN 0x7fc00000u

typedef struct onebit_sums {
    float    positive[LANES], negative[LANES];
    uint32_t negatives;
} onebit_sums_t;

TW_V4_INLINE void onebit_load(const uint8_t *src, const uint8_t *residual, tw_u4 *x)
{
    tw_v4_load_sum(src, residual, x);
    tw_v4_load_sum(src + TW_V4_BYTES, residual != NULL ? residual + TW_V4_BYTES : NULL, x + 4);
}

/* Half a group: its values to their sides, their sign bits to 4 bytes at codes. */
TW_V4_INLINE void onebit_add(const uint8_t *src, const uint8_t *residual, tw_f4 *positive,
                             tw_f4 *negative, tw_u4 *negatives, uint8_t *codes)
{
    tw_u4 x[VECTORS];

    onebit_load(src, residual, x);
    TW_V4_EACH(i, VECTORS)
    {
        const tw_u4 side = tw_u4_negative(x[i]);

        positive[i] += (tw_f4)(x[i] & ~side);
        negative[i] += (tw_f4)(x[i] & side);
        *negatives -= side; /* + 1 for all ones */
    }
    tw_store_le32(codes, tw_top_bits_32(tw_v4_top_bytes(x), tw_v4_top_bytes(x + 4)));
}

/* The lanes of one half over the whole block, and its words of codes. */
TW_V4_INLINE void onebit_sum_half(const uint8_t *src, const uint8_t *residual, size_t n,
                                  size_t half, uint8_t *codes, onebit_sums_t *sums)
{
    const size_t offset = half * HALF_X;
    tw_f4        positive[VECTORS], negative[VECTORS];
    tw_u4        negatives = tw_u4_splat(0);

    TW_V4_EACH(i, VECTORS)
    {
        positive[i] = negative[i] = tw_f4_splat(0.0f);
    }
    for (; n >= LANES; n -= LANES, src += 4 * LANES, codes += LANES / 8) {
        onebit_add(src + offset, residual != NULL ? residual + offset : NULL, positive, negative,
                   &negatives, codes + 4 * half);
        residual = residual != NULL ? residual + 4 * LANES : NULL;
    }
    if (n > HALF * half) {
        const size_t rest      = n - HALF * half < HALF ? n - HALF * half : HALF;
        uint8_t      x[HALF_X] = {0}, r[HALF_X] = {0}, word[4];

        memcpy(x, src + offset, 4 * rest);
        if (residual != NULL) {
            memcpy(r, residual + offset, 4 * rest);
        }
        onebit_add(x, residual != NULL ? r : NULL, positive, negative, &negatives, word);
        memcpy(codes + 4 * half, word, (rest + 7) / 8);
    }
    memcpy(sums->positive + HALF * half, positive, sizeof(positive));
    memcpy(sums->negative + HALF * half, negative, sizeof(negative));
    sums->negatives += negatives[0] + negatives[1] + negatives[2] + negatives[3];
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

static bool onebit_finite(float x)
{
    return (tw_float_bits(x) & TW_V4_EXPONENT) != TW_V4_EXPONENT;
}

/* The mean that each bit of a word chooses. */
TW_V4_INLINE void onebit_expand(uint32_t word, float positive, float negative, tw_u4 *back)
{
    const tw_u4 words = tw_u4_splat(word), place = {1, 2, 4, 8};

    TW_V4_EACH(i, VECTORS)
    {
        const tw_u4 bit = place << 4 * i;

        back[i] = tw_u4_select(tw_u4_eq(words & bit, bit), (tw_u4)tw_f4_splat(negative),
                               (tw_u4)tw_f4_splat(positive));
    }
}

TW_V4_INLINE void onebit_rest(const uint8_t *src, uint8_t *residual, uint32_t word, float positive,
                              float negative)
{
    tw_u4 v[VECTORS], back[VECTORS];

    onebit_load(src, residual, v);
    onebit_expand(word, positive, negative, back);
    TW_V4_EACH(i, VECTORS)
    {
        tw_b16_store(residual + 16 * i, (tw_b16)((tw_f4)v[i] - (tw_f4)back[i]));
    }
}

static void onebit_residual(const uint8_t *src, size_t n, const uint8_t *codes, float positive,
                            float negative, uint8_t *residual)
{
    for (; n >= HALF; n -= HALF, src += HALF_X, residual += HALF_X, codes += 4) {
        onebit_rest(src, residual, tw_load_le32(codes), positive, negative);
    }
    if (n > 0) {
        uint8_t x[HALF_X] = {0}, r[HALF_X] = {0}, word[4] = {0};

        memcpy(x, src, 4 * n);
        memcpy(r, residual, 4 * n);
        memcpy(word, codes, (n + 7) / 8);
        onebit_rest(x, r, tw_load_le32(word), positive, negative);
        memcpy(residual, r, 4 * n);
    }
}

static void onebit_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                          uint8_t *dst)
{
    onebit_sums_t sums = {{0}, {0}, 0};
    float         positive, negative;

    (void)codec;
    for (size_t half = 0; half < 2; half++) {
        if (residual != NULL) {
            onebit_sum_half(src, residual, n, half, dst + HEADER, &sums);
        } else {
            onebit_sum_half(src, NULL, n, half, dst + HEADER, &sums);
        }
    }
    positive = onebit_mean(sums.positive, n - sums.negatives);
    negative = onebit_mean(sums.negative, sums.negatives);
    if ((!onebit_finite(positive) || !onebit_finite(negative)) &&
        !tw_onebit_means_again(src, residual, n, sums.negatives, &positive, &negative)) {
        tw_store_le32(dst, QUIETNAN);
        tw_store_le32(dst + 4, QUIETNAN);
        memset(dst + HEADER, 0, (n + 7) / 8);
        return;
    }
    tw_store_le32(dst, tw_float_bits(positive));
    tw_store_le32(dst + 4, tw_float_bits(negative));
    if (residual != NULL) {
        onebit_residual(src, n, dst + HEADER, positive, negative, residual);
    }
}

TW_V4_INLINE void onebit_put(uint32_t word, float positive, float negative, uint8_t *dst, bool add)
{
    tw_u4 x[VECTORS];

    onebit_expand(word, positive, negative, x);
    TW_V4_EACH(i, VECTORS)
    {
        if (add) {
            x[i] = (tw_u4)((tw_f4)tw_b16_load(dst + 16 * i) + (tw_f4)x[i]);
        }
        tw_b16_store(dst + 16 * i, (tw_b16)x[i]);
    }
}

TW_V4_INLINE void onebit_put_all(const uint8_t *codes, size_t n, float positive, float negative,
                                 uint8_t *dst, bool add)
{
    for (; n >= HALF; n -= HALF, codes += 4, dst += HALF_X) {
        onebit_put(tw_load_le32(codes), positive, negative, dst, add);
    }
    if (n > 0) {
        uint8_t x[HALF_X] = {0}, word[4] = {0};

        memcpy(word, codes, (n + 7) / 8);
        memcpy(x, dst, add ? 4 * n : 0);
        onebit_put(tw_load_le32(word), positive, negative, x, add);
        memcpy(dst, x, 4 * n);
    }
}

static void onebit_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                          bool add)
{
    float positive = tw_bits_float(tw_load_le32(src)),
          negative = tw_bits_float(tw_load_le32(src + 4));

    (void)codec;
    if (!onebit_finite(positive) || !onebit_finite(negative)) {
        positive = negative = tw_bits_float(QUIETNAN);
    }
    if (add) {
        onebit_put_all(src + HEADER, n, positive, negative, dst, true);
    } else {
        onebit_put_all(src + HEADER, n, positive, negative, dst, false);
    }
}

TW_BLOCK_KERNELS(tw_onebit_vec4, onebit_encode, onebit_decode);
