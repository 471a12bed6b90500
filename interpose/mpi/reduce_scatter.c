/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/reduce_scatter.c - MPI_Reduce_scatter, MPI_Reduce_scatter_block and their
 * nonblocking forms: every rank encodes the share of each other, an Alltoallv of codes, every rank
 * adds its own shares in rank order.
 */
#include "config.h"

#include "interpose/mpi/counts.h"
#include "interpose/mpi/transfer.h"
#include "interpose/handlers.h"
#include "interpose/next.h"

/* What the program called. */
typedef struct tw_scatter {
    const void  *sendbuf;
    void        *recvbuf;
    bool         block; /* the form with one count */
    tw_counts_t  counts;
    MPI_Datatype datatype;
    MPI_Op       op;
    MPI_Comm     comm;
} tw_scatter_t;

static int tw_scatter_native(const tw_scatter_t *a, const void *sendbuf, void *recvbuf,
                             MPI_Request *request)
{
    return a->block ? tw_mpi_reduce_scatter_block(sendbuf, recvbuf, a->counts.all, a->datatype,
                                                  a->op, a->comm, request)
                    : tw_mpi_reduce_scatter(sendbuf, recvbuf, a->counts.each, a->datatype, a->op,
                                            a->comm, request);
}

static int tw_scatter_exact(const tw_transfer_t *x, const void *input, void *exact)
{
    return tw_scatter_native(x->arguments, input, exact, NULL);
}

static const tw_manner_t tw_scatter_manner = {.move = tw_transfer_pairs, .exact = tw_scatter_exact};

static tw_transfer_t *tw_scatter_make(tw_call_t *call, const tw_scatter_t *a)
{
    const int      ranks = call->comm->size;
    tw_transfer_t *x     = tw_transfer_make(call, &tw_scatter_manner, ranks, 1);
    MPI_Aint       first = 0;

    x->arguments = a;
    tw_side_set(&x->send, &call->type, a->sendbuf == MPI_IN_PLACE ? a->recvbuf : a->sendbuf);
    for (int r = 0; r < ranks; r++) {
        tw_side_add(&x->send, call->choice, tw_counts_at(&a->counts, r), first);
        first += (MPI_Aint)tw_counts_at(&a->counts, r);
    }
    tw_side_set(&x->recv, &call->type, a->recvbuf);
    x->recv.terms = ranks;
    tw_side_add(&x->recv, call->choice, tw_counts_at(&a->counts, call->comm->rank), 0);
    call->sent = x->send.total - x->send.block[call->comm->rank].bytes;
    return x;
}

/* The codes of a rank's share. */
static size_t tw_share_bytes(const tw_call_t *call, const tw_scatter_t *a,
                             const tw_choice_t *choice, int r)
{
    return tw_choice_bytes(choice, tw_counts_at(&a->counts, r) * call->type.values);
}

/* Shares are padded one by one, and the largest is received from every rank: fewer bytes than
 * native ones, and no more than two messages of memory? *sent_p: bytes of all codes. */
static bool tw_shares_pay(const tw_call_t *call, const tw_scatter_t *a, const tw_choice_t *choice,
                          size_t *sent_p)
{
    const size_t element = tw_kind_size(call->type.kind);
    const size_t ranks   = (size_t)call->comm->size;
    size_t       largest = a->counts.each == NULL ? tw_share_bytes(call, a, choice, 0) : 0;
    size_t       sent    = ranks * largest;

    for (int r = 0; a->counts.each != NULL && r < call->comm->size; r++) {
        const size_t bytes = tw_share_bytes(call, a, choice, r);

        sent += bytes;
        largest = bytes > largest ? bytes : largest;
    }
    *sent_p = sent;
    return sent < call->values * element && sent + largest * ranks <= 2 * call->values * element;
}

/* While watching: what each candidate would have sent. */
static void tw_shares_could(tw_call_t *call, const tw_scatter_t *a)
{
    const size_t element = tw_kind_size(call->type.kind);
    const size_t others =
        call->values - tw_counts_at(&a->counts, call->comm->rank) * call->type.values;

    call->could_known = true;
    for (int c = 0, count = tw_candidates()->count; c < count; c++) {
        const tw_choice_t *choice = tw_choice_candidate(c, call->type.kind);
        size_t             sent;

        call->could[c] = tw_shares_pay(call, a, choice, &sent)
                             ? sent - tw_share_bytes(call, a, choice, call->comm->rank)
                             : others * element;
    }
}

static int tw_scatter_call(tw_call_t *call, const tw_scatter_t *a, MPI_Request *request)
{
    size_t     items, most, sent;
    const bool fine = tw_counts_look(&a->counts, &items, &most);
    int        result;

    if (tw_call_vector(call, fine ? (MPI_Aint)items : -1, a->datatype)) {
        tw_call_operation(call, a->op);
        /* A rank whose share is empty may give no receive buffer. */
        if (tw_same_refused(a->sendbuf, a->recvbuf) || a->sendbuf == NULL ||
            a->recvbuf == MPI_IN_PLACE ||
            (a->recvbuf == NULL && tw_counts_at(&a->counts, call->comm->rank) > 0)) {
            tw_call_refuse(call, TW_WHY_ARGUMENTS);
        }
    }
    tw_call_buffers(call, a->sendbuf,
                    a->sendbuf == MPI_IN_PLACE || call->comm == NULL ||
                            tw_counts_at(&a->counts, call->comm->rank) > 0
                        ? a->recvbuf
                        : NULL);
    if (tw_call_decide(call) && !tw_encode_always() &&
        !tw_shares_pay(call, a, call->choice, &sent)) {
        tw_call_undo(call, TW_WHY_NOT_PAYING);
    }
    if (tw_call_could_send(call)) {
        tw_shares_could(call, a);
    }
    if (call->choice != NULL) {
        return tw_transfer_run(tw_scatter_make(call, a), request);
    }
    result = tw_scatter_native(a, a->sendbuf, a->recvbuf, request);
    tw_call_end(call);
    return result;
}

int tw_on_reduce_scatter(const void *site, const void *sendbuf, void *recvbuf,
                         const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                         MPI_Request *request)
{
    tw_scatter_t arguments = {sendbuf, recvbuf, false, {.each = recvcounts}, datatype, op, comm};
    tw_call_t    call;
    int          result;

    tw_call_begin(&call, site, TW_RULE_REDUCE_SCATTER, request != NULL, comm);
    arguments.counts.ranks = call.comm != NULL ? call.comm->size : 0;
    if (recvcounts != NULL && call.comm != NULL && call.comm->usable) {
        return tw_scatter_call(&call, &arguments, request);
    }
    tw_call_refuse(&call, TW_WHY_ARGUMENTS);
    result = tw_scatter_native(&arguments, sendbuf, recvbuf, request);
    tw_call_end(&call);
    return result;
}

int tw_on_reduce_scatter_block(const void *site, const void *sendbuf, void *recvbuf, int recvcount,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                               MPI_Request *request)
{
    tw_scatter_t arguments = {sendbuf, recvbuf, true, {.all = recvcount}, datatype, op, comm};
    tw_call_t    call;

    tw_call_begin(&call, site, TW_RULE_REDUCE_SCATTER_BLOCK, request != NULL, comm);
    arguments.counts.ranks = call.comm != NULL ? call.comm->size : 0;
    return tw_scatter_call(&call, &arguments, request);
}
