/* SPDX-License-Identifier: BSD-3-Clause
 * transport/reduce/reduce.c - the calls; the algorithms are those of allreduce, with a root.
 */
#include "config.h"

#include "runtime/transport/allreduce/reduction.h"

static tw_status_t tw_reduce_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                  tw_reduction_t reduction, int root, const tw_how_t *how,
                                  tw_form_t form, tw_request_t **request_p)
{
    const tw_reduction_args_t args = {.comm      = comm,
                                      .operation = "reduce",
                                      .send      = send,
                                      .recv      = recv,
                                      .count     = count,
                                      .reduction = reduction,
                                      .root      = root,
                                      .how       = how};

    return root >= 0 ? tw_reduction(&args, form, request_p) : TW_ERR_INVALID_ARG;
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
