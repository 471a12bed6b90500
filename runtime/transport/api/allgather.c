/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/allgather.c - the calls of allgather and allgatherv.
 */
#include "config.h"

#include "runtime/transport/api/collective.h"

static tw_status_t tw_allgather_call(tw_comm_t *comm, const char *name, const void *send,
                                     void *recv, tw_blocks_t blocks, const tw_how_t *how,
                                     tw_form_t form, tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_allgather, name, send, recv, how);
    call.in = blocks;
    return tw_collective(&call, form, request_p);
}

static tw_status_t tw_allgather_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                     const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    return tw_allgather_call(comm, "allgather", send, recv, (tw_blocks_t){.each = count}, how, form,
                             request_p);
}

TW_COLLECTIVE_FORMS(allgather, (const void *send, void *recv, size_t count), (send, recv, count))

static tw_status_t tw_allgatherv_form(tw_comm_t *comm, const void *send, void *recv,
                                      const size_t *counts, const size_t *displacements,
                                      const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    if (counts == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    return tw_allgather_call(comm, "allgatherv", send, recv,
                             (tw_blocks_t){.counts = counts, .displacements = displacements}, how,
                             form, request_p);
}

TW_COLLECTIVE_FORMS(allgatherv,
                    (const void *send, void *recv, const size_t *counts,
                     const size_t *displacements),
                    (send, recv, counts, displacements))
