/* SPDX-License-Identifier: BSD-3-Clause
 * base/dtypes/row.h - how a file of an element type ends: with its row.
 */
#ifndef TW_BASE_DTYPES_ROW_H
#define TW_BASE_DTYPES_ROW_H

#include "runtime/base/dtype.h"

/* The row, of functions with these names in the file that has it. */
#define TW_DTYPE_ROW_OF(row, called, size, of_fraction, of_exponent, float32_holds, of_sums, spec) \
    const tw_dtype_row_t tw_dtype_##row = {.name     = called,                                     \
                                           .bytes    = size,                                       \
                                           .fraction = of_fraction,                                \
                                           .exponent = of_exponent,                                \
                                           .in_f32   = float32_holds,                              \
                                           .sum      = of_sums,                                    \
                                           .lossless = spec,                                       \
                                           .combine  = {[TW_COMBINE_ADD]      = tw_add,            \
                                                        [TW_COMBINE_MULTIPLY] = tw_multiply,       \
                                                        [TW_COMBINE_MAXIMUM]  = tw_maximum,        \
                                                        [TW_COMBINE_MINIMUM]  = tw_minimum},        \
                                           .divide   = tw_divide,                                  \
                                           .to_f64   = tw_to_f64,                                  \
                                           .from_f64 = tw_from_f64}

#endif /* TW_BASE_DTYPES_ROW_H */
