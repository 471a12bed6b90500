/* SPDX-License-Identifier: BSD-3-Clause
 * codec/tree8/tree8_vsx.c - tree8 by VSX: the loops of tree8/tree8_vec4.h.
 */
#include "config.h"

#include "runtime/codec/vsx.h"
#include "runtime/codec/tree8/tree8_vec4.h"

TREE8_KERNELS(tw_tree8_vsx);
