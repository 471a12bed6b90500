/* SPDX-License-Identifier: BSD-3-Clause
 * base/dtypes/f64.c - double.
 */
#include "config.h"

#include "runtime/base/dtypes/arithmetic.h"

TW_DTYPE_ARITHMETIC(f64, "double", double, int64_t, 52, 11, false, TW_F64, "bitpack:8");
