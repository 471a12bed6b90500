/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/alltoall/alltoall_table.c - tables of alltoall and alltoallv for the driver.
 */
#include "config.h"

#include "runtime/transport/coll/alltoall/alltoall.h"

static tw_status_t tw_alltoall_check(tw_collective_call_t *call)
{
    tw_blocks_sum_t out, in;

    if (tw_blocks_sum(tw_blocks_out(call), call->comm->size, &out) != TW_OK ||
        tw_blocks_sum(&call->in, call->comm->size, &in) != TW_OK) {
        return TW_ERR_RANGE;
    }
    if ((out.total > 0 && call->send == NULL) || (in.total > 0 && call->recv == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    if (call->root < 0) {
        call->count = call->in.each;
    }
    call->compared  = call->count;
    call->values[0] = call->send != TW_IN_PLACE && out.total > 0 ? call->send : NULL;
    call->values[1] = in.total > 0 ? call->recv : NULL;
    call->extent[0] = out.extent;
    call->extent[1] = in.extent;
    return TW_OK;
}

#define TW_ALLTOALL_REF(x, name, considered) &tw_alltoall_##name,

static const tw_algorithm_row_t *const tw_alltoall_rows[] = {
    TW_ALLTOALL_ALGORITHMS(TW_ALLTOALL_REF, ) NULL};
static const tw_algorithm_row_t *const tw_alltoallv_rows[] = {&tw_alltoall_pairwise,
                                                              &tw_alltoall_hierarchical, NULL};

const tw_collective_t tw_collective_alltoall  = {.operation = TW_OPERATION_ALLTOALL,
                                                 .rows      = tw_alltoall_rows,
                                                 .arrays    = 4,
                                                 .moves     = true,
                                                 .check     = tw_alltoall_check,
                                                 .first     = &tw_alltoall_node};
const tw_collective_t tw_collective_alltoallv = {.operation = TW_OPERATION_ALLTOALL,
                                                 .rows      = tw_alltoallv_rows,
                                                 .arrays    = 4,
                                                 .moves     = true,
                                                 .unequal   = true,
                                                 .check     = tw_alltoall_check};
