/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/alltoall.c - the calls of alltoall and alltoallv.
 */
#include "config.h"

#include "runtime/transport/api/collective.h"

static tw_status_t tw_alltoall_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                    const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_alltoall, "alltoall", send, recv, how);
    call.out.each = count;
    call.in.each  = count;
    return tw_collective(&call, form, request_p);
}

TW_COLLECTIVE_FORMS(alltoall, (const void *send, void *recv, size_t count), (send, recv, count))

static tw_status_t tw_alltoallv_form(tw_comm_t *comm, const void *send, tw_blocks_t out, void *recv,
                                     tw_blocks_t in, const tw_how_t *how, tw_form_t form,
                                     tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_alltoallv, "alltoallv", send, recv, how);
    call.out = out;
    call.in  = in;
    if (in.counts == NULL || (send != TW_IN_PLACE && out.counts == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    return tw_collective(&call, form, request_p);
}

TW_COLLECTIVE_FORMS(alltoallv,
                    (const void *send, const size_t *send_counts, const size_t *send_displacements,
                     void *recv, const size_t *recv_counts, const size_t *recv_displacements),
                    (send,
                     (tw_blocks_t){.counts = send_counts, .displacements = send_displacements},
                     recv,
                     (tw_blocks_t){.counts = recv_counts, .displacements = recv_displacements}))
