/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels_avx2.c - the kernels for AVX2.
 */
#include "config.h"

#include "runtime/codec/scaled8_avx2.h"

extern const tw_kernels_t tw_fp32_avx2, tw_bitpack_avx2, tw_bf16_avx2, tw_fp16_avx2, tw_tree8_avx2,
    tw_int8_avx2, tw_static8_avx2, tw_mantissa8_avx2, tw_onebit_avx2;
extern const tw_isa_t tw_isa_avx2;

static uint32_t avx2_absmax(const uint8_t *src, size_t n)
{
    return tw_avx2_absmax(src, NULL, n, tw_far(n));
}

const tw_isa_t tw_isa_avx2 = {
    .kernels =
        {
            [TW_ID_FP32]      = &tw_fp32_avx2,
            [TW_ID_BITPACK]   = &tw_bitpack_avx2,
            [TW_ID_BF16]      = &tw_bf16_avx2,
            [TW_ID_FP16]      = &tw_fp16_avx2,
            [TW_ID_TREE8]     = &tw_tree8_avx2,
            [TW_ID_INT8]      = &tw_int8_avx2,
            [TW_ID_STATIC8]   = &tw_static8_avx2,
            [TW_ID_MANTISSA8] = &tw_mantissa8_avx2,
            [TW_ID_ONEBIT]    = &tw_onebit_avx2,
        },
    .absmax = avx2_absmax,
};
