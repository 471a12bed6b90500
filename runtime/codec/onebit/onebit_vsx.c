/* SPDX-License-Identifier: BSD-3-Clause
 * codec/onebit/onebit_vsx.c - onebit by VSX: the loops of onebit/onebit_vec4.h.
 */
#include "config.h"

#include "runtime/codec/vsx.h"
#include "runtime/codec/onebit/onebit_vec4.h"

TW_BLOCK_KERNELS(tw_onebit_vsx, onebit_encode, onebit_decode);
