/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/alltoall.c - MPI_Alltoall, MPI_Ialltoall: every block is encoded, the one to the
 * own rank too, an Alltoall of codes, every block is decoded.
 */
#include "config.h"

#include "interpose/mpi/transfer.h"
#include "interpose/handlers.h"
#include "interpose/next.h"

static int tw_alltoall_move(const tw_transfer_t *x, MPI_Request *request)
{
    return tw_mpi_alltoall(x->send.codes, x->send.lengths[0], x->unit_type, x->recv.codes,
                           x->recv.lengths[0], x->unit_type, x->call->comm->handle, request);
}

static const tw_manner_t tw_alltoall_manner = {.move = tw_alltoall_move};

/* Blocks of `items` items of a type, one for each rank. */
static void tw_alltoall_side(const tw_call_t *call, tw_side_t *side, const tw_type_t *type,
                             const void *buffer, size_t items)
{
    tw_side_set(side, type, buffer);
    for (int r = 0; r < call->comm->size; r++) {
        tw_side_add(side, call->choice, items, (MPI_Aint)((size_t)r * items));
    }
}

int tw_on_alltoall(const void *site, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                   void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                   MPI_Request *request)
{
    const bool     in_place = sendbuf == MPI_IN_PLACE;
    const void    *buffer   = in_place ? recvbuf : sendbuf;
    const int      count    = in_place ? recvcount : sendcount;
    tw_transfer_t *x;
    tw_type_t      type;
    tw_call_t      call;
    int            result;

    tw_call_begin(&call, site, TW_RULE_ALLTOALL, request != NULL, comm);
    if (tw_call_vector(&call, recvcount, recvtype)) {
        type = call.type;
        if ((!in_place &&
             (sendcount < 0 || !tw_type_look(sendtype, &type) || type.kind != call.type.kind ||
              (size_t)sendcount * type.values != call.values)) ||
            recvbuf == MPI_IN_PLACE || (recvbuf == NULL && call.type.dense) ||
            (buffer == NULL && type.dense) ||
            (tw_same_refused(sendbuf, recvbuf) && sendtype == recvtype && sendcount == recvcount)) {
            tw_call_refuse(&call, TW_WHY_ARGUMENTS);
        }
    }
    tw_call_buffers(&call, sendbuf, recvbuf);
    if (tw_call_decide(&call)) {
        x = tw_transfer_make(&call, &tw_alltoall_manner, call.comm->size, call.comm->size);
        tw_alltoall_side(&call, &x->send, &type, buffer, (size_t)count);
        tw_alltoall_side(&call, &x->recv, &call.type, recvbuf, (size_t)recvcount);
        call.sent = tw_call_moved(call.op, call.comm->size, x->send.block->bytes);
        return tw_transfer_run(x, request);
    }
    result =
        tw_mpi_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
    tw_call_end(&call);
    return result;
}
