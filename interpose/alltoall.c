/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/alltoall.c - MPI_Alltoall, MPI_Ialltoall: every block is encoded, the one to the own
 * rank too, an Alltoall of codes, every block is decoded.
 */
#include "config.h"

#include <limits.h>

#include "interpose/form.h"
#include "interpose/handlers.h"
#include "interpose/next.h"
#include "interpose/verify.h"
#include "runtime/base/clock.h"

/* What is sent: blocks of `items` items of `type`. */
typedef struct tw_alltoall {
    tw_type_t   type;
    const void *buffer;
    size_t      items;
    void       *recv;
    size_t      recv_items;
    size_t      bytes; /* of the codes of a block */
    int         units;
} tw_alltoall_t;

static void tw_alltoall_encode(tw_call_t *call, const tw_choice_t *choice, const tw_alltoall_t *a,
                               void *codes)
{
    for (int r = 0; r < call->comm->size; r++) {
        tw_form_encode(call, choice, &a->type,
                       tw_type_at(&a->type, a->buffer, (MPI_Aint)(r * a->items)), a->items,
                       (char *)codes + (size_t)r * a->bytes);
    }
}

static void tw_alltoall_decode(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                               const void *codes, size_t bytes, int ranks, void *recv, size_t items)
{
    for (int r = 0; r < ranks; r++) {
        tw_form_decode(call, choice, type, (const char *)codes + (size_t)r * bytes,
                       tw_type_at(type, recv, (MPI_Aint)((size_t)r * items)), items);
    }
}

/* The exact blocks for a verified call; NULL if counts are beyond ints. */
static void *tw_alltoall_exact(tw_call_t *call, const tw_alltoall_t *a, MPI_Comm comm, int *result)
{
    const size_t       whole = a->items * (size_t)call->comm->size;
    const MPI_Datatype basic = tw_form_basic(call->type.kind);
    void              *packed, *exact;

    if (call->values * (size_t)call->comm->size > INT_MAX) {
        return NULL;
    }
    packed = tw_buffer_get(call->comm->handle, whole * a->type.size);
    exact  = tw_buffer_get(call->comm->handle, whole * a->type.size);
    tw_type_pack(&a->type, a->buffer, whole, packed);
    *result =
        tw_next.Alltoall(packed, (int)call->values, basic, exact, (int)call->values, basic, comm);
    tw_buffer_put(packed);
    return exact;
}

static int tw_alltoall_codes(tw_call_t *call, const tw_alltoall_t *a, MPI_Comm comm)
{
    const int ranks  = call->comm->size;
    void     *out    = tw_buffer_get(call->comm->handle, a->bytes * (size_t)ranks);
    void     *in     = tw_buffer_get(call->comm->handle, a->bytes * (size_t)ranks);
    void     *exact  = NULL;
    int       result = MPI_SUCCESS;

    if (call->verify) {
        const uint64_t start = tw_clock_ns();

        exact = tw_alltoall_exact(call, a, comm, &result);
        tw_verify_spent(call, start, true);
    }
    tw_alltoall_encode(call, call->choice, a, out);
    if (result == MPI_SUCCESS) {
        result = tw_next.Alltoall(out, a->units, tw_state.unit, in, a->units, tw_state.unit, comm);
    }
    if (result == MPI_SUCCESS) {
        tw_alltoall_decode(call, call->choice, &call->type, in, a->bytes, ranks, a->recv,
                           a->recv_items);
        if (exact != NULL) {
            const uint64_t start  = tw_clock_ns();
            tw_errors_t    errors = {0};

            tw_verify_compare(call, &errors, &call->type, a->recv, a->recv_items * (size_t)ranks,
                              exact);
            tw_verify_conclude(call, &errors);
            tw_verify_spent(call, start, false);
        }
    }
    call->sent = tw_call_moved(call->op, ranks, a->bytes);
    tw_buffer_put(exact);
    tw_buffer_put(out);
    tw_buffer_put(in);
    return result;
}

static void tw_ialltoall_finish(tw_pending_t *pending)
{
    tw_form_op_t  *op    = (tw_form_op_t *)pending;
    const uint64_t start = tw_clock_ns();

    tw_alltoall_decode(&op->call, op->choice, &op->type, op->codes_in,
                       tw_choice_bytes(op->choice, op->call.values), op->ranks, op->recv,
                       op->items);
    tw_form_op_done(op, start);
}

static int tw_ialltoall_codes(tw_call_t *call, const tw_alltoall_t *a, MPI_Comm comm,
                              MPI_Request *request)
{
    const size_t  whole = a->bytes * (size_t)call->comm->size;
    tw_form_op_t *op    = tw_form_op_make(call, call->choice, &call->type, a->recv, a->recv_items);

    op->codes_out = tw_buffer_get(call->comm->handle, whole);
    op->codes_in  = tw_buffer_get(call->comm->handle, whole);
    op->call.sent = tw_call_moved(call->op, call->comm->size, a->bytes);
    tw_alltoall_encode(&op->call, op->choice, a, op->codes_out);
    return tw_form_op_started(op,
                              tw_next.Ialltoall(op->codes_out, a->units, tw_state.unit,
                                                op->codes_in, a->units, tw_state.unit, comm,
                                                request),
                              request, tw_ialltoall_finish);
}

int tw_on_alltoall(const void *site, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                   void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                   MPI_Request *request)
{
    const bool    in_place = sendbuf == MPI_IN_PLACE;
    tw_alltoall_t a        = {.buffer = in_place ? recvbuf : sendbuf, .recv = recvbuf};
    tw_call_t     call;
    int           result;

    tw_call_begin(&call, site, TW_RULE_ALLTOALL, request != NULL, comm);
    if (tw_call_vector(&call, recvcount, recvtype)) {
        a.type       = call.type;
        a.items      = (size_t)recvcount;
        a.recv_items = (size_t)recvcount;
        if (!in_place &&
            (sendcount < 0 || !tw_type_look(sendtype, &a.type) || a.type.kind != call.type.kind ||
             (size_t)sendcount * a.type.values != call.values)) {
            tw_call_refuse(&call, TW_WHY_ARGUMENTS);
        }
        a.items = in_place ? a.items : (size_t)(sendcount > 0 ? sendcount : 0);
        if (recvbuf == MPI_IN_PLACE || (recvbuf == NULL && call.type.dense) ||
            (a.buffer == NULL && a.type.dense) ||
            (tw_same_refused(sendbuf, recvbuf) && sendtype == recvtype && sendcount == recvcount)) {
            tw_call_refuse(&call, TW_WHY_ARGUMENTS);
        }
    }
    tw_call_buffers(&call, sendbuf, recvbuf);
    if (tw_call_decide(&call)) {
        a.bytes = tw_choice_bytes(call.choice, call.values);
        a.units = tw_choice_units(call.choice, call.values);
        if (request != NULL) {
            return tw_ialltoall_codes(&call, &a, comm, request);
        }
        result = tw_alltoall_codes(&call, &a, comm);
    } else {
        result = tw_mpi_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                 request);
    }
    tw_call_end(&call);
    return result;
}
