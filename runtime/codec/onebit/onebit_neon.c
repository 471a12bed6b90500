/* SPDX-License-Identifier: BSD-3-Clause
 * codec/onebit/onebit_neon.c - onebit by NEON: the loops of onebit/onebit_vec4.h.
 */
#include "config.h"

#include "runtime/codec/neon.h"
#include "runtime/codec/onebit/onebit_vec4.h"

TW_BLOCK_KERNELS(tw_onebit_neon, onebit_encode, onebit_decode);
