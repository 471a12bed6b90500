/* SPDX-License-Identifier: BSD-3-Clause
 * transport/allgather/allgather.c - the calls of allgather and allgatherv.
 */
#include "config.h"

#include "runtime/transport/allgather/allgather.h"
#include "runtime/transport/auto/auto.h"

static tw_status_t tw_allgather_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                     const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    const tw_gather_args_t args = {.comm      = comm,
                                   .operation = "allgather",
                                   .send      = send,
                                   .recv      = recv,
                                   .each      = count,
                                   .how       = how};

    return tw_gather(&args, form, request_p);
}

tw_status_t tw_allgather(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         const tw_how_t *how)
{
    tw_plain_args_t plain = {.operation = TW_OPERATION_ALLGATHER,
                             .name      = "allgather",
                             .send      = send,
                             .recv      = recv,
                             .count     = count,
                             .root      = -1};

    if (tw_auto_is_plain(comm, TW_OPERATION_ALLGATHER, count, how, &plain.wide) && send != NULL &&
        recv != NULL && how->feedback == NULL) {
        return tw_plain_run(comm, &plain);
    }
    return tw_allgather_form(comm, send, recv, count, how, TW_BLOCKING, NULL);
}

tw_status_t tw_iallgather(tw_comm_t *comm, const void *send, void *recv, size_t count,
                          const tw_how_t *how, tw_request_t **request_p)
{
    return tw_allgather_form(comm, send, recv, count, how, TW_NONBLOCKING, request_p);
}

tw_status_t tw_allgather_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                              const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_allgather_form(comm, send, recv, count, how, TW_PLAN, plan_p);
}

static tw_status_t tw_allgatherv_form(tw_comm_t *comm, const void *send, void *recv,
                                      const size_t *counts, const size_t *displacements,
                                      const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    const tw_gather_args_t args = {.comm          = comm,
                                   .operation     = "allgatherv",
                                   .send          = send,
                                   .recv          = recv,
                                   .counts        = counts,
                                   .displacements = displacements,
                                   .how           = how};

    return counts != NULL ? tw_gather(&args, form, request_p) : TW_ERR_INVALID_ARG;
}

tw_status_t tw_allgatherv(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                          const size_t *displacements, const tw_how_t *how)
{
    return tw_allgatherv_form(comm, send, recv, counts, displacements, how, TW_BLOCKING, NULL);
}

tw_status_t tw_iallgatherv(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                           const size_t *displacements, const tw_how_t *how,
                           tw_request_t **request_p)
{
    return tw_allgatherv_form(comm, send, recv, counts, displacements, how, TW_NONBLOCKING,
                              request_p);
}

tw_status_t tw_allgatherv_init(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                               const size_t *displacements, const tw_how_t *how,
                               tw_request_t **plan_p)
{
    return tw_allgatherv_form(comm, send, recv, counts, displacements, how, TW_PLAN, plan_p);
}
