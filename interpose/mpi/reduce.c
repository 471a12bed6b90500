/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/reduce.c - MPI_Reduce, MPI_Ireduce: the codes of all ranks are gathered at the
 * root, which adds them in rank order. One stage, so nobody but the root waits for others; where
 * the root would need more than two message sizes of memory, or receive more than a native sum
 * moves, the native call is made.
 */
#include "config.h"

#include "interpose/mpi/transfer.h"
#include "interpose/handlers.h"
#include "interpose/next.h"
#include "runtime/transport/link/mpi_type.h"

static int tw_reduce_move(const tw_transfer_t *x, MPI_Request *request)
{
    const int units = x->send.lengths[0];

    return tw_mpi_gather(x->send.codes, units, x->unit_type, x->recv.codes, units, x->unit_type,
                         x->root, x->call->comm->handle, request);
}

static int tw_reduce_exact(const tw_transfer_t *x, const void *input, void *exact)
{
    return tw_next.Reduce(input, exact, (int)x->send.block->items, x->send.type.handle,
                          x->call->mpi_op, x->root, x->call->comm->handle);
}

/* The root alone sees the error; nothing more is exchanged. */
static const tw_manner_t tw_reduce_manner = {
    .move = tw_reduce_move, .exact = tw_reduce_exact, .alone = true};

int tw_on_reduce(const void *site, const void *sendbuf, void *recvbuf, int count,
                 MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Request *request)
{
    tw_transfer_t *x;
    tw_call_t      call;
    int            result;

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
    if (call.choice != NULL) {
        x = tw_transfer_sum(&call, &tw_reduce_manner, sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf,
                            recvbuf, (size_t)count, call.comm->rank == root);
        x->root   = root;
        call.sent = tw_call_moved(call.op, call.comm->size, x->send.total);
        return tw_transfer_run(x, request);
    }
    result = tw_mpi_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, request);
    tw_call_end(&call);
    return result;
}
