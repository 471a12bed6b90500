/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels_avx512.c - the kernels for AVX-512.
 */
#include "config.h"

#include "runtime/codec/kernels.h"

extern const tw_kernels_t tw_bitpack_avx512;
extern const tw_isa_t     tw_isa_avx512;

const tw_isa_t tw_isa_avx512 = {
    .kernels =
        {
            [TW_ID_BITPACK] = &tw_bitpack_avx512,
        },
};
