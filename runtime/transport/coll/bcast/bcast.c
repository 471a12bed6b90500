/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/bcast/bcast.c - the calls.
 */
#include "config.h"

#include "runtime/transport/coll/collective.h"

static tw_status_t tw_bcast_form(tw_comm_t *comm, void *buffer, size_t count, int root,
                                 const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_bcast, "bcast", buffer, buffer, how);
    call.count = count;
    call.root  = root;
    return tw_collective(&call, form, request_p);
}

tw_status_t tw_bcast(tw_comm_t *comm, void *buffer, size_t count, int root, const tw_how_t *how)
{
    return tw_bcast_form(comm, buffer, count, root, how, TW_BLOCKING, NULL);
}

tw_status_t tw_ibcast(tw_comm_t *comm, void *buffer, size_t count, int root, const tw_how_t *how,
                      tw_request_t **request_p)
{
    return tw_bcast_form(comm, buffer, count, root, how, TW_NONBLOCKING, request_p);
}

tw_status_t tw_bcast_init(tw_comm_t *comm, void *buffer, size_t count, int root,
                          const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_bcast_form(comm, buffer, count, root, how, TW_PLAN, plan_p);
}
