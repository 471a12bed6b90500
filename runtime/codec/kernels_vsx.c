/* SPDX-License-Identifier: BSD-3-Clause
 * codec/kernels_vsx.c - the kernels for VSX of POWER.
 */
#include "config.h"

#include "runtime/codec/kernels.h"

extern const tw_isa_t     tw_isa_vsx;

const tw_isa_t tw_isa_vsx = {
    .kernels =
        {
            [TW_ID_FP32] = NULL,
        },
};
