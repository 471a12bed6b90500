/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/allgather.c - MPI_Allgather(v) and their nonblocking forms: every rank encodes its
 * block, an Allgatherv of codes, every rank decodes all blocks, its own too, so that all hold the
 * same.
 *
 * All ranks know all counts, so all know which blocks are encoded; with unequal counts the codec is
 * chosen by the largest block, and a block of any size is encoded.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/form.h"
#include "interpose/handlers.h"
#include "interpose/next.h"
#include "interpose/verify.h"
#include "runtime/base/clock.h"

/* The blocks of the receive side, in items of its type. */
typedef struct tw_gather_blocks {
    int        ranks;
    const int *counts; /* NULL: all `count` */
    int        count;
    const int *displs; /* NULL: one after another */
} tw_gather_blocks_t;

static size_t tw_block_items(const tw_gather_blocks_t *blocks, int r)
{
    return (size_t)(blocks->counts != NULL ? blocks->counts[r] : blocks->count);
}

static MPI_Aint tw_block_first(const tw_gather_blocks_t *blocks, int r)
{
    return blocks->displs != NULL ? blocks->displs[r] : (MPI_Aint)r * blocks->count;
}

/* A running collective: units and their displacements per rank, as MPI wants them. */
typedef struct tw_gathering {
    MPI_Aint *displs;          /* a copy of the program's, which it may change, in items      */
    int      *counts;          /* the same                                                    */
    int      *units, *offsets; /* of the codes                                                */
    size_t    total;           /* units                                                       */
} tw_gathering_t;

/* The arrays in one allocation of TW_GATHERING_ROOM bytes per rank. */
#define TW_GATHERING_ROOM (sizeof(MPI_Aint) + 3 * sizeof(int))

static void tw_gathering_arrays(tw_gathering_t *g, void *room, int ranks)
{
    g->displs  = room;
    g->units   = (int *)(void *)(g->displs + ranks);
    g->offsets = g->units + ranks;
    g->counts  = g->offsets + ranks;
}

static void tw_gathering_make(tw_gathering_t *g, const tw_call_t *call, const tw_choice_t *choice,
                              const tw_gather_blocks_t *blocks, void *room)
{
    tw_gathering_arrays(g, room, blocks->ranks);
    g->total = 0;
    for (int r = 0; r < blocks->ranks; r++) {
        const size_t items = tw_block_items(blocks, r);

        g->units[r]   = tw_choice_units(choice, items * call->type.values);
        g->offsets[r] = (int)g->total;
        g->counts[r]  = (int)items;
        g->displs[r]  = tw_block_first(blocks, r);
        g->total += (size_t)g->units[r];
    }
}

static void tw_allgather_decode(tw_call_t *call, const tw_choice_t *choice, const tw_type_t *type,
                                const tw_gathering_t *g, int ranks, const void *codes, void *recv)
{
    for (int r = 0; r < ranks; r++) {
        tw_form_decode(call, choice, type, (const char *)codes + (size_t)g->offsets[r] * TW_UNIT,
                       tw_type_at(type, recv, g->displs[r]), (size_t)g->counts[r]);
    }
}

/* The exact blocks, one after another, for a verified call; NULL if counts are beyond ints. */
static void *tw_allgather_exact(tw_call_t *call, const tw_type_t *type, const void *mine,
                                size_t items, const tw_gathering_t *g, MPI_Comm comm, int *result)
{
    const int          ranks = call->comm->size;
    const size_t       width = tw_kind_size(call->type.kind);
    int               *counts, *displs;
    size_t             total = 0;
    void              *packed, *exact;
    const MPI_Datatype basic = tw_form_basic(call->type.kind);

    for (int r = 0; r < ranks; r++) {
        total += (size_t)g->counts[r] * call->type.values;
    }
    counts = malloc(2 * (size_t)ranks * sizeof(*counts));
    if (counts == NULL) {
        tw_give_up(comm, "no memory for counts");
    }
    if (total > INT_MAX) { /* on all ranks alike */
        free(counts);
        return NULL;
    }
    displs = counts + ranks;
    total  = 0;
    for (int r = 0; r < ranks; r++) {
        counts[r] = (int)((size_t)g->counts[r] * call->type.values);
        displs[r] = (int)total;
        total += (size_t)counts[r];
    }
    packed = tw_buffer_get(call->comm->handle, items * type->size);
    exact  = tw_buffer_get(call->comm->handle, total * width);
    tw_type_pack(type, mine, items, packed);
    *result = tw_next.Allgatherv(packed, counts[call->comm->rank], basic, exact, counts, displs,
                                 basic, comm);
    tw_buffer_put(packed);
    free(counts);
    return exact;
}

static void tw_allgather_verify(tw_call_t *call, const tw_gathering_t *g, const void *recv,
                                const void *exact)
{
    const uint64_t start  = tw_clock_ns();
    tw_errors_t    errors = {0};
    const char    *at     = exact;

    for (int r = 0; r < call->comm->size; r++) {
        tw_verify_compare(call, &errors, &call->type, tw_type_at(&call->type, recv, g->displs[r]),
                          (size_t)g->counts[r], at);
        at += (size_t)g->counts[r] * call->type.size;
    }
    tw_verify_conclude(call, &errors);
    tw_verify_spent(call, start, false);
}

/* `mine`: this rank's block, `items` items of `type` (the send type, or in place the receive type).
 */
static int tw_allgather_codes(tw_call_t *call, const tw_type_t *type, const void *mine,
                              size_t items, void *recv, const tw_gather_blocks_t *blocks,
                              MPI_Comm comm)
{
    void          *room = malloc((size_t)blocks->ranks * TW_GATHERING_ROOM);
    tw_gathering_t g;
    void          *out, *in, *exact = NULL;
    int            result = MPI_SUCCESS;

    if (room == NULL) {
        tw_give_up(comm, "no memory for counts");
    }
    tw_gathering_make(&g, call, call->choice, blocks, room);
    out = tw_buffer_get(call->comm->handle, (size_t)g.units[call->comm->rank] * TW_UNIT);
    in  = tw_buffer_get(call->comm->handle, g.total * TW_UNIT);
    if (call->verify) {
        const uint64_t start = tw_clock_ns();

        exact = tw_allgather_exact(call, type, mine, items, &g, comm, &result);
        tw_verify_spent(call, start, true);
    }
    tw_form_encode(call, call->choice, type, mine, items, out);
    if (result == MPI_SUCCESS) {
        result = tw_next.Allgatherv(out, g.units[call->comm->rank], tw_state.unit, in, g.units,
                                    g.offsets, tw_state.unit, comm);
    }
    if (result == MPI_SUCCESS) {
        tw_allgather_decode(call, call->choice, &call->type, &g, blocks->ranks, in, recv);
        if (exact != NULL) {
            tw_allgather_verify(call, &g, recv, exact);
        }
    }
    call->sent = (uint64_t)(blocks->ranks - 1) * (uint64_t)g.units[call->comm->rank] * TW_UNIT;
    tw_buffer_put(exact);
    tw_buffer_put(out);
    tw_buffer_put(in);
    free(room);
    return result;
}

static void tw_iallgather_finish(tw_pending_t *pending)
{
    tw_form_op_t  *op    = (tw_form_op_t *)pending;
    const uint64_t start = tw_clock_ns();
    tw_gathering_t g;

    tw_gathering_arrays(&g, op->extra, op->ranks);
    tw_allgather_decode(&op->call, op->choice, &op->type, &g, op->ranks, op->codes_in, op->recv);
    tw_form_op_done(op, start);
}

static int tw_iallgather_codes(tw_call_t *call, const tw_type_t *type, const void *mine,
                               size_t items, void *recv, const tw_gather_blocks_t *blocks,
                               MPI_Comm comm, MPI_Request *request)
{
    void          *room = malloc((size_t)blocks->ranks * TW_GATHERING_ROOM);
    tw_form_op_t  *op   = tw_form_op_make(call, call->choice, &call->type, recv, 0);
    const int      me   = call->comm->rank;
    tw_gathering_t g;

    if (room == NULL) {
        tw_give_up(comm, "no memory for counts");
    }
    op->extra = room;
    tw_gathering_make(&g, call, call->choice, blocks, room);
    op->codes_out = tw_buffer_get(call->comm->handle, (size_t)g.units[me] * TW_UNIT);
    op->codes_in  = tw_buffer_get(call->comm->handle, g.total * TW_UNIT);
    op->call.sent = (uint64_t)(blocks->ranks - 1) * (uint64_t)g.units[me] * TW_UNIT;
    tw_form_encode(&op->call, op->choice, type, mine, items, op->codes_out);
    return tw_form_op_started(op,
                              tw_next.Iallgatherv(op->codes_out, g.units[me], tw_state.unit,
                                                  op->codes_in, g.units, g.offsets, tw_state.unit,
                                                  comm, request),
                              request, tw_iallgather_finish);
}

/* Both calls: decide, and carry it out compressed. Returns 0 if the plain call is to be made. */
static int tw_allgather_try(tw_call_t *call, const void *sendbuf, int sendcount,
                            MPI_Datatype sendtype, void *recvbuf, const tw_gather_blocks_t *blocks,
                            MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request, int *result)
{
    const bool  in_place = sendbuf == MPI_IN_PLACE;
    size_t      largest  = 0;
    tw_type_t   send;
    const void *mine;
    size_t      items;

    for (int r = 0; r < blocks->ranks; r++) {
        if (blocks->counts != NULL && blocks->counts[r] < 0) {
            tw_call_refuse(call, TW_WHY_ARGUMENTS);
            return 0;
        }
        largest = tw_block_items(blocks, r) > largest ? tw_block_items(blocks, r) : largest;
    }
    if (!tw_call_vector(call, (MPI_Aint)largest, recvtype)) {
        return 0;
    }
    send  = call->type;
    items = tw_block_items(blocks, call->comm->rank);
    mine  = tw_type_at(&call->type, recvbuf, tw_block_first(blocks, call->comm->rank));
    if (!in_place) {
        if (sendcount < 0 || (sendcount > 0 && !tw_type_look(sendtype, &send)) ||
            ((size_t)sendcount * send.size > 0 && send.kind != call->type.kind) ||
            (size_t)sendcount * send.values != items * call->type.values) {
            tw_call_refuse(call, TW_WHY_ARGUMENTS);
            return 0;
        }
        mine  = sendbuf;
        items = (size_t)sendcount;
    }
    call->asked = (uint64_t)(call->comm->size - 1) * items * send.size;
    call->own   = items * send.values;
    tw_call_buffers(call, items > 0 ? sendbuf : NULL, recvbuf);
    if ((recvbuf == NULL && call->type.dense) || recvbuf == MPI_IN_PLACE ||
        (mine == NULL && send.dense && items > 0) || !tw_call_decide(call)) {
        tw_call_refuse(call, TW_WHY_ARGUMENTS);
        return 0;
    }
    *result = request != NULL
                  ? tw_iallgather_codes(call, &send, mine, items, recvbuf, blocks, comm, request)
                  : tw_allgather_codes(call, &send, mine, items, recvbuf, blocks, comm);
    if (request == NULL) {
        tw_call_end(call);
    }
    return 1;
}

int tw_on_allgather(const void *site, const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                    void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                    MPI_Request *request)
{
    tw_gather_blocks_t blocks = {.count = recvcount};
    tw_call_t          call;
    int                result = MPI_SUCCESS;

    tw_call_begin(&call, site, TW_RULE_ALLGATHER, request != NULL, comm);
    blocks.ranks = call.comm != NULL ? call.comm->size : 0;
    if (call.comm == NULL || recvcount < 0) {
        tw_call_refuse(&call, TW_WHY_ARGUMENTS);
    } else if (tw_allgather_try(&call, sendbuf, sendcount, sendtype, recvbuf, &blocks, recvtype,
                                comm, request, &result)) {
        return result;
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
    tw_gather_blocks_t blocks = {.counts = recvcounts, .displs = displs};
    tw_call_t          call;
    int                result = MPI_SUCCESS;

    tw_call_begin(&call, site, TW_RULE_ALLGATHERV, request != NULL, comm);
    blocks.ranks = call.comm != NULL ? call.comm->size : 0;
    if (call.comm == NULL || !call.comm->usable || recvcounts == NULL || displs == NULL) {
        tw_call_refuse(&call, TW_WHY_ARGUMENTS);
    } else if (tw_allgather_try(&call, sendbuf, sendcount, sendtype, recvbuf, &blocks, recvtype,
                                comm, request, &result)) {
        return result;
    }
    result = tw_mpi_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                               comm, request);
    tw_call_end(&call);
    return result;
}
