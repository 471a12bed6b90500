/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/reduce_scatter.c - MPI_Reduce_scatter, MPI_Reduce_scatter_block and their nonblocking
 * forms: every rank encodes the share of each other, an Alltoallv of codes, every rank adds its own
 * shares in rank order.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/form.h"
#include "interpose/handlers.h"
#include "interpose/next.h"
#include "interpose/verify.h"
#include "runtime/base/clock.h"

/* Counts and displacements in units, both ways; one array of 4 x ranks ints. */
typedef struct tw_shares {
    int   *out, *out_at, *in, *in_at;
    size_t total; /* units sent, this rank's own among them */
} tw_shares_t;

typedef struct tw_share_counts {
    const int *counts; /* NULL: all `count` */
    int        count;
} tw_share_counts_t;

static size_t tw_share_items(const tw_share_counts_t *shares, int r)
{
    return (size_t)(shares->counts != NULL ? shares->counts[r] : shares->count);
}

static void tw_shares_make(tw_shares_t *s, const tw_call_t *call, const tw_share_counts_t *shares,
                           int *room)
{
    const int ranks = call->comm->size;
    const int mine =
        tw_choice_units(call->choice, tw_share_items(shares, call->comm->rank) * call->type.values);

    *s = (tw_shares_t){
        .out = room, .out_at = room + ranks, .in = room + 2 * ranks, .in_at = room + 3 * ranks};
    for (int r = 0; r < ranks; r++) {
        s->out[r]    = tw_choice_units(call->choice, tw_share_items(shares, r) * call->type.values);
        s->out_at[r] = (int)s->total;
        s->in[r]     = mine;
        s->in_at[r]  = r * mine;
        s->total += (size_t)s->out[r];
    }
}

static void tw_shares_encode(tw_call_t *call, const tw_shares_t *s, const tw_share_counts_t *shares,
                             const void *input, void *codes)
{
    MPI_Aint first = 0;

    for (int r = 0; r < call->comm->size; r++) {
        tw_form_encode(call, call->choice, &call->type, tw_type_at(&call->type, input, first),
                       tw_share_items(shares, r), (char *)codes + (size_t)s->out_at[r] * TW_UNIT);
        first += (MPI_Aint)tw_share_items(shares, r);
    }
}

static uint64_t tw_shares_sent(const tw_call_t *call, const tw_shares_t *s)
{
    return (uint64_t)(s->total - (size_t)s->out[call->comm->rank]) * TW_UNIT;
}

/* The codes of a rank's share. */
static size_t tw_share_bytes(const tw_call_t *call, const tw_share_counts_t *shares,
                             const tw_choice_t *choice, int r)
{
    return tw_choice_bytes(choice, tw_share_items(shares, r) * call->type.values);
}

/* Shares are padded one by one, and the largest is received from every rank: fewer bytes than plain
 * ones, and no more than two messages of memory? *sent_p: bytes of all codes. */
static bool tw_shares_pay(const tw_call_t *call, const tw_share_counts_t *shares,
                          const tw_choice_t *choice, size_t *sent_p)
{
    const size_t element = tw_kind_size(call->type.kind);
    const size_t ranks   = (size_t)call->comm->size;
    size_t       largest = shares->counts == NULL ? tw_share_bytes(call, shares, choice, 0) : 0;
    size_t       sent    = ranks * largest;

    for (int r = 0; shares->counts != NULL && r < call->comm->size; r++) {
        const size_t bytes = tw_share_bytes(call, shares, choice, r);

        sent += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    *sent_p = sent;
    return sent < call->values * element && sent + largest * ranks <= 2 * call->values * element;
}

/* While watching: what each candidate would have sent. */
static void tw_shares_could(tw_call_t *call, const tw_share_counts_t *shares)
{
    const size_t element = tw_kind_size(call->type.kind);
    const size_t others =
        call->values - tw_share_items(shares, call->comm->rank) * call->type.values;

    call->could_known = true;
    for (int c = 0, count = tw_candidates()->count; c < count; c++) {
        const tw_choice_t *choice = tw_choice_candidate(c, call->type.kind);
        size_t             sent;

        call->could[c] = tw_shares_pay(call, shares, choice, &sent)
                             ? sent - tw_share_bytes(call, shares, choice, call->comm->rank)
                             : others * element;
    }
}

/* What the program called, to be compared with. */
typedef struct tw_scatter {
    const void  *sendbuf;
    void        *recvbuf;
    bool         block; /* the form with one count */
    const int   *counts;
    int          count;
    MPI_Datatype datatype;
    MPI_Op       op;
    MPI_Comm     comm;
} tw_scatter_t;

static int tw_scatter_plain(const tw_scatter_t *a, const void *sendbuf, void *recvbuf,
                            MPI_Request *request)
{
    return a->block ? tw_mpi_reduce_scatter_block(sendbuf, recvbuf, a->count, a->datatype, a->op,
                                                  a->comm, request)
                    : tw_mpi_reduce_scatter(sendbuf, recvbuf, a->counts, a->datatype, a->op,
                                            a->comm, request);
}

static int tw_scatter_codes(tw_call_t *call, const tw_scatter_t *a, const void *input)
{
    const tw_share_counts_t shares = {.counts = a->counts, .count = a->count};
    const size_t            mine   = tw_share_items(&shares, call->comm->rank);
    int                    *room   = malloc(4 * (size_t)call->comm->size * sizeof(*room));
    tw_shares_t             s;
    void                   *out, *in, *exact = NULL;
    int                     result = MPI_SUCCESS;

    if (room == NULL) {
        tw_give_up(a->comm, "no memory for counts");
    }
    tw_shares_make(&s, call, &shares, room);
    out = tw_buffer_get(call->comm->handle, s.total * TW_UNIT);
    in  = tw_buffer_get(call->comm->handle, (size_t)s.in[0] * TW_UNIT * (size_t)call->comm->size);
    if (call->verify) {
        const uint64_t start = tw_clock_ns();

        exact  = tw_buffer_get(call->comm->handle, mine * call->type.size);
        result = tw_scatter_plain(a, input, exact, NULL);
        tw_verify_spent(call, start, true);
    }
    tw_shares_encode(call, &s, &shares, input, out);
    if (result == MPI_SUCCESS) {
        result = tw_next.Alltoallv(out, s.out, s.out_at, tw_state.unit, in, s.in, s.in_at,
                                   tw_state.unit, a->comm);
    }
    if (result == MPI_SUCCESS) {
        tw_form_decode_sum(call, call->choice, &call->type, in, (size_t)s.in[0] * TW_UNIT,
                           call->comm->size, a->recvbuf, mine);
        if (exact != NULL) {
            const uint64_t start  = tw_clock_ns();
            tw_errors_t    errors = {0};

            tw_verify_compare(call, &errors, &call->type, a->recvbuf, mine, exact);
            tw_verify_conclude(call, &errors);
            tw_verify_spent(call, start, false);
        }
    }
    call->sent = tw_shares_sent(call, &s);
    tw_buffer_put(exact);
    tw_buffer_put(out);
    tw_buffer_put(in);
    free(room);
    return result;
}

static void tw_iscatter_finish(tw_pending_t *pending)
{
    tw_form_op_t  *op    = (tw_form_op_t *)pending;
    const uint64_t start = tw_clock_ns();
    const int     *room  = op->extra;

    tw_form_decode_sum(&op->call, op->choice, &op->type, op->codes_in,
                       (size_t)room[2 * op->ranks] * TW_UNIT, op->ranks, op->recv, op->items);
    tw_form_op_done(op, start);
}

static int tw_iscatter_codes(tw_call_t *call, const tw_scatter_t *a, const void *input,
                             MPI_Request *request)
{
    const tw_share_counts_t shares = {.counts = a->counts, .count = a->count};
    tw_form_op_t           *op     = tw_form_op_make(call, call->choice, &call->type, a->recvbuf,
                                                     tw_share_items(&shares, call->comm->rank));
    int                    *room   = malloc(4 * (size_t)call->comm->size * sizeof(*room));
    tw_shares_t             s;

    if (room == NULL) {
        tw_give_up(a->comm, "no memory for counts");
    }
    op->extra = room;
    tw_shares_make(&s, call, &shares, room);
    op->codes_out = tw_buffer_get(call->comm->handle, s.total * TW_UNIT);
    op->codes_in =
        tw_buffer_get(call->comm->handle, (size_t)s.in[0] * TW_UNIT * (size_t)call->comm->size);
    op->call.sent = tw_shares_sent(call, &s);
    tw_shares_encode(&op->call, &s, &shares, input, op->codes_out);
    return tw_form_op_started(op,
                              tw_next.Ialltoallv(op->codes_out, s.out, s.out_at, tw_state.unit,
                                                 op->codes_in, s.in, s.in_at, tw_state.unit,
                                                 a->comm, request),
                              request, tw_iscatter_finish);
}

/* Items of the whole vector; -1 where a count is negative. */
static MPI_Aint tw_scatter_items(const tw_call_t *call, const tw_scatter_t *a)
{
    MPI_Aint items = 0;

    for (int r = 0; call->comm != NULL && r < call->comm->size; r++) {
        const int count = a->counts != NULL ? a->counts[r] : a->count;

        if (count < 0) {
            return -1;
        }
        items += count;
    }
    return items;
}

static int tw_scatter_call(tw_call_t *call, const tw_scatter_t *a, MPI_Request *request)
{
    const tw_share_counts_t shares = {.counts = a->counts, .count = a->count};
    const void             *input  = a->sendbuf == MPI_IN_PLACE ? a->recvbuf : a->sendbuf;
    size_t                  sent;
    int                     result;

    if (tw_call_vector(call, tw_scatter_items(call, a), a->datatype)) {
        tw_call_operation(call, a->op);
        /* A rank whose share is empty may give no receive buffer. */
        if (tw_same_refused(a->sendbuf, a->recvbuf) || a->sendbuf == NULL ||
            a->recvbuf == MPI_IN_PLACE ||
            (a->recvbuf == NULL && tw_share_items(&shares, call->comm->rank) > 0)) {
            tw_call_refuse(call, TW_WHY_ARGUMENTS);
        }
    }
    tw_call_buffers(call, a->sendbuf,
                    call->comm == NULL || tw_share_items(&shares, call->comm->rank) > 0 ? a->recvbuf
                                                                                        : NULL);
    if (tw_call_decide(call) && !tw_encode_always() &&
        !tw_shares_pay(call, &shares, call->choice, &sent)) {
        tw_call_undo(call, TW_WHY_NOT_PAYING);
    }
    if (tw_call_could_send(call)) {
        tw_shares_could(call, &shares);
    }
    if (call->choice != NULL) {
        if (request != NULL) {
            return tw_iscatter_codes(call, a, input, request);
        }
        result = tw_scatter_codes(call, a, input);
    } else {
        result = tw_scatter_plain(a, a->sendbuf, a->recvbuf, request);
    }
    tw_call_end(call);
    return result;
}

int tw_on_reduce_scatter(const void *site, const void *sendbuf, void *recvbuf,
                         const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                         MPI_Request *request)
{
    const tw_scatter_t arguments = {sendbuf, recvbuf, false, recvcounts, 0, datatype, op, comm};
    tw_call_t          call;
    int                result;

    tw_call_begin(&call, site, TW_RULE_REDUCE_SCATTER, request != NULL, comm);
    if (recvcounts != NULL && call.comm != NULL && call.comm->usable) {
        return tw_scatter_call(&call, &arguments, request);
    }
    tw_call_refuse(&call, TW_WHY_ARGUMENTS);
    result = tw_scatter_plain(&arguments, sendbuf, recvbuf, request);
    tw_call_end(&call);
    return result;
}

int tw_on_reduce_scatter_block(const void *site, const void *sendbuf, void *recvbuf, int recvcount,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                               MPI_Request *request)
{
    const tw_scatter_t arguments = {sendbuf, recvbuf, true, NULL, recvcount, datatype, op, comm};
    tw_call_t          call;

    tw_call_begin(&call, site, TW_RULE_REDUCE_SCATTER_BLOCK, request != NULL, comm);
    return tw_scatter_call(&call, &arguments, request);
}
