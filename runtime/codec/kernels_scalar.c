/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels_scalar.c - the kernels that define every codec.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/codec/kernels.h"
#include "runtime/codec/scaled8.h"

extern const tw_kernels_t tw_fp32_scalar, tw_bitpack_scalar, tw_bf16_scalar, tw_fp16_scalar,
    tw_tree8_scalar, tw_int8_scalar, tw_static8_scalar, tw_mantissa8_scalar, tw_onebit_scalar;

static uint32_t scalar_absmax(const uint8_t *src, size_t n)
{
    return tw_scaled8_absmax(src, NULL, n);
}

const tw_isa_t tw_isa_scalar = {
    .kernels =
        {
            [TW_ID_FP32]      = &tw_fp32_scalar,
            [TW_ID_BITPACK]   = &tw_bitpack_scalar,
            [TW_ID_BF16]      = &tw_bf16_scalar,
            [TW_ID_FP16]      = &tw_fp16_scalar,
            [TW_ID_TREE8]     = &tw_tree8_scalar,
            [TW_ID_INT8]      = &tw_int8_scalar,
            [TW_ID_STATIC8]   = &tw_static8_scalar,
            [TW_ID_MANTISSA8] = &tw_mantissa8_scalar,
            [TW_ID_ONEBIT]    = &tw_onebit_scalar,
        },
    .absmax = scalar_absmax,
};
