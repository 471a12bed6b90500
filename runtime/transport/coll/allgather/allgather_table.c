/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allgather/allgather_table.c - tables of allgather(v) for the driver.
 */
#include "config.h"

#include "runtime/transport/coll/allgather/allgather.h"

static tw_status_t tw_gather_check(tw_collective_call_t *call)
{
    const size_t    mine = tw_blocks_count(&call->in, call->comm->rank);
    tw_blocks_sum_t blocks;

    if (tw_blocks_sum(&call->in, call->comm->size, &blocks) != TW_OK) {
        return TW_ERR_RANGE;
    }
    if ((blocks.total > 0 && call->recv == NULL) || (call->send == NULL && mine > 0)) {
        return TW_ERR_INVALID_ARG;
    }
    call->count     = blocks.total / (size_t)call->comm->size;
    call->compared  = blocks.total;
    call->extent[0] = mine;
    call->extent[1] = blocks.extent;
    call->values[0] = call->send != TW_IN_PLACE && mine > 0 ? call->send : NULL;
    call->values[1] = blocks.total > 0 ? call->recv : NULL;
    return TW_OK;
}

#define TW_ALLGATHER_REF(x, name, considered) &tw_allgather_##name,

static const tw_algorithm_row_t *const tw_gather_rows[] = {
    TW_ALLGATHER_ALGORITHMS(TW_ALLGATHER_REF, ) NULL};

const tw_collective_t tw_collective_allgather = {.operation = TW_OPERATION_ALLGATHER,
                                                 .rows      = tw_gather_rows,
                                                 .arrays    = 2,
                                                 .moves     = true,
                                                 .check     = tw_gather_check,
                                                 .first     = &tw_allgather_node};
