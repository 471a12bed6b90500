/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/collective.c - the driver: check arguments, then decide. See collective.h.
 */
#include "config.h"

#include "runtime/transport/api/collective.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/coll/native/native.h"

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

/* The row that a call names, if its collective has it. */
static const tw_algorithm_row_t *tw_collective_named(const tw_collective_call_t *call)
{
    const tw_algorithm_t number = call->how != NULL ? call->how->algorithm : TW_ALGORITHM_AUTO;

    for (int i = 0; number != TW_ALGORITHM_AUTO && call->collective->rows[i] != NULL; i++) {
        if (call->collective->rows[i]->number == number) {
            return call->collective->rows[i];
        }
    }
    return NULL;
}

/* Was it decided before that such a call is MPI's own collective, at once? */
static bool tw_collective_known_native(tw_collective_call_t *call, tw_status_t *status_p)
{
    if (call->in.counts != NULL || call->named != NULL ||
        !tw_auto_is_native(call->comm, call->collective->operation, call->count, call->how)) {
        return false;
    }
    call->codec = call->how->codec;
    *status_p   = tw_native_run(call);
    return true;
}

/* `auto`, or MPI's own: *how_p is what that comes to, and call->algorithm the row that was
 * taken. */
static tw_status_t tw_collective_decide(tw_collective_call_t *call, tw_how_t *how_p)
{
    tw_auto_choice_t choice;
    tw_status_t      status = call->collective->unequal
                                  ? tw_auto_resolve_unequal(call->comm, call->how, &choice)
                                  : tw_auto_resolve(call, &choice);

    if (status == TW_OK) {
        *how_p          = choice.how;
        call->how       = how_p;
        call->codec     = choice.how.codec;
        call->fragment  = choice.fragment;
        call->algorithm = choice.native && (choice.named || tw_native_fits(call))
                              ? &tw_native_row
                              : tw_collective_row(call->collective, choice.algorithm);
    }
    return status;
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
    if (status != TW_OK) {
        return status;
    }
    return call->collective->moves ? tw_movement_check(call->comm, call->how)
                                   : tw_numbers_check(call->comm, call->how);
}

tw_status_t tw_collective(tw_collective_call_t *call, tw_form_t form, tw_request_t **request_p)
{
    tw_status_t status = tw_collective_check(call, form, request_p);
    tw_how_t    how, exact;
    bool        done = false;

    if (status != TW_OK) {
        return status;
    }
    call->named = tw_collective_named(call);
    if (tw_abs_asked(call->how)) {
        status = tw_abs_take(call, form, &exact, &done);
        if (status != TW_OK || done) {
            return status;
        }
        call->how = &exact;
    }
    if (call->algorithm == NULL && tw_auto_asked(call->how)) {
        if (form == TW_BLOCKING && tw_collective_known_native(call, &status)) {
            return status;
        }
        status = tw_collective_decide(call, &how);
        if (status != TW_OK) {
            return status;
        }
    }
    return tw_collective_run(call, form, request_p);
}
