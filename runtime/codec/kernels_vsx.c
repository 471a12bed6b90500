/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels_vsx.c - the kernels for VSX of POWER8 and later: all codecs; doubles stay scalar.
 * The loops stand in *_vec4.h, common to NEON and VSX.
 */
#include "config.h"

#include "runtime/codec/vsx.h"
#include "runtime/codec/vec4.h"

extern const tw_isa_t     tw_isa_vsx;
extern const tw_kernels_t tw_fp32_vsx, tw_bitpack_vsx, tw_bf16_vsx, tw_fp16_vsx, tw_tree8_vsx,
    tw_int8_vsx, tw_static8_vsx, tw_mantissa8_vsx, tw_onebit_vsx;

static uint32_t vsx_absmax(const uint8_t *src, size_t n)
{
    return tw_v4_absmax(src, NULL, n);
}

const tw_isa_t tw_isa_vsx = {
    .kernels =
        {
            [TW_ID_FP32]      = &tw_fp32_vsx,
            [TW_ID_BITPACK]   = &tw_bitpack_vsx,
            [TW_ID_BF16]      = &tw_bf16_vsx,
            [TW_ID_FP16]      = &tw_fp16_vsx,
            [TW_ID_TREE8]     = &tw_tree8_vsx,
            [TW_ID_INT8]      = &tw_int8_vsx,
            [TW_ID_STATIC8]   = &tw_static8_vsx,
            [TW_ID_MANTISSA8] = &tw_mantissa8_vsx,
            [TW_ID_ONEBIT]    = &tw_onebit_vsx,
        },
    .absmax = vsx_absmax,
};
