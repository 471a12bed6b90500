/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels_avx512.c - the kernels for AVX-512.
 */
#include "config.h"

#include "runtime/codec/kernels.h"
#include "runtime/codec/scaled8_avx512.h"

extern const tw_kernels_t tw_fp32_avx512, tw_bitpack_avx512, tw_bf16_avx512, tw_fp16_avx512,
    tw_tree8_avx512, tw_int8_avx512, tw_static8_avx512, tw_mantissa8_avx512, tw_onebit_avx512;
extern const tw_isa_t tw_isa_avx512;

static uint32_t absmax(const uint8_t *src, size_t n)
{
    return tw_absmax512(src, NULL, n, false, true);
}

const tw_isa_t tw_isa_avx512 = {
    .kernels =
        {
            [TW_ID_FP32]      = &tw_fp32_avx512,
            [TW_ID_BITPACK]   = &tw_bitpack_avx512,
            [TW_ID_BF16]      = &tw_bf16_avx512,
            [TW_ID_FP16]      = &tw_fp16_avx512,
            [TW_ID_TREE8]     = &tw_tree8_avx512,
            [TW_ID_INT8]      = &tw_int8_avx512,
            [TW_ID_STATIC8]   = &tw_static8_avx512,
            [TW_ID_MANTISSA8] = &tw_mantissa8_avx512,
            [TW_ID_ONEBIT]    = &tw_onebit_avx512,
        },
    .absmax = absmax,
};
