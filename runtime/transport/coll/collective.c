/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/collective.c - the driver: arguments, then who decides. See collective.h.
 */
#include "config.h"

#include "runtime/transport/auto/auto.h"
#include "runtime/transport/coll/collective.h"

/* Without a default, so that the compiler asks for a new one. */
static bool tw_algorithm_known(const tw_how_t *how)
{
    switch (how != NULL ? how->algorithm : TW_ALGORITHM_AUTO) {
    case TW_ALGORITHM_AUTO:
    case TW_ALGORITHM_DIRECT:
    case TW_ALGORITHM_TWO_PASS:
    case TW_ALGORITHM_GRID:
    case TW_ALGORITHM_HIERARCHICAL:
    case TW_ALGORITHM_MPI:
    case TW_ALGORITHM_NODE:
        return true;
    }
    return false;
}

/* MPI's own collective, with the arguments of the call. */
static tw_plain_args_t tw_collective_plain(const tw_collective_call_t *call)
{
    const bool blocks = call->collective->operation == TW_OPERATION_REDUCE_SCATTER ||
                        call->collective->operation == TW_OPERATION_ALLGATHER;

    return (tw_plain_args_t){.operation     = call->collective->operation,
                             .name          = call->name,
                             .send          = call->send,
                             .recv          = call->recv,
                             .count         = blocks ? call->in.each : call->count,
                             .counts        = call->in.counts,
                             .displacements = call->in.displacements,
                             .reduction     = call->reduction,
                             .root          = call->root};
}

/* Was it decided before that such a call is MPI's own collective, at once? */
static bool tw_collective_known_plain(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_plain_args_t plain;
    bool            wide;

    if (call->in.counts != NULL || tw_collective_named(call->collective, call->how) != NULL ||
        !tw_auto_is_plain(call->comm, call->collective->operation, call->count, call->how, &wide)) {
        return false;
    }
    plain      = tw_collective_plain(call);
    plain.wide = wide;
    *status_p  = tw_plain_run(call->comm, &plain);
    return true;
}

/* `auto`, or MPI's own: *how_p is what that comes to, and call->algorithm the row that was taken.
 * True: it was MPI's own, and *status_p is the status of the call. */
static bool tw_collective_decide(tw_collective_call_t *call, tw_form_t form,
                                 tw_request_t **request_p, tw_how_t *how_p, tw_status_t *status_p)
{
    const tw_plain_args_t plain = tw_collective_plain(call);
    tw_auto_choice_t      choice;

    *status_p = call->collective->unequal ? tw_auto_resolve_unequal(call->comm, call->how, &choice)
                                          : tw_auto_resolve(call->comm, call->collective,
                                                            call->count, call->how, &choice);
    if (*status_p != TW_OK) {
        return false;
    }
    if (tw_auto_plain(call->comm, &plain, &choice, form, request_p, status_p)) {
        return true;
    }
    *how_p          = choice.how;
    call->how       = how_p;
    call->piece     = choice.piece;
    call->algorithm = tw_collective_row(call->collective, choice.algorithm);
    return false;
}

static tw_status_t tw_collective_check(tw_collective_call_t *call, tw_form_t form,
                                       tw_request_t **request_p)
{
    tw_status_t status = tw_comm_check(call->comm);

    if (status == TW_OK) {
        status = (form != TW_BLOCKING && request_p == NULL) || !tw_algorithm_known(call->how)
                     ? TW_ERR_INVALID_ARG
                     : call->collective->check(call);
    }
    return status == TW_OK && call->collective->moves ? tw_movement_check(call->comm, call->how)
                                                      : status;
}

tw_status_t tw_collective(tw_collective_call_t *call, tw_form_t form, tw_request_t **request_p)
{
    tw_status_t status = tw_collective_check(call, form, request_p);
    tw_how_t    how;

    if (status != TW_OK) {
        return status;
    }
    if (call->algorithm == NULL && tw_auto_asked(call->how)) {
        if ((form == TW_BLOCKING && tw_collective_known_plain(call, &status)) ||
            tw_collective_decide(call, form, request_p, &how, &status) || status != TW_OK) {
            return status;
        }
    }
    return tw_collective_run(call, form, request_p);
}
