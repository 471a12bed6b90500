/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/fp16_neon.c - fp16 by NEON: the conversions of the instruction set, which are IEEE
 * 754's with the FPCR at 0 (codec.c): to nearest even, subnormal numbers kept, NaN made quiet with
 * its sign and upper payload.
 */
#include "config.h"

#include "runtime/codec/values_vec4.h"

TW_V4_INLINE void fp16_to_codes(const tw_v4_how_t *how, const tw_u4 *x, tw_b16 *c)
{
    (void)how;
    TW_V4_EACH(i, 2)
    {
        c[i] = (tw_b16)vcvt_high_f16_f32(vcvt_f16_f32((tw_f4)x[2 * i]), (tw_f4)x[2 * i + 1]);
    }
}

TW_V4_INLINE void fp16_to_values(const tw_v4_how_t *how, const tw_b16 *c, tw_u4 *x)
{
    (void)how;
    TW_V4_EACH(i, 2)
    {
        x[2 * i]     = (tw_u4)vcvt_f32_f16(vget_low_f16((float16x8_t)c[i]));
        x[2 * i + 1] = (tw_u4)vcvt_high_f32_f16((float16x8_t)c[i]);
    }
}

TW_V4_VALUES_KERNELS(tw_fp16_vec4, fp16_to_codes, fp16_to_values, 2);
