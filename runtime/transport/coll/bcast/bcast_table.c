/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/bcast/bcast_table.c - what the driver asks of bcast.
 */
#include "config.h"

#include "runtime/transport/coll/bcast/bcast.h"
#include "runtime/transport/shm/quick.h"

static tw_status_t tw_bcast_check(tw_collective_call_t *call)
{
    if (call->root < 0 || call->root >= call->comm->size ||
        (call->recv == NULL && call->count > 0)) {
        return TW_ERR_INVALID_ARG;
    }
    call->compared  = call->count;
    call->values[0] = NULL;
    call->extent[0] = 0;
    call->values[1] = call->count > 0 ? call->recv : NULL;
    call->extent[1] = call->count;
    return TW_OK;
}

static bool tw_bcast_quick(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_comm_t   *comm    = call->comm;
    const size_t element = tw_node_quick(comm, call->how);
    const bool   fits    = tw_node_fits(comm, element, call->count, 1);

    if ((!fits && (tw_interval_check(0, call->count) != TW_OK || element == 0 ||
                   !tw_node_reads(comm, call->count * element))) ||
        tw_comm_device_owns(comm, call->values)) {
        return false;
    }
    *status_p = fits ? tw_quick_bcast(comm, call->recv, call->count * element, call->root)
                     : tw_quick_bcast_read(comm, call->recv, call->count * element, call->root);
    return true;
}

#define TW_BCAST_REF(x, name, considered) &tw_bcast_##name,

static const tw_algorithm_row_t *const tw_bcast_rows[] = {TW_BCAST_ALGORITHMS(TW_BCAST_REF, ) NULL};

const tw_collective_t tw_collective_bcast = {.operation = TW_OPERATION_BCAST,
                                             .rows      = tw_bcast_rows,
                                             .moves     = true,
                                             .check     = tw_bcast_check,
                                             .quick     = tw_bcast_quick};
