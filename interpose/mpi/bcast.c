/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/bcast.c - MPI_Bcast, MPI_Ibcast: the root encodes, codes are broadcast, all decode.
 *
 * The root, too, so that all ranks go on with the same numbers: programs decide by them how often
 * to go round a loop, and what to send next. To MPI its buffer is input only, so it is asked first
 * whether it may be written; where not, the root keeps its values and the report says so. Nothing
 * that other ranks do depends on the answer.
 *
 * Under an error contract the root measures the error of what it is about to send in the calls that
 * are verified, and steps up until the contract is kept; a small broadcast before the codes tells
 * which codec that is. Nothing waits for other ranks that would not wait in MPI_Bcast itself.
 */
#include "config.h"

#include <stdio.h>

#include "interpose/mpi/transfer.h"
#include "interpose/mpi/device.h"
#include "interpose/mpi/form.h"
#include "interpose/mpi/move.h"
#include "interpose/handlers.h"
#include "interpose/next.h"
#include "interpose/mpi/verify.h"
#include "interpose/mpi/writable.h"
#include "runtime/base/clock.h"

/* What the root's values become, against what they are. */
static void tw_bcast_measure(tw_call_t *call, const tw_choice_t *choice, const void *buffer,
                             size_t items, const void *codes, tw_errors_t *errors)
{
    const size_t n     = items * call->type.values;
    tw_type_t    dense = call->type; /* the same values without holes */
    void        *copy;
    const void  *exact = tw_form_values(call, &call->type, buffer, items, &copy);
    void        *got   = tw_buffer_get(call->comm->handle, items * call->type.size);

    dense.dense  = true;
    dense.device = NULL;
    tw_form_decode(call, choice, &dense, codes, got, items);
    *errors = (tw_errors_t){0};
    tw_errors_add(errors, tw_kind_dtype(call->type.kind), got, exact, n);
    tw_buffer_put(copy);
    tw_buffer_put(got);
}

/* The root under a contract: encode with the codec of the level, or a better one. codes has room
 * for any of them. Returns the choice, NULL for none. */
static const tw_choice_t *tw_bcast_contract(tw_call_t *call, const void *buffer, size_t items,
                                            void *codes)
{
    while (call->level->spec[0] != '\0') {
        const tw_choice_t *choice = tw_choice_get(call->level->spec, call->type.kind);
        tw_errors_t        errors;

        if (choice->codec == NULL ||
            tw_choice_bytes(choice, call->values) >= items * call->type.size) {
            call->level->spec[0] = '\0';
            break;
        }
        tw_form_encode(call, choice, &call->type, buffer, items, codes);
        if (!call->verify) {
            return choice;
        }
        tw_bcast_measure(call, choice, buffer, items, codes, &errors);
        tw_verify_note(call, &errors);
        if (tw_errors_kept(&errors)) {
            return choice;
        }
        snprintf(call->level->spec, sizeof(call->level->spec), "%s", tw_choice_finer(choice));
        call->stepped = true;
    }
    return NULL;
}

/* The root, when its codes are sent: what the others have now, it takes, too. Does it? */
static bool tw_bcast_takes(tw_call_t *call, const tw_type_t *type, const void *buffer, size_t items)
{
    if (call->choice->exact || call->coded == NULL) {
        return false; /* they have its own values */
    }
    call->kept =
        tw_state.config.bcast_root == TW_BCAST_ROOT_EXACT || !tw_writable(type, buffer, items);
    return !call->kept;
}

static int tw_bcast_codes(tw_call_t *call, void *buffer, int count, MPI_Datatype datatype, int root,
                          MPI_Comm comm)
{
    const bool   contract = call->level != NULL && tw_state.config.max_error > 0.0;
    const bool   sender   = call->comm->rank == root;
    const size_t items    = (size_t)count;
    const size_t full     = items * call->type.size + TW_UNIT;
    const size_t encoded  = tw_choice_bytes(call->choice, call->values);
    void        *codes    = tw_buffer_get(call->comm->handle, encoded > full ? encoded : full);
    int          result   = MPI_SUCCESS;

    if (contract) {
        if (sender) {
            call->choice = tw_bcast_contract(call, buffer, items, codes);
        }
        result = tw_next.Bcast(call->level->spec, TW_RULE_SPEC_MAX, MPI_BYTE, root, comm);
        if (!sender && result == MPI_SUCCESS) {
            call->choice = call->level->spec[0] != '\0'
                               ? tw_choice_get(call->level->spec, call->type.kind)
                               : NULL;
        }
    } else if (sender) {
        tw_form_encode(call, call->choice, &call->type, buffer, items, codes);
        if (call->verify) {
            tw_errors_t errors;

            tw_bcast_measure(call, call->choice, buffer, items, codes, &errors);
            tw_verify_note(call, &errors);
        }
    }
    if (result == MPI_SUCCESS && call->choice == NULL) {
        call->why = TW_WHY_CONTRACT;
        tw_verify_forget(call);
        result = tw_next.Bcast(buffer, count, datatype, root, comm);
    } else if (result == MPI_SUCCESS) {
        call->sent =
            tw_call_moved(call->op, call->comm->size, tw_choice_bytes(call->choice, call->values));
        result = tw_next.Bcast(codes, tw_choice_units(call->choice, call->values), tw_state.unit,
                               root, comm);
        if (result == MPI_SUCCESS &&
            (!sender || tw_bcast_takes(call, &call->type, buffer, items))) {
            tw_form_decode(call, call->choice, &call->type, codes, buffer, items);
        }
    }
    tw_buffer_put(codes);
    return result;
}

static int tw_ibcast_move(const tw_transfer_t *x, MPI_Request *request)
{
    const tw_side_t *side = x->send.count > 0 ? &x->send : &x->recv;

    return tw_mpi_bcast(side->codes, side->lengths[0], x->unit_type, x->root, x->call->comm->handle,
                        request);
}

static void tw_ibcast_sent(tw_transfer_t *x)
{
    if (x->send.count > 0 &&
        tw_bcast_takes(x->call, &x->send.type, x->send.buffer, x->send.block->items)) {
        tw_side_decode(x->call, &x->send);
    }
}

static const tw_manner_t tw_ibcast_manner = {.move = tw_ibcast_move, .sent = tw_ibcast_sent};

static int tw_ibcast_codes(tw_call_t *call, void *buffer, int count, int root, MPI_Request *request)
{
    tw_transfer_t *x = tw_transfer_make(call, &tw_ibcast_manner, 1, 1);

    x->root = root;
    tw_side_set(&x->send, &call->type, buffer);
    tw_side_set(&x->recv, &call->type, buffer);
    tw_side_add(call->comm->rank == root ? &x->send : &x->recv, call->coded, (size_t)count, 0);
    call->sent = tw_call_moved(call->op, call->comm->size, x->send.total + x->recv.total);
    return tw_transfer_run(x, request);
}

int tw_on_bcast(const void *site, void *buffer, int count, MPI_Datatype datatype, int root,
                MPI_Comm comm, MPI_Request *request)
{
    tw_call_t call;
    bool      taken; /* by MPI */
    int       result = MPI_SUCCESS;

    tw_call_begin(&call, site, TW_RULE_BCAST, request != NULL, comm);
    tw_call_vector(&call, count, datatype);
    taken = call.comm != NULL && root >= 0 && root < call.comm->size &&
            (buffer != NULL || !call.type.dense);
    if (!taken) {
        tw_call_refuse(&call, TW_WHY_ARGUMENTS);
    }
    tw_call_buffers(&call, buffer, NULL);
    if (tw_call_decide(&call)) {
        const bool looks = call.level != NULL && (tw_state.config.max_error > 0.0 || call.verify);

        if (request != NULL || call.bounded || (call.on_device && !looks)) {
            return tw_ibcast_codes(&call, buffer, count, root, request);
        }
        if (call.on_device) {
            call.type.device = tw_device_of(comm, buffer);
        }
        result = tw_bcast_codes(&call, buffer, count, datatype, root, comm);
    } else if (!taken || !tw_move_bcast(&call, buffer, (size_t)count, root)) {
        result = tw_mpi_bcast(buffer, count, datatype, root, comm, request);
    }
    tw_call_end(&call);
    return result;
}
