/* SPDX-License-Identifier: BSD-3-Clause
 * codec/mantissa8/mantissa8_vsx.c - mantissa8 by VSX: the loops of fixed8_vec4.h.
 */
#include "config.h"

#include "runtime/codec/vsx.h"
#include "runtime/codec/fixed8_vec4.h"

FIXED8_KERNELS(tw_mantissa8_vsx);
