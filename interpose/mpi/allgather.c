/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/allgather.c - MPI_Allgather(v) and their nonblocking forms: every rank encodes its
 * block, an Allgatherv of codes, every rank decodes all blocks, its own too, so that all hold the
 * same.
 *
 * All ranks know all counts, so all know which blocks are encoded; with unequal counts the codec is
 * chosen by the largest block, and a block of any size is encoded. What no codec takes may go by
 * the transport (move.h).
 */
#include "config.h"

#include "interpose/mpi/counts.h"
#include "interpose/mpi/move.h"
#include "interpose/mpi/transfer.h"
#include "interpose/handlers.h"
#include "interpose/next.h"

static int tw_allgather_move(const tw_transfer_t *x, MPI_Request *request)
{
    return tw_mpi_allgatherv(x->send.codes, x->send.lengths[0], x->unit_type, x->recv.codes,
                             x->recv.lengths, x->recv.at, x->unit_type, x->call->comm->handle,
                             request);
}

static const tw_manner_t tw_allgather_manner = {.move = tw_allgather_move};

/* What the program called. */
typedef struct tw_gather {
    const void  *sendbuf;
    int          sendcount;
    MPI_Datatype sendtype;
    void        *recvbuf;
    tw_counts_t  counts; /* of the receive side, in items of its type */
    MPI_Datatype recvtype;
    bool         v; /* the form with counts */
    MPI_Comm     comm;
} tw_gather_t;

/* This rank's block as it is sent; false where MPI would refuse the call. */
static bool tw_gather_own(const tw_call_t *call, const tw_gather_t *a, tw_items_t *own)
{
    const int    rank  = call->comm->rank;
    const size_t bytes = tw_counts_at(&a->counts, rank) * call->type.size;

    own->type  = call->type;
    own->at    = tw_type_at(&call->type, a->recvbuf, tw_counts_first(&a->counts, rank));
    own->count = tw_counts_at(&a->counts, rank);
    if (a->sendbuf != MPI_IN_PLACE) {
        own->at    = a->sendbuf;
        own->count = (size_t)a->sendcount;
        if (a->sendcount < 0 || (a->sendcount > 0 && !tw_type_look(a->sendtype, &own->type)) ||
            own->count * own->type.size != bytes ||
            (bytes > 0 && call->why != TW_WHY_TYPE && own->type.kind != call->type.kind)) {
            return false;
        }
    }
    return (a->recvbuf != NULL || !call->type.dense) && a->recvbuf != MPI_IN_PLACE &&
           (own->at != NULL || !own->type.dense || own->count == 0);
}

static int tw_gather_codes(tw_call_t *call, const tw_gather_t *a, const tw_items_t *own,
                           MPI_Request *request)
{
    const int      ranks = a->counts.ranks;
    tw_transfer_t *x     = tw_transfer_make(call, &tw_allgather_manner, 1, ranks);

    tw_side_set(&x->send, &own->type, own->at);
    tw_side_add(&x->send, call->coded, own->count, 0);
    tw_side_set(&x->recv, &call->type, a->recvbuf);
    for (int r = 0; r < ranks; r++) {
        tw_side_add(&x->recv, call->coded, tw_counts_at(&a->counts, r),
                    tw_counts_first(&a->counts, r));
    }
    call->sent = (uint64_t)(ranks - 1) * x->send.total;
    return tw_transfer_run(x, request);
}

static int tw_gather_native(const tw_gather_t *a, MPI_Request *request)
{
    return a->v ? tw_mpi_allgatherv(a->sendbuf, a->sendcount, a->sendtype, a->recvbuf,
                                    a->counts.each, a->counts.displs, a->recvtype, a->comm, request)
                : tw_mpi_allgather(a->sendbuf, a->sendcount, a->sendtype, a->recvbuf, a->counts.all,
                                   a->recvtype, a->comm, request);
}

/* Counts that can be looked at: what the call would move. */
static bool tw_gather_look(tw_call_t *call, const tw_gather_t *a, tw_items_t *own)
{
    size_t sum, largest, mine;

    if (!tw_counts_look(&a->counts, &sum, &largest)) {
        return false;
    }
    tw_call_vector(call, (MPI_Aint)largest, a->recvtype);
    mine      = tw_counts_at(&a->counts, call->comm->rank);
    call->own = mine * call->type.values;
    if (call->comm->usable) { /* counted by the own block instead of the largest */
        call->uncompressed = (uint64_t)(call->comm->size - 1) * mine * call->type.size;
    }
    tw_call_buffers(call, mine > 0 ? a->sendbuf : NULL,
                    tw_counts_data(&a->counts, &call->type, a->recvbuf));
    return (call->why == TW_WHY_NOT || call->why == TW_WHY_TYPE) && tw_gather_own(call, a, own);
}

static int tw_gather_call(tw_call_t *call, const tw_gather_t *a, bool fine, MPI_Request *request)
{
    tw_items_t own;
    int        result = MPI_SUCCESS;

    fine = fine && tw_gather_look(call, a, &own);
    if (fine && tw_call_decide(call)) {
        return tw_gather_codes(call, a, &own, request);
    }
    tw_call_refuse(call, TW_WHY_ARGUMENTS);
    if (!fine || !tw_move_allgather(call, &own, a->recvbuf, &a->counts)) {
        result = tw_gather_native(a, request);
    }
    tw_call_end(call);
    return result;
}

int tw_on_allgather(const void *site, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                    void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                    MPI_Request *request)
{
    tw_gather_t a = {sendbuf,  sendcount, sendtype, recvbuf, {.all = recvcount},
                     recvtype, false,     comm};
    tw_call_t   call;

    tw_call_begin(&call, site, TW_RULE_ALLGATHER, request != NULL, comm);
    a.counts.ranks = call.comm != NULL ? call.comm->size : 0;
    return tw_gather_call(&call, &a, call.comm != NULL && recvcount >= 0, request);
}

int tw_on_allgatherv(const void *site, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                     void *recvbuf, const int recvcounts[], const int displs[],
                     MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    tw_gather_t a = {sendbuf,  sendcount, sendtype, recvbuf, {.each = recvcounts, .displs = displs},
                     recvtype, true,      comm};
    tw_call_t   call;
    bool        fine;

    tw_call_begin(&call, site, TW_RULE_ALLGATHERV, request != NULL, comm);
    fine           = call.comm != NULL && call.comm->usable && recvcounts != NULL && displs != NULL;
    a.counts.ranks = fine ? call.comm->size : 0;
    return tw_gather_call(&call, &a, fine, request);
}
