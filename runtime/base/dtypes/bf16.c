/* SPDX-License-Identifier: BSD-3-Clause
 * base/dtypes/bf16.c - bfloat16.
 */
#include "config.h"

#include "runtime/base/dtypes/half.h"

TW_DTYPE_HALF(bf16, "bfloat16", 7, 8, tw_bf16_from_bits, tw_bf16_to_bits, "bf16");
