/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/bcast/bcast_table.c - tables of bcast for the driver.
 */
#include "config.h"

#include "runtime/transport/coll/bcast/bcast.h"

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

#define TW_BCAST_REF(x, name, considered) &tw_bcast_##name,

static const tw_algorithm_row_t *const tw_bcast_rows[] = {TW_BCAST_ALGORITHMS(TW_BCAST_REF, ) NULL};

const tw_collective_t tw_collective_bcast = {.operation = TW_OPERATION_BCAST,
                                             .rows      = tw_bcast_rows,
                                             .moves     = true,
                                             .check     = tw_bcast_check,
                                             .first     = &tw_bcast_node};
