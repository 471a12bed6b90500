/* SPDX-License-Identifier: BSD-3-Clause
 * base/reduction.h - what the values of all ranks are made into: a row each.
 *
 * Adding one: its tw_reduction_t in <thinwire/codec.h> and a line here; its combination, if no
 * other reduction has it yet, in base/dtype.h and in the element types (dtypes/). Codecs have a
 * kernel that decodes and adds; for other combinations values are decoded a tile at a time, and on
 * a device in memory of the host.
 */
#ifndef TW_BASE_REDUCTION_H
#define TW_BASE_REDUCTION_H

#include <stdbool.h>

#include "runtime/base/dtype.h"

/* ROW(tw_reduction_t, name, MPI's operation, combination of two values, is the result divided by
 * the number of ranks, may a program that does not know it get a codec that loses something, is
 * there error feedback). Without that the program's largest values would not be among those that it
 * had; a rule can ask for it, since codes keep the order of values. */
#define TW_REDUCTIONS(ROW)                                                                         \
    ROW(TW_SUM, "sum", MPI_SUM, TW_COMBINE_ADD, false, true, true)                                 \
    ROW(TW_AVERAGE, "average", MPI_SUM, TW_COMBINE_ADD, true, true, true)                          \
    ROW(TW_MAX, "max", MPI_MAX, TW_COMBINE_MAXIMUM, false, false, false)                           \
    ROW(TW_MIN, "min", MPI_MIN, TW_COMBINE_MINIMUM, false, false, false)                           \
    ROW(TW_PROD, "prod", MPI_PROD, TW_COMBINE_MULTIPLY, false, false, false)

typedef struct tw_reduction_row {
    const char      *name;
    tw_combination_t combination;
    bool             divides;
    bool             lossy;
    bool             feedback;
} tw_reduction_row_t;

enum {
#define TW_REDUCTION_ONE(reduction, ...) +1
    TW_REDUCTION_ROWS = TW_REDUCTIONS(TW_REDUCTION_ONE)
#undef TW_REDUCTION_ONE
};

/* By a tw_reduction_t, 0 to TW_REDUCTION_ROWS - 1; NULL: there is none. */
const tw_reduction_row_t *tw_reduction_row(int reduction);

/* Do codecs and devices have kernels for it? */
static inline bool tw_reduction_is_fused(const tw_reduction_row_t *row)
{
    return row->combination == TW_COMBINE_ADD;
}

#endif /* TW_BASE_REDUCTION_H */
