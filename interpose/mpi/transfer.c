/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/transfer.c - see transfer.h.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>

#include "interpose/mpi/absolute.h"
#include "interpose/mpi/form.h"
#include "interpose/next.h"
#include "interpose/mpi/transfer.h"
#include "interpose/mpi/transfer_side.h"
#include "interpose/mpi/verify.h"
#include "runtime/base/clock.h"

/* ---- blocks ---------------------------------------------------------------------------------- */

tw_transfer_t *tw_transfer_make(tw_call_t *call, const tw_manner_t *manner, int sends, int receives)
{
    const size_t   blocks = (size_t)sends + (size_t)receives;
    const int      ranks  = call->comm->size;
    tw_transfer_t *x =
        calloc(1, sizeof(*x) + blocks * sizeof(tw_block_t) + 4 * (size_t)ranks * sizeof(int));

    if (x == NULL) {
        tw_give_up(call->comm->handle, "no memory for counts");
    }
    x->manner       = manner;
    x->call         = call;
    x->held         = MPI_DATATYPE_NULL;
    x->send.terms   = 1;
    x->recv.terms   = 1;
    x->send.block   = (tw_block_t *)(void *)(x + 1);
    x->recv.block   = x->send.block + sends;
    x->send.lengths = (int *)(void *)(x->send.block + blocks);
    x->send.at      = x->send.lengths + ranks;
    x->recv.lengths = x->send.at + ranks;
    x->recv.at      = x->recv.lengths + ranks;
    return x;
}

static void tw_transfer_free_unit(tw_transfer_t *x)
{
    if (x->unit > 1 && x->unit < TW_UNIT) {
        tw_next.Type_free(&x->unit_type);
    }
}

void tw_transfer_free(tw_transfer_t *x)
{
    tw_side_leave(&x->send);
    tw_side_leave(&x->recv);
    tw_transfer_free_unit(x);
    if (x->held != MPI_DATATYPE_NULL) {
        tw_next.Type_free(&x->held);
    }
    if (x->call == &x->kept) {
        tw_comms_let_go(x->call->comm);
    }
    free(x);
}

tw_transfer_t *tw_transfer_sum(tw_call_t *call, const tw_manner_t *manner, const void *input,
                               void *output, size_t items, bool receives)
{
    tw_transfer_t *x = tw_transfer_make(call, manner, 1, 1);

    tw_side_set(&x->send, &call->type, input);
    tw_side_add(&x->send, call->choice, items, 0);
    tw_side_set(&x->recv, &call->type, output);
    x->recv.terms = call->comm->size;
    if (receives) {
        tw_side_add(&x->recv, call->choice, items, 0);
    }
    return x;
}

/* What MPI counts in ints: units of TW_UNIT bytes where all are codes on all ranks, which are
 * padded to that; else bytes, and beyond 2^31 of them the largest unit that divides every block.
 * Blocks are whole elements, so that is 4 or 8 at least where it matters. Where a rank may be the
 * only one with nothing but codes it gives bytes like the others: MPI libraries choose the
 * algorithm by the type. */
static bool tw_transfer_lay(tw_transfer_t *x)
{
    const size_t most = x->send.total > x->recv.total ? x->send.total : x->recv.total;

    x->unit = tw_side_unit(&x->recv, tw_side_unit(&x->send, TW_UNIT));
    if (x->unit == TW_UNIT && (!x->manner->mixed || most > INT_MAX)) {
        x->unit_type = tw_state.unit;
    } else if (most <= INT_MAX || x->unit == 1) {
        x->unit      = 1;
        x->unit_type = MPI_BYTE;
    } else {
        tw_next.Type_contiguous((int)x->unit, MPI_BYTE, &x->unit_type);
        tw_next.Type_commit(&x->unit_type);
    }
    tw_side_lay(&x->send, x->unit);
    tw_side_lay(&x->recv, x->unit);
    return most / x->unit <= INT_MAX;
}

int tw_transfer_pairs(const tw_transfer_t *x, MPI_Request *request)
{
    return tw_mpi_alltoallv(x->send.codes, x->send.lengths, x->send.at, x->unit_type, x->recv.codes,
                            x->recv.lengths, x->recv.at, x->unit_type, x->call->comm->handle,
                            request);
}

/* ---- verification ---------------------------------------------------------------------------- */

/* Types of reductions have no holes. */
static int tw_transfer_exact_sum(const tw_transfer_t *x, void *exact)
{
    const tw_side_t *send  = &x->send;
    size_t           items = 0;
    void            *copy;
    int              result;

    for (int i = 0; i < send->count; i++) {
        items += send->block[i].items;
    }
    result = x->manner->exact(x, tw_form_values(x->call, &send->type, send->buffer, items, &copy),
                              exact);
    tw_buffer_put(copy);
    return result;
}

/* The exact values of the blocks that this rank receives, one after another. NULL where it receives
 * none, or where MPI cannot count them, on all ranks alike. */
static char *tw_transfer_exact(tw_transfer_t *x, int *result)
{
    tw_transfer_t *raw;
    char          *exact = NULL;

    if (x->manner->exact != NULL) {
        if (x->recv.count > 0) {
            exact = tw_buffer_get(x->call->comm->handle, x->recv.block->items * x->recv.type.size);
        }
        *result = tw_transfer_exact_sum(x, exact);
        return exact;
    }
    raw = tw_transfer_make(x->call, x->manner, x->send.count, x->recv.count);
    tw_side_as_it_is(&raw->send, &x->send);
    tw_side_as_it_is(&raw->recv, &x->recv);
    if (tw_transfer_lay(raw)) {
        tw_side_host_room(x->call, &raw->send);
        tw_side_host_room(x->call, &raw->recv);
        tw_side_encode(x->call, &raw->send);
        *result         = x->manner->move(raw, NULL);
        exact           = raw->recv.codes;
        raw->recv.codes = NULL;
    }
    tw_transfer_free(raw);
    return exact;
}

/* Blocks that travelled as they are, and those of lossless codecs, are exact anyway. */
static void tw_transfer_verify(tw_transfer_t *x, const char *exact)
{
    const uint64_t   start  = tw_clock_ns();
    const tw_side_t *side   = &x->recv;
    tw_errors_t      errors = {0};

    for (int i = 0; i < side->count; i++) {
        const tw_block_t *block = &side->block[i];

        if (block->choice != NULL && !block->choice->exact) {
            tw_verify_compare(x->call, &errors, &side->type,
                              tw_type_at(&side->type, side->buffer, block->first), block->items,
                              exact);
        }
        exact += block->items * side->type.size;
    }
    if (x->manner->alone) {
        tw_verify_note(x->call, &errors);
    } else {
        tw_verify_conclude(x->call, &errors);
    }
    tw_verify_spent(x->call, start, false);
}

/* ---- running --------------------------------------------------------------------------------- */

static void tw_transfer_take(tw_transfer_t *x)
{
    tw_side_decode(x->call, &x->recv);
    if (x->manner->sent != NULL) {
        x->manner->sent(x);
    }
}

/* Under an absolute bound: does what all ranks have keep it? Else it travels as it is. Nothing of
 * the program's has been written yet. */
static int tw_transfer_bound(tw_transfer_t *x)
{
    const tw_side_t *seen   = x->recv.count > 0 ? &x->recv : &x->send;
    const size_t     coded  = x->send.total + x->recv.total;
    int              result = MPI_SUCCESS;

    if (!tw_absolute_fits(x->call, seen)) {
        tw_transfer_free_unit(x);
        tw_side_again(x->call, &x->send);
        tw_side_again(x->call, &x->recv);
        if (!tw_transfer_lay(x)) {
            tw_give_up(x->call->comm->handle, "values beyond an absolute bound cannot be counted");
        }
        tw_side_encode(x->call, &x->send);
        result = x->manner->move(x, NULL);
        x->call->sent += (uint64_t)((double)x->call->sent *
                                    ((double)(x->send.total + x->recv.total) / (double)coded));
        if (result == MPI_SUCCESS) {
            tw_absolute_fits(x->call, seen);
        }
    }
    return result;
}

static int tw_transfer_carry_out(tw_transfer_t *x)
{
    char *exact  = NULL;
    int   result = MPI_SUCCESS;

    if (x->call->verify) { /* first: in place, the input is gone afterwards */
        const uint64_t start = tw_clock_ns();

        exact = tw_transfer_exact(x, &result);
        tw_verify_spent(x->call, start, true);
    }
    tw_side_encode(x->call, &x->send);
    if (result == MPI_SUCCESS) {
        result = x->manner->move(x, NULL);
    }
    if (result == MPI_SUCCESS && x->call->bounded) {
        result = tw_transfer_bound(x);
    }
    if (result == MPI_SUCCESS) {
        tw_transfer_take(x);
        if (exact != NULL) {
            tw_transfer_verify(x, exact);
        }
    }
    tw_buffer_put(exact);
    tw_call_end(x->call);
    tw_transfer_free(x);
    return result;
}

/* The record of the call was made when it began; what finishing takes is added to it. */
static void tw_transfer_finish(tw_pending_t *pending)
{
    tw_transfer_t *x     = (tw_transfer_t *)pending;
    const uint64_t start = tw_clock_ns();

    tw_transfer_take(x);
    tw_call_more(x->call, pending->waited_ns + tw_clock_ns() - start);
    tw_transfer_free(x);
}

static int tw_transfer_start(tw_transfer_t *x, MPI_Request *request)
{
    tw_type_t *type = &x->recv.type;
    int        result;

    x->kept = *x->call;
    x->call = &x->kept;
    tw_comms_hold(x->call->comm);
    if (!type->named && !type->dense) { /* the program may free it; its attributes are not copied */
        if (tw_next.Type_contiguous(1, type->handle, &x->held) != MPI_SUCCESS ||
            tw_next.Type_commit(&x->held) != MPI_SUCCESS) {
            tw_give_up(x->call->comm->handle, "no memory for a request");
        }
        type->handle = x->held;
    }
    tw_side_encode(x->call, &x->send);
    result = x->manner->move(x, request);
    if (result != MPI_SUCCESS) {
        tw_transfer_free(x);
        return result;
    }
    tw_call_end(x->call);
    x->call->encode_ns = x->call->decode_ns = 0;
    x->pending.finish                       = tw_transfer_finish;
    tw_pending_add(&x->pending, *request);
    return result;
}

int tw_transfer_run(tw_transfer_t *x, MPI_Request *request)
{
    if (!tw_transfer_lay(x)) {
        tw_give_up(x->call->comm->handle,
                   "a call in which one rank sends %zu bytes cannot be compressed", x->send.total);
    }
    if (x->call->on_device) {
        tw_side_find(x->call, &x->send);
        tw_side_find(x->call, &x->recv);
    }
    tw_side_room(x->call, &x->send);
    tw_side_room(x->call, &x->recv);
    return request != NULL ? tw_transfer_start(x, request) : tw_transfer_carry_out(x);
}
