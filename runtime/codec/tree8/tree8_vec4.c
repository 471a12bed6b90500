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

#include "runtime/codec/scaled8_vec4.h"

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

TW_V4_SCALED8_KERNELS(tw_tree8_vec4, tw_tree8_header, tree8_to_codes, tree8_to_values);
