/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_vec4.h - the top K bytes of 16 words by vectors of four, for NEON and VSX:
 * bitpack of float32, truncating and rounding, and with them bf16 (bitpack:2,round) and fp32 (all
 * four). Rounding leaves the word where it is, so that packing its top bytes is the same with it or
 * without. Doubles stay with the scalar kernels.
 */
#ifndef TW_CODEC_BITPACK_VEC4_H
#define TW_CODEC_BITPACK_VEC4_H

#include "runtime/codec/bitpack/bitpack.h"
#include "runtime/codec/values_vec4.h"

/* tw_round_top32() before its shift. */
TW_V4_INLINE tw_u4 round_top(tw_u4 u, int drop)
{
    const tw_u4 nan     = tw_u4_gt(tw_u4_magnitude(u), tw_u4_splat(TW_V4_EXPONENT));
    const tw_u4 rounded = u + tw_u4_splat((1u << (drop - 1)) - 1) + (u >> drop & tw_u4_splat(1));

    return tw_u4_select(nan, u | tw_u4_splat(0x00400000u), rounded);
}

/* round_to_byte() of bitpack.c, the code in the top byte: NaN is 0x7f, Inf and what lies above 0x7d
 * is 0x7e. */
TW_V4_INLINE tw_u4 round_to_top_byte(tw_u4 u)
{
    const tw_u4 size = tw_u4_magnitude(u);
    const tw_u4 top  = size + tw_u4_splat((1u << 23) - 1) + (size >> 24 & tw_u4_splat(1));
    const tw_u4 code =
        tw_u4_select(tw_u4_gt(size, tw_u4_splat(TW_V4_EXPONENT)), tw_u4_splat(0x7f000000u),
                     tw_u4_min(top, tw_u4_splat(0x7e000000u)));

    return tw_u4_select(tw_u4_splat(0x80000000u), u, code);
}

TW_V4_INLINE void pack_1(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    (void)how;
    c[0] = tw_v4_top_bytes(x);
}

TW_V4_INLINE void unpack_1(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    (void)how;
    tw_v4_from_top_bytes(c[0], x);
}

TW_V4_INLINE void pack_2(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    (void)how;
    c[0] = tw_odd_halves((tw_b16)x[0], (tw_b16)x[1]);
    c[1] = tw_odd_halves((tw_b16)x[2], (tw_b16)x[3]);
}

TW_V4_INLINE void unpack_2(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    const tw_b16 zero = (tw_b16)tw_u4_splat(0);

    (void)how;
    x[0] = (tw_u4)tw_zip_first_halves(zero, c[0]);
    x[1] = (tw_u4)tw_zip_last_halves(zero, c[0]);
    x[2] = (tw_u4)tw_zip_first_halves(zero, c[1]);
    x[3] = (tw_u4)tw_zip_last_halves(zero, c[1]);
}

/* Each vector of codes is of two of values: 12 + 4 bytes, 8 + 8, 4 + 12. */
TW_V4_INLINE void pack_3(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    const tw_b16 first  = {1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21};
    const tw_b16 second = {6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26};
    const tw_b16 third  = {11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25, 26, 27, 29, 30, 31};

    (void)how;
    c[0] = tw_pick((tw_b16)x[0], (tw_b16)x[1], first);
    c[1] = tw_pick((tw_b16)x[1], (tw_b16)x[2], second);
    c[2] = tw_pick((tw_b16)x[2], (tw_b16)x[3], third);
}

/* Four codes from byte `from` of a and b on, from < 20; the byte before each is cleared. */
TW_V4_INLINE tw_u4 unpack_3_at(tw_b16 a, tw_b16 b, uint8_t from)
{
    const uint8_t f  = from;
    const tw_b16  at = {f, f,     f + 1, f + 2, f, f + 3, f + 4,  f + 5,
                        f, f + 6, f + 7, f + 8, f, f + 9, f + 10, f + 11};

    return (tw_u4)tw_pick(a, b, at) & tw_u4_splat(0xffffff00u);
}

TW_V4_INLINE void unpack_3(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    (void)how;
    x[0] = unpack_3_at(c[0], c[1], 0);
    x[1] = unpack_3_at(c[0], c[1], 12);
    x[2] = unpack_3_at(c[1], c[2], 8);
    x[3] = unpack_3_at(c[1], c[2], 20);
}

TW_V4_INLINE void pack_4(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    (void)how;
    TW_V4_EACH(i, 4)
    {
        c[i] = (tw_b16)x[i];
    }
}

TW_V4_INLINE void unpack_4(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    (void)how;
    TW_V4_EACH(i, 4)
    {
        x[i] = (tw_u4)c[i];
    }
}

TW_V4_INLINE void pack_1_rounded(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    const tw_u4 r[4] = {round_to_top_byte(x[0]), round_to_top_byte(x[1]), round_to_top_byte(x[2]),
                        round_to_top_byte(x[3])};

    pack_1(how, r, c);
}

TW_V4_INLINE void unpack_1_rounded(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    unpack_1(how, c, x);
    TW_V4_EACH(i, 4)
    {
        const tw_u4 size = tw_u4_magnitude(x[i]), sign = x[i] ^ size;
        const tw_u4 nan = tw_u4_eq(size, tw_u4_splat(0x7f000000u));
        const tw_u4 inf = tw_u4_eq(size, tw_u4_splat(0x7e000000u));

        x[i] = sign | tw_u4_select(nan, tw_u4_splat(0x7fc00000u),
                                   tw_u4_select(inf, tw_u4_splat(TW_V4_EXPONENT), size));
    }
}

TW_V4_INLINE void pack_2_rounded(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    const tw_u4 r[4] = {round_top(x[0], 16), round_top(x[1], 16), round_top(x[2], 16),
                        round_top(x[3], 16)};

    pack_2(how, r, c);
}

TW_V4_INLINE void pack_3_rounded(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    const tw_u4 r[4] = {round_top(x[0], 8), round_top(x[1], 8), round_top(x[2], 8),
                        round_top(x[3], 8)};

    pack_3(how, r, c);
}

#endif /* TW_CODEC_BITPACK_VEC4_H */
