/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/alltoallv.c - MPI_Alltoallv, MPI_Ialltoallv: counts and types may differ from pair to
 * pair, so each pair is decided by what its two ends know, the signature of what goes between them.
 * Codes and plain data travel together in one Alltoallv; where no pair of this rank is encoded the
 * program's call is made as it is, which moves the same bytes.
 */
#include "config.h"

#include <limits.h>

#include "interpose/transfer.h"
#include "interpose/handlers.h"
#include "interpose/next.h"
#include "interpose/verify.h"

static const tw_manner_t tw_alltoallv_manner = {.move = tw_transfer_pairs};

/* The arguments of the program's call. */
typedef struct tw_args_v {
    const void  *sendbuf;
    const int   *sendcounts, *sdispls;
    MPI_Datatype sendtype;
    void        *recvbuf;
    const int   *recvcounts, *rdispls;
    MPI_Datatype recvtype;
} tw_args_v_t;

static bool tw_counts_fine(const int counts[], int ranks)
{
    for (int r = 0; r < ranks; r++) {
        if (counts[r] < 0) {
            return false;
        }
    }
    return true;
}

static bool tw_counts_any(const int counts[], int ranks)
{
    for (int r = 0; r < ranks; r++) {
        if (counts[r] > 0) {
            return true;
        }
    }
    return false;
}

/* What MPI refuses; the types are looked at. */
static bool tw_args_v_fine(const tw_args_v_t *a, int ranks, tw_type_t *send, tw_type_t *recv)
{
    if (a->recvcounts == NULL || a->rdispls == NULL || a->recvbuf == MPI_IN_PLACE ||
        !tw_counts_fine(a->recvcounts, ranks) || !tw_type_look(a->recvtype, recv)) {
        return false;
    }
    if (a->sendbuf == MPI_IN_PLACE) {
        *send = *recv;
        return true;
    }
    return a->sendcounts != NULL && a->sdispls != NULL &&
           !(tw_same_refused(a->sendbuf, a->recvbuf) && a->sendtype == a->recvtype &&
             a->sendcounts == a->recvcounts) &&
           tw_counts_fine(a->sendcounts, ranks) && tw_type_look(a->sendtype, send);
}

/* What goes to or comes from each peer; returns how many pairs are encoded. */
static int tw_side_decide(tw_call_t *call, tw_side_t *side, const int counts[], const int displs[])
{
    int encoded = 0;

    for (int r = 0; r < call->comm->size; r++) {
        const size_t       values = (size_t)counts[r] * side->type.values;
        const tw_choice_t *choice =
            call->why == TW_WHY_NOT ? tw_call_decide_pair(call, side->type.kind, values) : NULL;

        tw_side_add(side, choice, (size_t)counts[r], displs[r]);
        if (choice != NULL) {
            const int rung = tw_verify_rung(choice);

            call->rung = rung > call->rung ? rung : call->rung;
            encoded++;
        }
    }
    return encoded;
}

/* For the report: all that goes to others, and the largest piece as the size of the messages. */
static void tw_alltoallv_sizes(tw_call_t *call, const tw_side_t *side)
{
    size_t items = 0, largest = 0;

    for (int r = 0; r < side->count; r++) {
        const size_t n = side->block[r].items;

        items += r != call->comm->rank ? n : 0;
        largest = n > largest ? n : largest;
    }
    call->asked  = (uint64_t)items * side->type.size;
    call->values = largest * side->type.values;
    call->bytes  = (uint64_t)largest * side->type.size;
}

/* The transfer, and how many of its pairs are encoded; NULL if the plain call is to be made. */
static tw_transfer_t *tw_alltoallv_make(tw_call_t *call, const tw_args_v_t *a, int *encoded_p)
{
    const bool     in_place = a->sendbuf == MPI_IN_PLACE;
    const int      ranks    = call->comm->size;
    tw_transfer_t *x;
    tw_type_t      send, recv;
    tw_why_t       why;

    if (!tw_args_v_fine(a, ranks, &send, &recv)) {
        tw_call_refuse(call, TW_WHY_ARGUMENTS);
        return NULL;
    }
    call->type = send;
    tw_call_buffers(call, !in_place && tw_counts_any(a->sendcounts, ranks) ? a->sendbuf : NULL,
                    tw_counts_any(a->recvcounts, ranks) ? a->recvbuf : NULL);
    if (call->why != TW_WHY_NOT) {
        return NULL;
    }
    tw_verify_pairs(call);
    x              = tw_transfer_make(call, &tw_alltoallv_manner, ranks, ranks);
    x->send.type   = send;
    x->send.buffer = in_place ? a->recvbuf : (void *)(uintptr_t)a->sendbuf;
    x->recv.type   = recv;
    x->recv.buffer = a->recvbuf;
    *encoded_p     = tw_side_decide(call, &x->send, in_place ? a->recvcounts : a->sendcounts,
                                in_place ? a->rdispls : a->sdispls);
    why            = call->why; /* of what is sent; the other side is counted by its senders */
    call->why      = TW_WHY_NOT;
    *encoded_p += tw_side_decide(call, &x->recv, a->recvcounts, a->rdispls);
    call->why = why;
    tw_alltoallv_sizes(call, &x->send);
    for (int r = 0; r < ranks && call->choice == NULL; r++) {
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
            const size_t values = side->block[r].items * side->type.values;
            const size_t plain  = side->block[r].items * side->type.size;
            const size_t codes  = tw_choice_bytes(choice, values);

            if (r != call->comm->rank) {
                call->could[c] +=
                    plain >= tw_state.config.threshold && codes < plain ? codes : plain;
            }
        }
    }
}

static size_t tw_side_plain_bytes(const tw_side_t *side)
{
    size_t bytes = 0;

    for (int r = 0; r < side->count; r++) {
        bytes += side->block[r].items * side->type.size;
    }
    return bytes;
}

int tw_on_alltoallv(const void *site, const void *sendbuf, const int sendcounts[],
                    const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                    const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request *request)
{
    const tw_args_v_t a       = {sendbuf, sendcounts, sdispls, sendtype,
                                 recvbuf, recvcounts, rdispls, recvtype};
    tw_transfer_t    *x       = NULL;
    int               encoded = 0, result;
    tw_call_t         call;

    tw_call_begin(&call, site, TW_RULE_ALLTOALLV, request != NULL, comm);
    if (call.why == TW_WHY_NOT) {
        x = tw_alltoallv_make(&call, &a, &encoded);
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
            (tw_side_plain_bytes(&x->send) > INT_MAX || tw_side_plain_bytes(&x->recv) > INT_MAX)) {
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
