/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/alltoallv.c - MPI_Alltoallv, MPI_Ialltoallv: counts and types may differ from pair
 * to pair, so each pair is decided by what its two ends know, the signature of what goes between
 * them. Codes and uncompressed data travel together in one Alltoallv; where no pair of this rank is
 * encoded the program's call is made as it is, which moves the same bytes.
 */
#include "config.h"

#include <limits.h>

#include "interpose/mpi/counts.h"
#include "interpose/mpi/transfer.h"
#include "interpose/handlers.h"
#include "interpose/next.h"
#include "interpose/mpi/rungs.h"
#include "interpose/mpi/verify.h"

static const tw_manner_t tw_alltoallv_manner = {.move = tw_transfer_pairs, .mixed = true};

/* What the program says of one direction, and what that means. */
typedef struct tw_leg {
    const void  *buffer;
    tw_counts_t  counts;
    MPI_Datatype datatype;
    tw_type_t    type;
    size_t       items, most; /* in all, of one peer */
} tw_leg_t;

/* Would MPI take it? */
static bool tw_leg_look(tw_leg_t *leg)
{
    return leg->counts.each != NULL && leg->counts.displs != NULL &&
           tw_counts_look(&leg->counts, &leg->items, &leg->most) &&
           tw_type_look(leg->datatype, &leg->type);
}

/* What goes to or comes from each peer; returns how many pairs are encoded. */
static int tw_side_decide(tw_call_t *call, tw_side_t *side, const tw_leg_t *leg)
{
    int encoded = 0;

    tw_side_set(side, &leg->type, leg->buffer);
    for (int r = 0; r < leg->counts.ranks; r++) {
        const size_t       items = tw_counts_at(&leg->counts, r);
        const tw_choice_t *choice =
            call->why == TW_WHY_NOT
                ? tw_call_decide_pair(call, leg->type.kind, items * leg->type.values)
                : NULL;

        tw_side_add(side, choice, items, tw_counts_first(&leg->counts, r));
        encoded += choice != NULL;
        if (choice != NULL && tw_state.config.max_error > 0.0) {
            const int rung = tw_rung_after(choice);

            call->rung = rung > call->rung ? rung : call->rung;
        }
    }
    return encoded;
}

/* The transfer, and how many of its pairs are encoded; NULL if the native call is to be made. */
static tw_transfer_t *tw_alltoallv_make(tw_call_t *call, tw_leg_t *send, tw_leg_t *recv,
                                        int *encoded_p)
{
    const bool     in_place = send->buffer == MPI_IN_PLACE;
    tw_transfer_t *x;
    tw_why_t       why;

    send->counts.ranks = recv->counts.ranks = call->comm->size;
    if (recv->buffer == MPI_IN_PLACE || !tw_leg_look(recv) ||
        (!in_place &&
         ((tw_same_refused(send->buffer, recv->buffer) && send->datatype == recv->datatype &&
           send->counts.each == recv->counts.each) ||
          !tw_leg_look(send)))) {
        tw_call_refuse(call, TW_WHY_ARGUMENTS);
        return NULL;
    }
    if (in_place) {
        *send = *recv;
    }
    call->type   = send->type;
    call->values = send->most * send->type.values;         /* of the largest piece, */
    call->bytes  = (uint64_t)send->most * send->type.size; /* the size of the message */
    call->uncompressed =
        (uint64_t)send->type.size * (send->items - tw_counts_at(&send->counts, call->comm->rank));
    tw_call_buffers(call,
                    in_place ? NULL : tw_counts_data(&send->counts, &send->type, send->buffer),
                    tw_counts_data(&recv->counts, &recv->type, recv->buffer));
    if (call->why != TW_WHY_NOT) {
        return NULL;
    }
    tw_verify_pairs(call);
    x          = tw_transfer_make(call, &tw_alltoallv_manner, call->comm->size, call->comm->size);
    *encoded_p = tw_side_decide(call, &x->send, send);
    why        = call->why; /* of what is sent; the other side is counted by its senders */
    call->why  = TW_WHY_NOT;
    *encoded_p += tw_side_decide(call, &x->recv, recv);
    call->why = why;
    for (int r = 0; r < call->comm->size && call->choice == NULL; r++) {
        call->choice = x->send.block[r].choice;
    }
    return x;
}

/* The reason that the report gives for a rank of whose pairs none is encoded. */
static void tw_alltoallv_reason(tw_call_t *call)
{
    tw_why_t why = TW_WHY_TYPE;

    if (call->why == TW_WHY_NOT && call->type.kind != TW_KIND_OTHER) {
        tw_call_choice_reason(call, call->type.kind, call->values, &why);
    }
    tw_call_refuse(call, why == TW_WHY_NOT ? TW_WHY_SMALL : why);
}

/* While watching: what each candidate would have sent, pair by pair. */
static void tw_alltoallv_could(tw_call_t *call, const tw_side_t *side)
{
    call->could_known = true;
    for (int c = 0, count = tw_candidates()->count; c < count; c++) {
        const tw_choice_t *choice = tw_choice_candidate(c, side->type.kind);

        for (int r = 0; r < side->count; r++) {
            const size_t values       = side->block[r].items * side->type.values;
            const size_t uncompressed = side->block[r].items * side->type.size;
            const size_t codes        = tw_choice_bytes(choice, values);

            if (r != call->comm->rank) {
                call->could[c] += uncompressed >= tw_state.config.threshold && codes < uncompressed
                                      ? codes
                                      : uncompressed;
            }
        }
    }
}

int tw_on_alltoallv(const void *site, const void *sendbuf, const int sendcounts[],
                    const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                    const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request *request)
{
    tw_leg_t send = {
        .buffer = sendbuf, .counts = {.each = sendcounts, .displs = sdispls}, .datatype = sendtype};
    tw_leg_t recv = {
        .buffer = recvbuf, .counts = {.each = recvcounts, .displs = rdispls}, .datatype = recvtype};
    tw_transfer_t *x       = NULL;
    int            encoded = 0, result;
    tw_call_t      call;

    tw_call_begin(&call, site, TW_RULE_ALLTOALLV, request != NULL, comm);
    if (call.why == TW_WHY_NOT) {
        x = tw_alltoallv_make(&call, &send, &recv, &encoded);
    }
    if (x != NULL && call.choice != NULL) {
        call.why =
            TW_WHY_NOT; /* pairs that stay as they are do not count against those that do not */
    } else if (x != NULL) {
        tw_alltoallv_reason(&call);
        if (tw_call_could_send(&call)) {
            tw_alltoallv_could(&call, &x->send);
        }
    }
    /* In place MPI uses another algorithm: then all ranks must take the same way, which is known by
     * the settings alone. A verified call is exchanged twice by all. */
    if (x != NULL &&
        (encoded > 0 || call.verify || (sendbuf == MPI_IN_PLACE && tw_call_may_encode(&call)))) {
        if (call.verify &&
            (send.items * send.type.size > INT_MAX || recv.items * recv.type.size > INT_MAX)) {
            tw_give_up(comm, "an MPI_Alltoallv of more than 2 GiB on one rank cannot be verified");
        }
        call.sent = x->send.total - x->send.block[call.comm->rank].bytes;
        return tw_transfer_run(x, request);
    }
    if (x != NULL) {
        tw_transfer_free(x);
    }
    result = tw_mpi_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                              recvtype, comm, request);
    tw_call_end(&call);
    return result;
}
