/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fixed8_vec4.h - static8 and mantissa8 by vectors of four, for NEON and VSX: rank by look-up
 * with carry (levels.h), code by a table of 128 bytes in registers, values by the table of 256.
 */
#ifndef TW_CODEC_FIXED8_VEC4_H
#define TW_CODEC_FIXED8_VEC4_H

#include "runtime/codec/values_vec4.h"

TW_V4_INLINE void fixed8_to_codes(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    const tw_b16 zero = (tw_b16)tw_u4_splat(0), top = (tw_b16)tw_u4_splat(0x80808080u);
    tw_u4        rank[4], odd[4];
    tw_b16       code;

    TW_V4_EACH(i, 4)
    {
        rank[i] = tw_u4_magnitude(x[i]);
        odd[i]  = tw_u4_not_finite(x[i]);
    }
    tw_v4_ranks(how->levels, rank);
    code = tw_look_up_128(how->levels->code, tw_v4_low_bytes(rank));
    code |= tw_v4_top_bytes(x) & top & ~tw_b16_eq(code, zero); /* zero has no sign */
    c[0] = tw_b16_select(tw_v4_low_bytes(odd), top, code);
}

TW_V4_INLINE void fixed8_to_values(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    tw_v4_values(how->levels, c[0], x);
}

#define FIXED8_KERNELS(name) TW_V4_VALUES_KERNELS(name, fixed8_to_codes, fixed8_to_values, 1)

#endif /* TW_CODEC_FIXED8_VEC4_H */
