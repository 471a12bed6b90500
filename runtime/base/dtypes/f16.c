/* SPDX-License-Identifier: BSD-3-Clause
 * base/dtypes/f16.c - float16: IEEE 754 binary16.
 */
#include "config.h"

#include "runtime/base/dtypes/half.h"

TW_DTYPE_HALF(f16, "float16", 10, 5, tw_fp16_from_bits, tw_fp16_to_bits, "fp16");
