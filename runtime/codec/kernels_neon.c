/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels_neon.c - the kernels for Advanced SIMD of arm64.
 */
#include "config.h"

#include "runtime/codec/kernels.h"

extern const tw_isa_t     tw_isa_neon;

const tw_isa_t tw_isa_neon = {
    .kernels =
        {
            [TW_ID_FP32] = NULL,
        },
};
