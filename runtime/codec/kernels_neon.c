/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels_neon.c - the kernels for Advanced SIMD of arm64: all codecs; doubles stay scalar.
 * The loops stand in *_vec4.h, common to NEON and VSX.
 */
#include "config.h"

#include "runtime/codec/neon.h"
#include "runtime/codec/vec4.h"

extern const tw_isa_t     tw_isa_neon;
extern const tw_kernels_t tw_fp32_neon, tw_bitpack_neon, tw_bf16_neon, tw_fp16_neon, tw_tree8_neon,
    tw_int8_neon, tw_static8_neon, tw_mantissa8_neon, tw_onebit_neon;

static uint32_t neon_absmax(const uint8_t *src, size_t n)
{
    return tw_v4_absmax(src, NULL, n);
}

const tw_isa_t tw_isa_neon = {
    .kernels =
        {
            [TW_ID_FP32]      = &tw_fp32_neon,
            [TW_ID_BITPACK]   = &tw_bitpack_neon,
            [TW_ID_BF16]      = &tw_bf16_neon,
            [TW_ID_FP16]      = &tw_fp16_neon,
            [TW_ID_TREE8]     = &tw_tree8_neon,
            [TW_ID_INT8]      = &tw_int8_neon,
            [TW_ID_STATIC8]   = &tw_static8_neon,
            [TW_ID_MANTISSA8] = &tw_mantissa8_neon,
            [TW_ID_ONEBIT]    = &tw_onebit_neon,
        },
    .absmax = neon_absmax,
};
