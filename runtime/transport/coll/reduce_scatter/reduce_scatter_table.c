/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/reduce_scatter/reduce_scatter_table.c - tables of the reduce-scatters for the
 * driver.
 */
#include "config.h"

#include "runtime/transport/coll/allreduce/reduction.h"

#define TW_SCATTER_REF(x, name, considered) &tw_scatter_##name,

static const tw_algorithm_row_t *const tw_scatter_rows[] = {TW_SCATTER_ALGORITHMS(TW_SCATTER_REF, )
                                                                NULL};

const tw_collective_t tw_collective_reduce_scatter = {.operation = TW_OPERATION_REDUCE_SCATTER,
                                                      .rows      = tw_scatter_rows,
                                                      .arrays    = 2,
                                                      .check     = tw_reduction_check};
