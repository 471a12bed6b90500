/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/fp16_vsx.c - fp16 by VSX of POWER8, which has no conversion instruction for it.
 *
 * Encoding: a normal number is rounded as an integer at bit 13. One below 2^-14 is added to 0.5,
 *           whose lowest bit is 2^-24, the unit of the subnormal numbers: the addition rounds it as
 *           it must.
 * Decoding: a subnormal number's bits put below 0.5 are that number and 0.5, which is taken off
 *           again.
 */
#include "config.h"

#include "runtime/codec/values_vec4.h"

#define BIAS (112u << 23) /* between the exponents */

TW_V4_INLINE tw_u4 half_of(tw_u4 u)
{
    const tw_u4 half   = (tw_u4)tw_f4_splat(0.5f);
    const tw_u4 size   = tw_u4_magnitude(u);
    const tw_u4 most   = tw_u4_splat(0x477ff000u); /* 65520: rounds to Inf */
    const tw_u4 below  = tw_u4_min(size, most) - tw_u4_splat(BIAS);
    const tw_u4 normal = (below + tw_u4_splat(0xfff) + (below >> 13 & tw_u4_splat(1))) >> 13;
    const tw_u4 small  = (tw_u4)((tw_f4)size + (tw_f4)half) - half;
    const tw_u4 nan    = tw_u4_splat(0x7e00) | (size >> 13 & tw_u4_splat(0x3ff));
    tw_u4       h      = tw_u4_select(tw_u4_gt(tw_u4_splat(0x38800000u), size), small, normal);

    h = tw_u4_select(tw_u4_gt(size, tw_u4_splat(TW_V4_EXPONENT)), nan, h);
    return h | (u >> 16 & tw_u4_splat(0x8000));
}

TW_V4_INLINE tw_u4 half_back(tw_u4 h)
{
    const tw_u4 half   = (tw_u4)tw_f4_splat(0.5f);
    const tw_u4 size   = h & tw_u4_splat(0x7fff);
    const tw_u4 normal = (size << 13) + tw_u4_splat(BIAS);
    const tw_u4 small  = (tw_u4)((tw_f4)(size | half) - (tw_f4)half);
    const tw_u4 quiet  = tw_u4_gt(size, tw_u4_splat(0x7c00)) & tw_u4_splat(0x00400000u);
    const tw_u4 odd    = (size << 13) | tw_u4_splat(TW_V4_EXPONENT) | quiet;
    tw_u4       x      = tw_u4_select(tw_u4_gt(tw_u4_splat(0x400), size), small, normal);

    x = tw_u4_select(tw_u4_gt(size, tw_u4_splat(0x7bff)), odd, x);
    return x | (h & tw_u4_splat(0x8000)) << 16;
}

TW_V4_INLINE void fp16_to_codes(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    (void)how;
    TW_V4_EACH(i, 2)
    {
        c[i] = tw_even_halves((tw_b16)half_of(x[2 * i]), (tw_b16)half_of(x[2 * i + 1]));
    }
}

TW_V4_INLINE void fp16_to_values(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    const tw_b16 zero = (tw_b16)tw_u4_splat(0);

    (void)how;
    TW_V4_EACH(i, 2)
    {
        x[2 * i]     = half_back((tw_u4)tw_zip_first_halves(c[i], zero));
        x[2 * i + 1] = half_back((tw_u4)tw_zip_last_halves(c[i], zero));
    }
}

TW_V4_VALUES_KERNELS(tw_fp16_vec4, fp16_to_codes, fp16_to_values, 2);
