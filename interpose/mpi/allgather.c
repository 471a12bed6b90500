/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/allgather.c - MPI_Allgather(v) and their nonblocking forms: every rank encodes its
 * block, an Allgatherv of codes, every rank decodes all blocks, its own too, so that all hold the
 * same.
 *
 * All ranks know all counts, so all know which blocks are encoded; with unequal counts the codec is
 * chosen by the largest block, and a block of any size is encoded.
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

/* The blocks of the receive side, in items of its type. */
typedef struct tw_gather_blocks {
    tw_counts_t counts;
    const int  *displs; /* NULL: one after another */
} tw_gather_blocks_t;

static MPI_Aint tw_block_first(const tw_gather_blocks_t *blocks, int r)
{
    return blocks->displs != NULL ? blocks->displs[r] : (MPI_Aint)r * blocks->counts.all;
}

/* Where data is received, to which displacements may lead from anywhere; NULL: nowhere. */
static const void *tw_blocks_data(const tw_call_t *call, const void *recvbuf,
                                  const tw_gather_blocks_t *blocks)
{
    int r = 0;

    while (r < blocks->counts.ranks && tw_counts_at(&blocks->counts, r) == 0) {
        r++;
    }
    return r < blocks->counts.ranks ? tw_type_at(&call->type, recvbuf, tw_block_first(blocks, r))
                                    : NULL;
}

/* Both calls: the transfer, or NULL if the native call is to be made. */
static tw_transfer_t *tw_allgather_make(tw_call_t *call, const void *sendbuf, int sendcount,
                                        MPI_Datatype sendtype, void *recvbuf,
                                        const tw_gather_blocks_t *blocks, MPI_Datatype recvtype)
{
    size_t         sum, largest, items;
    tw_transfer_t *x;
    tw_type_t      send;
    const void    *mine;

    if (!tw_counts_look(&blocks->counts, &sum, &largest)) {
        tw_call_refuse(call, TW_WHY_ARGUMENTS);
        return NULL;
    }
    if (!tw_call_vector(call, (MPI_Aint)largest, recvtype)) {
        tw_call_buffers(call, NULL, tw_blocks_data(call, recvbuf, blocks));
        if (call->comm->usable) { /* counted, by the own block instead of the largest */
            call->uncompressed = (uint64_t)(call->comm->size - 1) * call->type.size *
                                 tw_counts_at(&blocks->counts, call->comm->rank);
        }
        return NULL;
    }
    send  = call->type;
    items = tw_counts_at(&blocks->counts, call->comm->rank);
    mine  = tw_type_at(&call->type, recvbuf, tw_block_first(blocks, call->comm->rank));
    if (sendbuf != MPI_IN_PLACE) {
        if (sendcount < 0 || (sendcount > 0 && !tw_type_look(sendtype, &send)) ||
            ((size_t)sendcount * send.size > 0 && send.kind != call->type.kind) ||
            (size_t)sendcount * send.values != items * call->type.values) {
            tw_call_refuse(call, TW_WHY_ARGUMENTS);
            return NULL;
        }
        mine  = sendbuf;
        items = (size_t)sendcount;
    }
    call->uncompressed = (uint64_t)(call->comm->size - 1) * items * send.size;
    call->own          = items * send.values;
    tw_call_buffers(call, items > 0 ? sendbuf : NULL, tw_blocks_data(call, recvbuf, blocks));
    if ((recvbuf == NULL && call->type.dense) || recvbuf == MPI_IN_PLACE ||
        (mine == NULL && send.dense && items > 0) || !tw_call_decide(call)) {
        tw_call_refuse(call, TW_WHY_ARGUMENTS);
        return NULL;
    }
    x = tw_transfer_make(call, &tw_allgather_manner, 1, blocks->counts.ranks);
    tw_side_set(&x->send, &send, mine);
    tw_side_add(&x->send, call->coded, items, 0);
    tw_side_set(&x->recv, &call->type, recvbuf);
    for (int r = 0; r < blocks->counts.ranks; r++) {
        tw_side_add(&x->recv, call->coded, tw_counts_at(&blocks->counts, r),
                    tw_block_first(blocks, r));
    }
    call->sent = (uint64_t)(blocks->counts.ranks - 1) * x->send.total;
    return x;
}

/* What has no numbers to encode, as bytes. Blocks of as many as MPI would take. */
static bool tw_allgather_moves(tw_call_t *call, const void *sendbuf, int sendcount,
                               MPI_Datatype sendtype, void *recvbuf, int recvcount)
{
    tw_type_t send = call->type;

    if (!tw_call_moves(call) || recvbuf == MPI_IN_PLACE || (recvbuf == NULL && send.dense)) {
        return false;
    }
    if (sendbuf != MPI_IN_PLACE &&
        (sendcount < 0 || !tw_type_look(sendtype, &send) ||
         (size_t)sendcount * send.size != call->bytes || (sendbuf == NULL && send.dense))) {
        return false;
    }
    return tw_move_allgather(call, sendbuf, &send, (size_t)sendcount, recvbuf, (size_t)recvcount);
}

int tw_on_allgather(const void *site, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                    void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                    MPI_Request *request)
{
    tw_gather_blocks_t blocks = {.counts = {.all = recvcount}};
    tw_transfer_t     *x      = NULL;
    tw_call_t          call;
    int                result;

    tw_call_begin(&call, site, TW_RULE_ALLGATHER, request != NULL, comm);
    blocks.counts.ranks = call.comm != NULL ? call.comm->size : 0;
    if (call.comm == NULL || recvcount < 0) {
        tw_call_refuse(&call, TW_WHY_ARGUMENTS);
    } else {
        x = tw_allgather_make(&call, sendbuf, sendcount, sendtype, recvbuf, &blocks, recvtype);
    }
    if (x != NULL) {
        return tw_transfer_run(x, request);
    }
    if (tw_allgather_moves(&call, sendbuf, sendcount, sendtype, recvbuf, recvcount)) {
        tw_call_end(&call);
        return MPI_SUCCESS;
    }
    result =
        tw_mpi_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request);
    tw_call_end(&call);
    return result;
}

int tw_on_allgatherv(const void *site, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                     void *recvbuf, const int recvcounts[], const int displs[],
                     MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    tw_gather_blocks_t blocks = {.counts = {.each = recvcounts}, .displs = displs};
    tw_transfer_t     *x      = NULL;
    tw_call_t          call;
    int                result;

    tw_call_begin(&call, site, TW_RULE_ALLGATHERV, request != NULL, comm);
    blocks.counts.ranks = call.comm != NULL ? call.comm->size : 0;
    if (call.comm == NULL || !call.comm->usable || recvcounts == NULL || displs == NULL) {
        tw_call_refuse(&call, TW_WHY_ARGUMENTS);
    } else {
        x = tw_allgather_make(&call, sendbuf, sendcount, sendtype, recvbuf, &blocks, recvtype);
    }
    if (x != NULL) {
        return tw_transfer_run(x, request);
    }
    result = tw_mpi_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                               comm, request);
    tw_call_end(&call);
    return result;
}
