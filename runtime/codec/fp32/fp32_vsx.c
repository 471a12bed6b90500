/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fp32/fp32_vsx.c - fp32 by VSX, which is bitpack:4: the loops of bitpack/bitpack_vec4.h.
 */
#include "config.h"

#include "runtime/codec/vsx.h"
#include "runtime/codec/bitpack/bitpack_vec4.h"

TW_V4_VALUES_KERNELS(tw_fp32_vsx, pack_4, unpack_4, 4);
