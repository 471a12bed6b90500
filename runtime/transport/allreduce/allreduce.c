/* SPDX-License-Identifier: BSD-3-Clause
 * transport/allreduce/allreduce.c - the calls.
 */
#include "config.h"

#include "runtime/transport/allreduce/reduction.h"
#include "runtime/transport/auto/auto.h"

static tw_status_t tw_allreduce_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                     tw_reduction_t reduction, const tw_how_t *how, tw_form_t form,
                                     tw_request_t **request_p)
{
    const tw_reduction_args_t args = {.comm      = comm,
                                      .operation = "allreduce",
                                      .send      = send,
                                      .recv      = recv,
                                      .count     = count,
                                      .reduction = reduction,
                                      .root      = -1,
                                      .how       = how};

    return tw_reduction(&args, form, request_p);
}

tw_status_t tw_allreduce(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         tw_reduction_t reduction, const tw_how_t *how)
{
    tw_plain_args_t plain = {.operation = TW_OPERATION_ALLREDUCE,
                             .name      = "allreduce",
                             .send      = send,
                             .recv      = recv,
                             .count     = count,
                             .reduction = reduction,
                             .root      = -1};

    if (tw_auto_is_plain(comm, TW_OPERATION_ALLREDUCE, count, how, &plain.wide) && send != NULL && recv != NULL &&
        (reduction == TW_SUM || reduction == TW_AVERAGE)) {
        return tw_plain_run(comm, &plain);
    }
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
