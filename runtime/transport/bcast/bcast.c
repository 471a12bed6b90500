/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bcast/bcast.c - the calls.
 */
#include "config.h"

#include "runtime/transport/bcast/bcast.h"

static tw_status_t tw_bcast_form(tw_comm_t *comm, void *buffer, size_t count, int root,
                                 const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    const tw_shape_t shape  = {.algorithm = &tw_bcast_tree,
                               .operation = "bcast",
                               .count     = count,
                               .root      = root,
                               .longest   = count,
                               .slots     = 1};
    tw_status_t      status = tw_comm_check(comm);
    tw_request_t    *op;

    if (status != TW_OK) {
        return status;
    }
    if (root < 0 || root >= comm->size || (buffer == NULL && count > 0) ||
        (form != TW_BLOCKING && request_p == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_movement_check(comm, how);
    if (status == TW_OK) {
        status = tw_request_create(comm, how, &shape, form == TW_PLAN, &op);
    }
    if (status != TW_OK) {
        return status;
    }
    op->recv   = buffer;
    op->rounds = count / op->chunk + (count % op->chunk != 0);
    return tw_request_finish(op, form, request_p);
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
