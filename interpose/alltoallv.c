/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/alltoallv.c - MPI_Alltoallv, MPI_Ialltoallv: counts and types may differ from pair to
 * pair, so each pair is decided by what its two ends know, the signature of what goes between them.
 * Codes and plain data travel as bytes of one Alltoallv; where no pair of this rank is encoded the
 * program's call is made as it is, which moves the same bytes.
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

/* One direction of the exchange. */
typedef struct tw_side {
    tw_type_t           type;
    void               *buffer;
    int                *counts, *displs; /* of the program, copied: items                    */
    int                *lengths, *at;    /* in units of `unit` bytes, as MPI wants them       */
    size_t             *bytes, *first;   /* of each piece                                     */
    const tw_choice_t **choice;          /* NULL: this piece travels as it is                 */
    size_t              total;
    int                 encoded; /* pieces that are                                   */
} tw_side_t;

typedef struct tw_transfer_v {
    int          ranks, me;
    tw_side_t    send, recv;
    size_t       unit;      /* bytes */
    MPI_Datatype unit_type; /* owned unless unit is 1 */
} tw_exchange_v_t;

static bool tw_side_room(tw_side_t *side, int ranks)
{
    const size_t n    = (size_t)ranks;
    char        *room = calloc(n, 4 * sizeof(int) + 2 * sizeof(size_t) + sizeof(void *));

    if (room == NULL) {
        return false;
    }
    side->choice  = (const tw_choice_t **)(void *)room;
    side->bytes   = (size_t *)(void *)(room + n * sizeof(void *));
    side->first   = side->bytes + n;
    side->counts  = (int *)(void *)(side->first + n);
    side->displs  = side->counts + n;
    side->lengths = side->displs + n;
    side->at      = side->lengths + n;
    return true;
}

static void tw_exchange_v_free(tw_exchange_v_t *x)
{
    if (x == NULL) {
        return;
    }
    if (x->unit > 1) {
        tw_next.Type_free(&x->unit_type);
    }
    free(x->send.choice);
    free(x->recv.choice);
    free(x);
}

/* What goes to or comes from each peer. */
static void tw_side_decide(tw_call_t *call, tw_side_t *side, int ranks, const int counts[],
                           const int displs[])
{
    for (int r = 0; r < ranks; r++) {
        const size_t values = (size_t)counts[r] * side->type.values;

        side->counts[r] = counts[r];
        side->displs[r] = displs[r];
        side->choice[r] =
            call->why == TW_WHY_NOT ? tw_call_decide_pair(call, side->type.kind, values) : NULL;
        side->bytes[r] = side->choice[r] != NULL ? tw_choice_bytes(side->choice[r], values)
                                                 : (size_t)counts[r] * side->type.size;
        side->first[r] = side->total;
        side->total += side->bytes[r];
        if (side->choice[r] != NULL) {
            const int rung = tw_verify_rung(side->choice[r]);

            call->rung = rung > call->rung ? rung : call->rung;
            side->encoded++;
        }
    }
}

/* The largest power of two, up to TW_UNIT, that divides every piece: beyond 2^31 bytes, lengths are
 * counted in it. Pieces are whole elements, so 4 or 8 at least where it matters. */
static bool tw_exchange_v_units(tw_exchange_v_t *x)
{
    x->unit      = 1;
    x->unit_type = MPI_BYTE;
    if (x->send.total > INT_MAX || x->recv.total > INT_MAX) {
        x->unit = TW_UNIT;
        for (int r = 0; r < x->ranks; r++) {
            while (x->send.bytes[r] % x->unit != 0 || x->recv.bytes[r] % x->unit != 0) {
                x->unit /= 2;
            }
        }
        if (x->unit == 1 || x->send.total / x->unit > INT_MAX ||
            x->recv.total / x->unit > INT_MAX) {
            x->unit = 1;
            return false;
        }
        tw_next.Type_contiguous((int)x->unit, MPI_BYTE, &x->unit_type);
        tw_next.Type_commit(&x->unit_type);
    }
    for (int r = 0; r < x->ranks; r++) {
        x->send.lengths[r] = (int)(x->send.bytes[r] / x->unit);
        x->send.at[r]      = (int)(x->send.first[r] / x->unit);
        x->recv.lengths[r] = (int)(x->recv.bytes[r] / x->unit);
        x->recv.at[r]      = (int)(x->recv.first[r] / x->unit);
    }
    return true;
}

static void tw_side_pack(tw_call_t *call, const tw_side_t *side, int ranks, char *codes)
{
    for (int r = 0; r < ranks; r++) {
        const void *piece = tw_type_at(&side->type, side->buffer, side->displs[r]);

        if (side->choice[r] != NULL) {
            tw_form_encode(call, side->choice[r], &side->type, piece, (size_t)side->counts[r],
                           codes + side->first[r]);
        } else if (side->bytes[r] > 0 && !tw_type_pack(&side->type, piece, (size_t)side->counts[r],
                                                       codes + side->first[r])) {
            tw_give_up(call->comm->handle, "MPI_Pack failed on a type that it took before");
        }
    }
}

static void tw_side_unpack(tw_call_t *call, const tw_side_t *side, int ranks, const char *codes)
{
    for (int r = 0; r < ranks; r++) {
        void *piece = tw_type_at(&side->type, side->buffer, side->displs[r]);

        if (side->choice[r] != NULL) {
            tw_form_decode(call, side->choice[r], &side->type, codes + side->first[r], piece,
                           (size_t)side->counts[r]);
        } else if (side->bytes[r] > 0 && !tw_type_unpack(&side->type, codes + side->first[r],
                                                         (size_t)side->counts[r], piece)) {
            tw_give_up(call->comm->handle, "MPI_Unpack failed on a type that it took before");
        }
    }
}

/* The arguments of the program's call. */
typedef struct tw_args_v {
    const void  *sendbuf;
    const int   *sendcounts, *sdispls;
    MPI_Datatype sendtype;
    void        *recvbuf;
    const int   *recvcounts, *rdispls;
    MPI_Datatype recvtype;
    MPI_Comm     comm;
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

static uint64_t tw_side_plain_bytes(const tw_side_t *side, int ranks, int me)
{
    uint64_t bytes = 0;

    for (int r = 0; r < ranks; r++) {
        bytes += r != me ? (uint64_t)side->counts[r] * side->type.size : 0;
    }
    return bytes;
}

/* Items of the largest piece: what the report takes for the size of the messages. */
static size_t tw_side_largest(const tw_side_t *side, int ranks)
{
    size_t largest = 0;

    for (int r = 0; r < ranks; r++) {
        largest = (size_t)side->counts[r] > largest ? (size_t)side->counts[r] : largest;
    }
    return largest;
}

/* The exchange, or NULL if the plain call is to be made. */
static tw_exchange_v_t *tw_exchange_v_make(tw_call_t *call, const tw_args_v_t *a)
{
    const bool       in_place = a->sendbuf == MPI_IN_PLACE;
    const int        ranks    = call->comm->size;
    tw_exchange_v_t *x        = calloc(1, sizeof(*x));

    if (x == NULL || !tw_side_room(&x->send, ranks) || !tw_side_room(&x->recv, ranks)) {
        tw_give_up(a->comm, "no memory for counts");
    }
    x->ranks       = ranks;
    x->me          = call->comm->rank;
    x->unit        = 1;
    x->recv.buffer = a->recvbuf;
    x->send.buffer = in_place ? a->recvbuf : (void *)(uintptr_t)a->sendbuf;
    if (a->recvcounts == NULL || a->rdispls == NULL || a->recvbuf == MPI_IN_PLACE ||
        !tw_counts_fine(a->recvcounts, ranks) || !tw_type_look(a->recvtype, &x->recv.type) ||
        (!in_place &&
         (a->sendcounts == NULL || a->sdispls == NULL ||
          (tw_same_refused(a->sendbuf, a->recvbuf) && a->sendtype == a->recvtype &&
           a->sendcounts == a->recvcounts) ||
          !tw_counts_fine(a->sendcounts, ranks) || !tw_type_look(a->sendtype, &x->send.type)))) {
        tw_call_refuse(call, TW_WHY_ARGUMENTS);
        tw_exchange_v_free(x);
        return NULL;
    }
    if (in_place) {
        x->send.type = x->recv.type;
    }
    call->type = x->send.type;
    tw_call_buffers(call, !in_place && tw_counts_any(a->sendcounts, ranks) ? a->sendbuf : NULL,
                    tw_counts_any(a->recvcounts, ranks) ? a->recvbuf : NULL);
    if (call->why != TW_WHY_NOT) {
        tw_exchange_v_free(x);
        return NULL;
    }
    tw_verify_pairs(call);
    tw_side_decide(call, &x->send, ranks, in_place ? a->recvcounts : a->sendcounts,
                   in_place ? a->rdispls : a->sdispls);
    {
        const tw_why_t why =
            call->why; /* of what is sent; the other side is counted by its senders */

        call->why = TW_WHY_NOT;
        tw_side_decide(call, &x->recv, ranks, a->recvcounts, a->rdispls);
        call->why = why;
    }
    call->asked  = tw_side_plain_bytes(&x->send, ranks, x->me);
    call->values = tw_side_largest(&x->send, ranks) * x->send.type.values;
    call->bytes  = (uint64_t)tw_side_largest(&x->send, ranks) * x->send.type.size;
    return x;
}

/* The reason that the report gives for a rank of whose pairs none is encoded. */
static void tw_exchange_v_reason(tw_call_t *call, const tw_exchange_v_t *x)
{
    tw_why_t why = TW_WHY_TYPE;

    if (call->why == TW_WHY_NOT && x->send.type.kind != TW_KIND_OTHER) {
        tw_call_choice_reason(call, x->send.type.kind, call->values, &why);
    }
    tw_call_refuse(call, why == TW_WHY_NOT ? TW_WHY_SMALL : why);
}

/* While watching: what each candidate would have sent, pair by pair. */
static void tw_exchange_v_could(tw_call_t *call, const tw_exchange_v_t *x)
{
    call->could_known = true;
    for (int c = 0, count = tw_candidates()->count; c < count; c++) {
        const tw_choice_t *choice = tw_choice_candidate(c, x->send.type.kind);

        for (int r = 0; r < x->ranks; r++) {
            const size_t values = (size_t)x->send.counts[r] * x->send.type.values;
            const size_t plain  = (size_t)x->send.counts[r] * x->send.type.size;
            const size_t codes  = tw_choice_bytes(choice, values);

            if (r != x->me) {
                call->could[c] +=
                    plain >= tw_state.config.threshold && codes < plain ? codes : plain;
            }
        }
    }
}

static uint64_t tw_exchange_v_sent(const tw_exchange_v_t *x)
{
    return x->send.total - x->send.bytes[x->me];
}

/* The exact data, packed as the receive side's pieces; NULL if counts are beyond ints. The plain
 * pieces are in it too, which are exact anyway. */
static char *tw_exchange_v_exact(tw_call_t *call, const tw_exchange_v_t *x, MPI_Comm comm,
                                 int *result)
{
    const size_t n    = (size_t)x->ranks;
    int         *room = malloc(4 * n * sizeof(*room));
    size_t       out = 0, in = 0;
    char        *packed, *exact;

    if (room == NULL) {
        tw_give_up(comm, "no memory for counts");
    }
    for (size_t r = 0; r < n; r++) {
        room[r]         = (int)((size_t)x->send.counts[r] * x->send.type.size);
        room[n + r]     = (int)out;
        room[2 * n + r] = (int)((size_t)x->recv.counts[r] * x->recv.type.size);
        room[3 * n + r] = (int)in;
        out += (size_t)x->send.counts[r] * x->send.type.size;
        in += (size_t)x->recv.counts[r] * x->recv.type.size;
    }
    if (out > INT_MAX || in > INT_MAX) {
        tw_give_up(comm, "an MPI_Alltoallv of more than 2 GiB on one rank cannot be verified");
    }
    packed = tw_buffer_get(call->comm->handle, out);
    exact  = tw_buffer_get(call->comm->handle, in);
    for (size_t r = 0; r < n; r++) {
        tw_type_pack(&x->send.type, tw_type_at(&x->send.type, x->send.buffer, x->send.displs[r]),
                     (size_t)x->send.counts[r], packed + room[n + r]);
    }
    *result = tw_next.Alltoallv(packed, room, room + n, MPI_BYTE, exact, room + 2 * n, room + 3 * n,
                                MPI_BYTE, comm);
    tw_buffer_put(packed);
    free(room);
    return exact;
}

static void tw_exchange_v_verify(tw_call_t *call, const tw_exchange_v_t *x, const char *exact)
{
    const uint64_t start  = tw_clock_ns();
    tw_errors_t    errors = {0};
    size_t         at     = 0;

    for (int r = 0; r < x->ranks; r++) {
        if (x->recv.choice[r] != NULL && !x->recv.choice[r]->exact) {
            tw_verify_compare(call, &errors, &x->recv.type,
                              tw_type_at(&x->recv.type, x->recv.buffer, x->recv.displs[r]),
                              (size_t)x->recv.counts[r], exact + at);
        }
        at += (size_t)x->recv.counts[r] * x->recv.type.size;
    }
    tw_verify_conclude(call, &errors);
    tw_verify_spent(call, start, false);
}

static int tw_exchange_v_codes(tw_call_t *call, const tw_exchange_v_t *x, MPI_Comm comm)
{
    char *out    = tw_buffer_get(call->comm->handle, x->send.total);
    char *in     = tw_buffer_get(call->comm->handle, x->recv.total);
    char *exact  = NULL;
    int   result = MPI_SUCCESS;

    if (call->verify) {
        const uint64_t start = tw_clock_ns();

        exact = tw_exchange_v_exact(call, x, comm, &result);
        tw_verify_spent(call, start, true);
    }
    tw_side_pack(call, &x->send, x->ranks, out);
    if (result == MPI_SUCCESS) {
        result = tw_next.Alltoallv(out, x->send.lengths, x->send.at, x->unit_type, in,
                                   x->recv.lengths, x->recv.at, x->unit_type, comm);
    }
    if (result == MPI_SUCCESS) {
        tw_side_unpack(call, &x->recv, x->ranks, in);
        if (exact != NULL) {
            tw_exchange_v_verify(call, x, exact);
        }
    }
    call->sent = tw_exchange_v_sent(x);
    tw_buffer_put(exact);
    tw_buffer_put(out);
    tw_buffer_put(in);
    return result;
}

static void tw_ialltoallv_finish(tw_pending_t *pending)
{
    tw_form_op_t    *op    = (tw_form_op_t *)pending;
    tw_exchange_v_t *x     = op->extra;
    const uint64_t   start = tw_clock_ns();

    op->extra = NULL;
    if (op->held != MPI_DATATYPE_NULL) {
        x->recv.type.handle = op->held;
    }
    tw_side_unpack(&op->call, &x->recv, x->ranks, op->codes_in);
    tw_exchange_v_free(x);
    tw_form_op_done(op, start);
}

static int tw_ialltoallv_codes(tw_call_t *call, tw_exchange_v_t *x, MPI_Comm comm,
                               MPI_Request *request)
{
    tw_form_op_t *op = tw_form_op_make(call, call->choice, &x->recv.type, NULL, 0);
    int           result;

    op->codes_out = tw_buffer_get(call->comm->handle, x->send.total);
    op->codes_in  = tw_buffer_get(call->comm->handle, x->recv.total);
    op->call.sent = tw_exchange_v_sent(x);
    tw_side_pack(&op->call, &x->send, x->ranks, op->codes_out);
    result =
        tw_next.Ialltoallv(op->codes_out, x->send.lengths, x->send.at, x->unit_type, op->codes_in,
                           x->recv.lengths, x->recv.at, x->unit_type, comm, request);
    if (result == MPI_SUCCESS) {
        op->extra = x;
    } else {
        tw_exchange_v_free(x);
    }
    return tw_form_op_started(op, result, request, tw_ialltoallv_finish);
}

static int tw_alltoallv_plain(const tw_args_v_t *a, MPI_Request *request)
{
    return tw_mpi_alltoallv(a->sendbuf, a->sendcounts, a->sdispls, a->sendtype, a->recvbuf,
                            a->recvcounts, a->rdispls, a->recvtype, a->comm, request);
}

int tw_on_alltoallv(const void *site, const void *sendbuf, const int sendcounts[],
                    const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                    const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request *request)
{
    const tw_args_v_t a = {sendbuf,    sendcounts, sdispls,  sendtype, recvbuf,
                           recvcounts, rdispls,    recvtype, comm};
    tw_exchange_v_t  *x = NULL;
    tw_call_t         call;
    int               result, encoded;

    tw_call_begin(&call, site, TW_RULE_ALLTOALLV, request != NULL, comm);
    if (call.why == TW_WHY_NOT) {
        x = tw_exchange_v_make(&call, &a);
    }
    if (x == NULL) {
        result = tw_alltoallv_plain(&a, request);
        tw_call_end(&call);
        return result;
    }
    encoded = x->send.encoded + x->recv.encoded;
    for (int r = 0; r < x->ranks && call.choice == NULL; r++) {
        call.choice = x->send.choice[r];
    }
    if (call.choice == NULL) {
        tw_exchange_v_reason(&call, x);
        if (tw_call_could_send(&call)) {
            tw_exchange_v_could(&call, x);
        }
    } else {
        call.why =
            TW_WHY_NOT; /* pairs that stay as they are do not count against those that do not */
    }
    /* In place MPI uses another algorithm: then all ranks must take the same way, which is known by
     * the settings alone. A verified call is exchanged twice by all. */
    if (encoded == 0 && !(sendbuf == MPI_IN_PLACE && tw_call_may_encode(&call)) && !call.verify) {
        tw_exchange_v_free(x);
        result = tw_alltoallv_plain(&a, request);
        tw_call_end(&call);
        return result;
    }
    if (!tw_exchange_v_units(x)) {
        tw_give_up(comm, "an MPI_Alltoallv of %zu bytes on one rank cannot be compressed",
                   x->send.total);
    }
    if (request != NULL) {
        return tw_ialltoallv_codes(&call, x, comm, request);
    }
    result = tw_exchange_v_codes(&call, x, comm);
    tw_exchange_v_free(x);
    tw_call_end(&call);
    return result;
}
