/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fp32/fp32_vec4.c - fp32 by NEON or VSX, which is bitpack:4: the loops of
 * bitpack/bitpack_vec4.h.
 */
#include "config.h"

#include "runtime/codec/bitpack/bitpack_vec4.h"

TW_V4_VALUES_KERNELS(tw_fp32_vec4, pack_4, unpack_4, 4);
