/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/allreduce.c - the calls of allreduce and reduce, which is the same with a
 * root.
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

#define TW_REDUCTION_REF(x, name, usual) &tw_reduction_##name,

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

static tw_status_t tw_allreduce_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                     tw_reduction_t reduction, const tw_how_t *how, tw_form_t form,
                                     tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_allreduce, "allreduce", send, recv, how);
    call.count     = count;
    call.reduction = reduction;
    return tw_collective(&call, form, request_p);
}

tw_status_t tw_allreduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         tw_reduction_t reduction, const tw_how_t *how)
{
    return tw_allreduce_form(comm, send, recv, count, reduction, how, TW_BLOCKING, NULL);
}

tw_status_t tw_iallreduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                          tw_reduction_t reduction, const tw_how_t *how, tw_request_t **request_p)
{
    return tw_allreduce_form(comm, send, recv, count, reduction, how, TW_NONBLOCKING, request_p);
}

tw_status_t tw_allreduce_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                              tw_reduction_t reduction, const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_allreduce_form(comm, send, recv, count, reduction, how, TW_PLAN, plan_p);
}

static tw_status_t tw_reduce_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                  tw_reduction_t reduction, int root, const tw_how_t *how,
                                  tw_form_t form, tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_reduce, "reduce", send, recv, how);
    call.count     = count;
    call.reduction = reduction;
    call.root      = root;
    return root >= 0 ? tw_collective(&call, form, request_p) : TW_ERR_INVALID_ARG;
}

tw_status_t tw_reduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                      tw_reduction_t reduction, int root, const tw_how_t *how)
{
    return tw_reduce_form(comm, send, recv, count, reduction, root, how, TW_BLOCKING, NULL);
}

tw_status_t tw_ireduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                       tw_reduction_t reduction, int root, const tw_how_t *how,
                       tw_request_t **request_p)
{
    return tw_reduce_form(comm, send, recv, count, reduction, root, how, TW_NONBLOCKING, request_p);
}

tw_status_t tw_reduce_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                           tw_reduction_t reduction, int root, const tw_how_t *how,
                           tw_request_t **plan_p)
{
    return tw_reduce_form(comm, send, recv, count, reduction, root, how, TW_PLAN, plan_p);
}
