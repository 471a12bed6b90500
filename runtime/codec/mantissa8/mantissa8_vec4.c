/* SPDX-License-Identifier: BSD-3-Clause
 * codec/mantissa8/mantissa8_vec4.c - mantissa8 by NEON or VSX: the loops of fixed8_vec4.h.
 */
#include "config.h"

#include "runtime/codec/fixed8_vec4.h"

FIXED8_KERNELS(tw_mantissa8_vec4);
