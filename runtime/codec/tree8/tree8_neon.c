/* SPDX-License-Identifier: BSD-3-Clause
 * codec/tree8/tree8_neon.c - tree8 by NEON: the loops of tree8/tree8_vec4.h.
 */
#include "config.h"

#include "runtime/codec/neon.h"
#include "runtime/codec/tree8/tree8_vec4.h"

TREE8_KERNELS(tw_tree8_neon);
