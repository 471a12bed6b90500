/* SPDX-License-Identifier: BSD-3-Clause
 * base/dtypes/f32.c - float.
 */
#include "config.h"

#include "runtime/base/dtypes/arithmetic.h"

TW_DTYPE_ARITHMETIC(f32, "float", float, int32_t, 23, 8, true, TW_F32, "fp32");
