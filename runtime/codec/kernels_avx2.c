/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels_avx2.c - the kernels for AVX2.
 */
#include "config.h"

#include "runtime/codec/kernels.h"

extern const tw_kernels_t tw_bitpack_avx2;
extern const tw_isa_t     tw_isa_avx2;

const tw_isa_t tw_isa_avx2 = {
    .kernels =
        {
            [TW_ID_BITPACK] = &tw_bitpack_avx2,
        },
};
