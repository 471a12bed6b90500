/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/allreduce_table.c - tables of allreduce and reduce for the driver.
 */
#include "config.h"

#include "runtime/transport/coll/allreduce/reduction.h"

#define TW_REDUCTION_REF(x, name, considered) &tw_reduction_##name,

static const tw_algorithm_row_t *const tw_reduction_rows[] = {
    TW_REDUCTION_ALGORITHMS(TW_REDUCTION_REF, ) NULL};

const tw_collective_t tw_collective_allreduce = {.operation = TW_OPERATION_ALLREDUCE,
                                                 .rows      = tw_reduction_rows,
                                                 .arrays    = 2,
                                                 .check     = tw_reduction_check,
                                                 .first     = &tw_reduction_node};
const tw_collective_t tw_collective_reduce    = {.operation = TW_OPERATION_REDUCE,
                                                 .rows      = tw_reduction_rows,
                                                 .arrays    = 2,
                                                 .check     = tw_reduction_check,
                                                 .first     = &tw_reduction_node};
