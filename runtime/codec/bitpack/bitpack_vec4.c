/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_vec4.c - bitpack by NEON or VSX for float32: the loops of
 * bitpack/bitpack_vec4.h.
 */
#include "config.h"

#include "runtime/codec/bitpack/bitpack_vec4.h"

BITPACK_KERNELS(tw_bitpack_vec4);
