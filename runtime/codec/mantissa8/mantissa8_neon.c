/* SPDX-License-Identifier: BSD-3-Clause
 * codec/mantissa8/mantissa8_neon.c - mantissa8 by NEON: the loops of fixed8_vec4.h.
 */
#include "config.h"

#include "runtime/codec/neon.h"
#include "runtime/codec/fixed8_vec4.h"

FIXED8_KERNELS(tw_mantissa8_neon);
