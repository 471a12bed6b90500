/* SPDX-License-Identifier: BSD-3-Clause
 * transport/allreduce/allreduce.c - the calls.
 */
#include "config.h"

#include "runtime/transport/allreduce/reduction.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/node/quick.h"

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

/* A short sum within a node, for which the way through the choice of an algorithm would take
 * longest. What is wrong with a call is found where all calls are checked. */
static bool tw_allreduce_short(const tw_comm_t *comm, const void *send, const void *recv,
                               size_t count, tw_reduction_t reduction, const tw_how_t *how)
{
    return tw_comm_check(comm) == TW_OK && send != NULL && recv != NULL &&
           (reduction == TW_SUM || reduction == TW_AVERAGE) &&
           (how == NULL || how->algorithm == TW_ALGORITHM_AUTO) &&
           tw_policy_allreduce_wish(&comm->policy) == TW_POLICY_AUTO && !tw_auto_asked(how) &&
           tw_node_fits(comm, how, count, 1) &&
           !tw_comm_device_owns(comm, (const void *const[2]){send, recv});
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

    if (tw_allreduce_short(comm, send, recv, count, reduction, how)) {
        return tw_quick_reduce(comm, "allreduce", send == TW_IN_PLACE ? recv : send, recv, count,
                               tw_node_plain(comm, how), reduction, -1);
    }
    if (tw_auto_is_plain(comm, TW_OPERATION_ALLREDUCE, count, how, &plain.wide) && send != NULL &&
        recv != NULL && (reduction == TW_SUM || reduction == TW_AVERAGE)) {
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
