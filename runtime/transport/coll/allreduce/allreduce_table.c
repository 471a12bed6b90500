/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/allreduce_table.c - what the driver asks of allreduce and reduce.
 */
#include "config.h"

#include "runtime/transport/coll/allreduce/reduction.h"
#include "runtime/transport/shm/quick.h"

static bool tw_reduction_quick(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_comm_t   *comm    = call->comm;
    const size_t element = tw_node_quick(comm, call->how);

    if (!tw_node_fits(comm, element, call->count, 1) || tw_comm_device_owns(comm, call->values)) {
        return false;
    }
    *status_p =
        tw_quick_reduce(comm, call->name, call->send == TW_IN_PLACE ? call->recv : call->send,
                        call->recv, call->count, element, call->reduction, call->root);
    return true;
}

#define TW_REDUCTION_REF(x, name, considered) &tw_reduction_##name,

static const tw_algorithm_row_t *const tw_reduction_rows[] = {
    TW_REDUCTION_ALGORITHMS(TW_REDUCTION_REF, ) NULL};

const tw_collective_t tw_collective_allreduce = {.operation = TW_OPERATION_ALLREDUCE,
                                                 .rows      = tw_reduction_rows,
                                                 .arrays    = 2,
                                                 .check     = tw_reduction_check,
                                                 .quick     = tw_reduction_quick};
const tw_collective_t tw_collective_reduce    = {.operation = TW_OPERATION_REDUCE,
                                                 .rows      = tw_reduction_rows,
                                                 .arrays    = 2,
                                                 .check     = tw_reduction_check,
                                                 .quick     = tw_reduction_quick};
