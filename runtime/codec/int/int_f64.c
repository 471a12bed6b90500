/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int_f64.c - blocks of `int` of double, see int_scalar.h.
 */
#include "config.h"

#define INT_DOUBLE 1
#include "runtime/codec/int/int_scalar.h"
