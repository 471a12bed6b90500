/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/reduce.c - MPI_Reduce, MPI_Ireduce: the codes of all ranks are gathered at the root,
 * which adds them in rank order. One stage, so nobody but the root waits for others; where the root
 * would need more than two message sizes of memory, or receive more than a plain sum moves, the
 * plain call is made.
 */
#include "config.h"

#include "interpose/form.h"
#include "interpose/handlers.h"
#include "interpose/next.h"
#include "interpose/verify.h"
#include "runtime/base/clock.h"

static const void *tw_reduce_input(const void *sendbuf, const void *recvbuf)
{
    return sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
}

static int tw_reduce_codes(tw_call_t *call, const void *sendbuf, void *recvbuf, int count,
                           MPI_Datatype datatype, int root, MPI_Comm comm)
{
    const bool   at_root = call->comm->rank == root;
    const size_t bytes   = tw_choice_bytes(call->choice, call->values);
    const int    units   = tw_choice_units(call->choice, call->values);
    const void  *input   = tw_reduce_input(sendbuf, recvbuf);
    void        *out     = tw_buffer_get(call->comm->handle, bytes);
    void *in = at_root ? tw_buffer_get(call->comm->handle, bytes * (size_t)call->comm->size) : NULL;
    void *exact  = NULL;
    int   result = MPI_SUCCESS;

    if (call->verify) { /* the root alone sees the error; nothing more is exchanged */
        const uint64_t start = tw_clock_ns();

        exact = at_root ? tw_buffer_get(call->comm->handle, (size_t)count * call->type.size) : NULL;
        result = tw_next.Reduce(input, exact, count, datatype, MPI_SUM, root, comm);
        tw_verify_spent(call, start, true);
    }
    tw_form_encode(call, call->choice, &call->type, input, (size_t)count, out);
    if (result == MPI_SUCCESS) {
        result = tw_next.Gather(out, units, tw_state.unit, in, units, tw_state.unit, root, comm);
    }
    if (result == MPI_SUCCESS && at_root) {
        tw_form_decode_sum(call, call->choice, &call->type, in, bytes, call->comm->size, recvbuf,
                           (size_t)count);
        if (exact != NULL) {
            const uint64_t start  = tw_clock_ns();
            tw_errors_t    errors = {0};

            tw_verify_compare(call, &errors, &call->type, recvbuf, (size_t)count, exact);
            tw_verify_note(call, &errors);
            tw_verify_spent(call, start, false);
        }
    }
    call->sent = tw_call_moved(call->op, call->comm->size, bytes);
    tw_buffer_put(exact);
    tw_buffer_put(out);
    tw_buffer_put(in);
    return result;
}

static void tw_ireduce_finish(tw_pending_t *pending)
{
    tw_form_op_t  *op    = (tw_form_op_t *)pending;
    const uint64_t start = tw_clock_ns();

    if (op->recv != NULL) {
        tw_form_decode_sum(&op->call, op->choice, &op->type, op->codes_in,
                           tw_choice_bytes(op->choice, op->call.values), op->ranks, op->recv,
                           op->items);
    }
    tw_form_op_done(op, start);
}

static int tw_ireduce_codes(tw_call_t *call, const void *sendbuf, void *recvbuf, int count,
                            int root, MPI_Comm comm, MPI_Request *request)
{
    const bool    at_root = call->comm->rank == root;
    const size_t  bytes   = tw_choice_bytes(call->choice, call->values);
    const int     units   = tw_choice_units(call->choice, call->values);
    tw_form_op_t *op =
        tw_form_op_make(call, call->choice, &call->type, at_root ? recvbuf : NULL, (size_t)count);

    op->codes_out = tw_buffer_get(call->comm->handle, bytes);
    op->codes_in =
        at_root ? tw_buffer_get(call->comm->handle, bytes * (size_t)call->comm->size) : NULL;
    op->call.sent = tw_call_moved(call->op, call->comm->size, bytes);
    tw_form_encode(&op->call, op->choice, &call->type, tw_reduce_input(sendbuf, recvbuf),
                   (size_t)count, op->codes_out);
    return tw_form_op_started(op,
                              tw_next.Igather(op->codes_out, units, tw_state.unit, op->codes_in,
                                              units, tw_state.unit, root, comm, request),
                              request, tw_ireduce_finish);
}

int tw_on_reduce(const void *site, const void *sendbuf, void *recvbuf, int count,
                 MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request)
{
    tw_call_t call;
    int       result;

    tw_call_begin(&call, site, TW_RULE_REDUCE, request != NULL, comm);
    if (tw_call_vector(&call, count, datatype)) {
        const bool at_root = call.comm->rank == root;

        tw_call_operation(&call, op);
        if (root < 0 || root >= call.comm->size || sendbuf == NULL ||
            (!at_root && sendbuf == MPI_IN_PLACE) ||
            (at_root && (recvbuf == NULL || recvbuf == sendbuf || recvbuf == MPI_IN_PLACE))) {
            tw_call_refuse(&call, TW_WHY_ARGUMENTS);
        }
    }
    tw_call_buffers(&call, sendbuf, call.comm != NULL && call.comm->rank == root ? recvbuf : NULL);
    if (tw_call_decide(&call) && !tw_encode_always() &&
        !tw_choice_all_fit(call.choice, call.values, call.comm->size)) {
        tw_call_undo(&call, TW_WHY_MEMORY);
    }
    if (call.choice != NULL && request != NULL) {
        return tw_ireduce_codes(&call, sendbuf, recvbuf, count, root, comm, request);
    }
    if (call.choice != NULL) {
        result = tw_reduce_codes(&call, sendbuf, recvbuf, count, datatype, root, comm);
    } else {
        result = tw_mpi_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, request);
    }
    tw_call_end(&call);
    return result;
}
