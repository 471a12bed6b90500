/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int8_vec4.c - int8 by vectors of four, for NEON and VSX.
 *
 * Encoding: as int_scalar.h, adding 1.5 * 2^23 leaves the integer in the low byte.
 * Decoding: code + 128 put into the low bits of 2^23 is the number 2^23 + 128 + code; subtracting
 *           2^23 + 128 is exact and gives +0 for 0, so no conversion is needed.
 * Twin of: int_f32.c; same bytes and bits for every input.
 */
#include "config.h"

#include "runtime/codec/int/int.h"
#include "runtime/codec/scaled8_vec4.h"

TW_V4_INLINE void int8_to_codes(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    tw_u4 y[4];

    TW_V4_EACH(i, 4)
    {
        y[i] = (tw_u4)((tw_f4)x[i] * how->factor + tw_f4_splat(0x1.8p23f));
    }
    c[0] = tw_v4_low_bytes(y);
}

TW_V4_INLINE void int8_to_values(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    tw_v4_from_low_bytes(c[0] ^ (tw_b16)tw_u4_splat(0x80808080u), x);
    TW_V4_EACH(i, 4)
    {
        const tw_f4 code = (tw_f4)(x[i] | tw_u4_splat(0x4b000000u)) - tw_f4_splat(0x1p23f + 128.0f);

        x[i] = (tw_u4)(code * how->scale);
    }
}

TW_V4_SCALED8_KERNELS(tw_int8_vec4, tw_int_header_f32, int8_to_codes, int8_to_values);
