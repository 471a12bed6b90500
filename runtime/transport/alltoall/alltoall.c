/* SPDX-License-Identifier: BSD-3-Clause
 * transport/alltoall/alltoall.c - the calls of alltoall and alltoallv.
 */
#include "config.h"

#include "runtime/transport/alltoall/alltoall.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/node/quick.h"

static tw_status_t tw_alltoall_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                    const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    const tw_alltoall_args_t args = {.comm      = comm,
                                     .operation = "alltoall",
                                     .send      = send,
                                     .recv      = recv,
                                     .out       = {.each = count},
                                     .in        = {.each = count},
                                     .how       = how};

    return tw_alltoall_any(&args, form, request_p);
}

/* Short blocks within a node, for which looking at every block would take longest. What is wrong
 * with a call is found where all calls are checked. */
static bool tw_alltoall_short(const tw_comm_t *comm, const void *send, const void *recv,
                              size_t count, const tw_how_t *how)
{
    return tw_comm_check(comm) == TW_OK && send != NULL && send != TW_IN_PLACE && recv != NULL &&
           tw_policy_may_node(comm->policy.alltoall) && !tw_auto_asked(how) &&
           tw_node_fits(comm, how, count, comm->size) &&
           !tw_comm_device_owns(comm, (const void *const[2]){send, recv});
}

tw_status_t tw_alltoall(tw_comm_t *comm, const void *send, void *recv, size_t count,
                        const tw_how_t *how)
{
    tw_plain_args_t plain = {.operation = TW_OPERATION_ALLTOALL,
                             .name      = "alltoall",
                             .send      = send,
                             .recv      = recv,
                             .count     = count,
                             .root      = -1};

    if (tw_alltoall_short(comm, send, recv, count, how)) {
        return tw_quick_alltoall(comm, send, recv, count * tw_node_plain(comm, how));
    }
    if (tw_auto_is_plain(comm, TW_OPERATION_ALLTOALL, count, how, &plain.wide) && send != NULL &&
        recv != NULL && how->feedback == NULL) {
        return tw_plain_run(comm, &plain);
    }
    return tw_alltoall_form(comm, send, recv, count, how, TW_BLOCKING, NULL);
}

tw_status_t tw_ialltoall(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         const tw_how_t *how, tw_request_t **request_p)
{
    return tw_alltoall_form(comm, send, recv, count, how, TW_NONBLOCKING, request_p);
}

tw_status_t tw_alltoall_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                             const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_alltoall_form(comm, send, recv, count, how, TW_PLAN, plan_p);
}

static tw_status_t tw_alltoallv_form(const tw_alltoall_args_t *args, tw_form_t form,
                                     tw_request_t **request_p)
{
    if (args->in.counts == NULL || (args->send != TW_IN_PLACE && args->out.counts == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    return tw_alltoall_any(args, form, request_p);
}

static tw_alltoall_args_t tw_alltoallv_args(tw_comm_t *comm, const void *send, tw_blocks_t out,
                                            void *recv, tw_blocks_t in, const tw_how_t *how)
{
    return (tw_alltoall_args_t){.comm      = comm,
                                .operation = "alltoallv",
                                .send      = send,
                                .recv      = recv,
                                .out       = out,
                                .in        = in,
                                .how       = how};
}

tw_status_t tw_alltoallv(tw_comm_t *comm, const void *send, const size_t *send_counts,
                         const size_t *send_displacements, void *recv, const size_t *recv_counts,
                         const size_t *recv_displacements, const tw_how_t *how)
{
    const tw_alltoall_args_t args =
        tw_alltoallv_args(comm, send, (tw_blocks_t){0, send_counts, send_displacements}, recv,
                          (tw_blocks_t){0, recv_counts, recv_displacements}, how);

    return tw_alltoallv_form(&args, TW_BLOCKING, NULL);
}

tw_status_t tw_ialltoallv(tw_comm_t *comm, const void *send, const size_t *send_counts,
                          const size_t *send_displacements, void *recv, const size_t *recv_counts,
                          const size_t *recv_displacements, const tw_how_t *how,
                          tw_request_t **request_p)
{
    const tw_alltoall_args_t args =
        tw_alltoallv_args(comm, send, (tw_blocks_t){0, send_counts, send_displacements}, recv,
                          (tw_blocks_t){0, recv_counts, recv_displacements}, how);

    return tw_alltoallv_form(&args, TW_NONBLOCKING, request_p);
}

tw_status_t tw_alltoallv_init(tw_comm_t *comm, const void *send, const size_t *send_counts,
                              const size_t *send_displacements, void *recv,
                              const size_t *recv_counts, const size_t *recv_displacements,
                              const tw_how_t *how, tw_request_t **plan_p)
{
    const tw_alltoall_args_t args =
        tw_alltoallv_args(comm, send, (tw_blocks_t){0, send_counts, send_displacements}, recv,
                          (tw_blocks_t){0, recv_counts, recv_displacements}, how);

    return tw_alltoallv_form(&args, TW_PLAN, plan_p);
}
