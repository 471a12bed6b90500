/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/bcast.c - the calls of bcast.
 */
#include "config.h"

#include "runtime/transport/api/collective.h"

static tw_status_t tw_bcast_form(tw_comm_t *comm, void *buffer, size_t count, int root,
                                 const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_bcast, "bcast", buffer, buffer, how);
    call.count = count;
    call.root  = root;
    return tw_collective(&call, form, request_p);
}

TW_COLLECTIVE_FORMS(bcast, (void *buffer, size_t count, int root), (buffer, count, root))
