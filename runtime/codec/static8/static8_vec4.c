/* SPDX-License-Identifier: BSD-3-Clause
 * codec/static8/static8_vec4.c - static8 by NEON or VSX: the loops of fixed8_vec4.h.
 */
#include "config.h"

#include "runtime/codec/fixed8_vec4.h"

FIXED8_KERNELS(tw_static8_vec4);
