/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int8/int8_neon.c - int8 by NEON: the loops of int8/int8_vec4.h.
 */
#include "config.h"

#include "runtime/codec/neon.h"
#include "runtime/codec/int8/int8_vec4.h"

INT8_KERNELS(tw_int8_neon);
