/* SPDX-License-Identifier: BSD-3-Clause
 * codec/tree8/tree8_vec4.c - tree8 by vectors of four, for NEON and VSX.
 *
 * Encoding: rank by look-up with carry (levels.h); only the look-up is done number by number.
 * Decoding: by the table of 256 values. The levels as one fused multiply-add of the code for each
 *           segment of the tree would save the look-up, but no pair of float32 factors gives all
 *           listed bits (slopes up to 200 units from the ideal one were tried); forms that do, with
 *           a product in two parts, take more vector instructions than the loads.
 * Twin of:  tree8.c: the same two multiplications, x * factor and level * scale.
 */
#include "config.h"

#include "runtime/codec/tree8/tree8.h"
#include "runtime/codec/values_vec4.h"

TW_V4_INLINE void tree8_to_codes(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    const tw_b16 sign = (tw_b16)tw_u4_splat(0x80808080u);
    tw_u4        y[4], rank[4];

    TW_V4_EACH(i, 4)
    {
        y[i]    = (tw_u4)((tw_f4)x[i] * how->factor);
        rank[i] = tw_u4_magnitude(y[i]);
    }
    tw_v4_ranks(how->levels, rank);
    c[0] = tw_v4_low_bytes(rank) | (tw_v4_top_bytes(y) & sign);
}

TW_V4_INLINE void tree8_to_values(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    tw_v4_values(how->levels, c[0], x);
    TW_V4_EACH(i, 4)
    {
        x[i] = (tw_u4)((tw_f4)x[i] * how->scale);
    }
}

/* The maximum is found in a pass of its own; the block is then in the cache. No NaN is left, so the
 * order of a sum of two numbers is all that its bits depend on. */
static void tree8_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                         uint8_t *dst)
{
    const uint32_t most =
        residual != NULL ? tw_v4_absmax(src, residual, n) : tw_v4_absmax(src, NULL, n);
    float       factor, scale;
    tw_v4_how_t how;

    if (!tw_tree8_header(codec, most, n, dst, &factor, &scale)) {
        return;
    }
    dst += TW_TREE8_HEADER;
    how = (tw_v4_how_t){codec->table, tw_f4_splat(factor), tw_f4_splat(scale)};
    if (residual != NULL) {
        tw_v4_feedback(&how, tree8_to_codes, tree8_to_values, 1, false, src, n, residual, dst);
    } else {
        tw_v4_encode(&how, tree8_to_codes, 1, src, n, dst);
    }
}

static void tree8_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                         bool add)
{
    const float       scale = tw_bits_float(tw_load_le32(src));
    const tw_v4_how_t how   = {.levels = codec->table, .scale = tw_f4_splat(scale)};

    if (tw_block_poison(src, sizeof(float), n, dst)) {
        return;
    }
    src += TW_TREE8_HEADER;
    if (add) {
        tw_v4_decode(&how, tree8_to_values, 1, src, n, dst, true);
    } else {
        tw_v4_decode(&how, tree8_to_values, 1, src, n, dst, false);
    }
}

TW_BLOCK_KERNELS(tw_tree8_vec4, tree8_encode, tree8_decode);
