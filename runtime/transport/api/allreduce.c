/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/allreduce.c - the calls of allreduce and reduce, which is the same with
 * a root.
 */
#include "config.h"

#include "runtime/transport/api/collective.h"

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

TW_COLLECTIVE_FORMS(allreduce,
                    (const void *send, void *recv, size_t count, tw_reduction_t reduction),
                    (send, recv, count, reduction))

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

TW_COLLECTIVE_FORMS(reduce,
                    (const void *send, void *recv, size_t count, tw_reduction_t reduction,
                     int root),
                    (send, recv, count, reduction, root))
