/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int_f32.c - blocks of `int` of float32, see int_scalar.h.
 */
#include "config.h"

#define INT_DOUBLE 0
#include "runtime/codec/int/int_scalar.h"
