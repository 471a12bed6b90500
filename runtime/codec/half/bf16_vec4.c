/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/bf16_vec4.c - bf16 by NEON or VSX, which is bitpack:2,round: the loops of
 * bitpack/bitpack_vec4.h.
 */
#include "config.h"

#include "runtime/codec/bitpack/bitpack_vec4.h"

TW_V4_VALUES_KERNELS(tw_bf16_vec4, pack_2_rounded, unpack_2, 2);
