/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int8/int8_vsx.c - int8 by VSX: the loops of int8/int8_vec4.h.
 */
#include "config.h"

#include "runtime/codec/vsx.h"
#include "runtime/codec/int8/int8_vec4.h"

INT8_KERNELS(tw_int8_vsx);
