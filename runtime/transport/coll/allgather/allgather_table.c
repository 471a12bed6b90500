/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allgather/allgather_table.c - what the driver asks of allgather(v).
 */
#include "config.h"

#include "runtime/transport/coll/allgather/allgather.h"
#include "runtime/transport/shm/quick.h"

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

static bool tw_gather_quick(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_comm_t     *comm    = call->comm;
    const size_t   element = call->in.counts == NULL ? tw_node_quick(comm, call->how) : 0;
    const size_t   bytes   = call->in.each * element;
    const uint8_t *mine    = call->send;

    if (!tw_node_fits(comm, element, call->in.each, 1) || tw_comm_device_owns(comm, call->values)) {
        return false;
    }
    if (call->send == TW_IN_PLACE) {
        mine = (const uint8_t *)call->recv + (size_t)comm->rank * bytes;
    }
    *status_p = tw_quick_allgather(comm, mine, call->recv, bytes);
    return true;
}

#define TW_ALLGATHER_REF(x, name, considered) &tw_allgather_##name,

static const tw_algorithm_row_t *const tw_gather_rows[] = {
    TW_ALLGATHER_ALGORITHMS(TW_ALLGATHER_REF, ) NULL};

const tw_collective_t tw_collective_allgather = {.operation = TW_OPERATION_ALLGATHER,
                                                 .rows      = tw_gather_rows,
                                                 .arrays    = 2,
                                                 .moves     = true,
                                                 .check     = tw_gather_check,
                                                 .quick     = tw_gather_quick};
