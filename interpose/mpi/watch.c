/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/watch.c - see watch.h.
 */
#include "config.h"

#include <stdlib.h>

#include "interpose/mpi/messages.h"
#include "interpose/next.h"
#include "interpose/state.h"
#include "interpose/record/recording.h"
#include "interpose/mpi/watch.h"
#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"

void tw_watch_begin(tw_call_t *call, const void *site, int op, int nonblocking, int form,
                    MPI_Comm comm)
{
    tw_call_begin(call, site, op, nonblocking, comm);
    call->form = form;
    call->why  = form != 0 && op < TW_RULE_OPS ? TW_WHY_FORM : TW_WHY_COLLECTIVE;
}

/* ---- bytes --------------------------------------------------------------------------------- */

/* What the type is; false where MPI would refuse it, or where nothing is sent. */
static bool tw_watch_type(tw_call_t *call, MPI_Datatype datatype)
{
    return call->comm != NULL && call->comm->usable && tw_type_look(datatype, &call->type);
}

static uint64_t tw_watch_count(const tw_watch_counts_t *counts, int r)
{
    const MPI_Count n = counts->ints != NULL     ? counts->ints[r]
                        : counts->larges != NULL ? counts->larges[r]
                                                 : counts->one;

    return n > 0 ? (uint64_t)n : 0;
}

/* Of n counts all but that of rank `but` (none if it is negative), and the largest. A single count
 * holds for each. */
static void tw_watch_add(tw_call_t *call, const tw_watch_counts_t *counts, int n, int but)
{
    for (int r = 0; r < n; r++) {
        const uint64_t bytes = tw_watch_count(counts, r) * call->type.size;

        call->uncompressed += r != but ? bytes : 0;
        call->bytes = bytes > call->bytes ? bytes : call->bytes;
    }
}

void tw_watch_vector(tw_call_t *call, tw_watch_counts_t counts, MPI_Datatype datatype)
{
    const bool one = counts.ints == NULL && counts.larges == NULL;
    const int  op  = call->op < TW_RULE_OPS ? call->op : TW_RULE_REDUCE; /* scans */

    if (tw_watch_type(call, datatype)) {
        for (int r = 0; r < (one ? 1 : call->comm->size); r++) {
            call->bytes += tw_watch_count(&counts, r) * call->type.size;
        }
        call->uncompressed = tw_call_moved((tw_rule_op_t)op, call->comm->size, call->bytes);
    }
}

void tw_watch_pieces(tw_call_t *call, tw_watch_counts_t counts, MPI_Datatype datatype)
{
    if (tw_watch_type(call, datatype)) {
        tw_watch_add(call, &counts, call->comm->size, call->comm->rank);
    }
}

void tw_watch_gather(tw_call_t *call, int root, tw_watch_counts_t there, MPI_Datatype there_type,
                     tw_watch_counts_t here, MPI_Datatype here_type)
{
    const bool at_root = call->comm != NULL && call->comm->rank == root;

    if (tw_watch_type(call, at_root ? there_type : here_type)) {
        tw_watch_add(call, at_root ? &there : &here, 1, -1);
        call->uncompressed = at_root ? 0 : call->uncompressed;
    }
}

void tw_watch_scatter(tw_call_t *call, int root, tw_watch_counts_t there, MPI_Datatype there_type,
                      tw_watch_counts_t here, MPI_Datatype here_type)
{
    const bool at_root = call->comm != NULL && call->comm->rank == root;

    if (tw_watch_type(call, at_root ? there_type : here_type)) {
        tw_watch_add(call, at_root ? &there : &here, at_root ? call->comm->size : 1, root);
        call->uncompressed = at_root ? call->uncompressed : 0;
    }
}

/* Pieces of n types. */
static void tw_watch_types(tw_call_t *call, const tw_watch_counts_t *counts, int n, int but,
                           const MPI_Datatype types[], const MPI_Fint types_f[])
{
    for (int r = 0; r < n; r++) {
        const tw_watch_counts_t one  = {.one = (MPI_Count)tw_watch_count(counts, r)};
        const MPI_Datatype      type = types != NULL ? types[r] : tw_mpi_type_f2c(types_f[r]);

        if (one.one > 0 && r != but && tw_watch_type(call, type)) {
            tw_watch_add(call, &one, 1, -1);
        }
    }
}

void tw_watch_pairs(tw_call_t *call, tw_watch_counts_t counts, const MPI_Datatype types[],
                    const MPI_Fint types_f[])
{
    if (call->comm != NULL && call->comm->usable) {
        tw_watch_types(call, &counts, call->comm->size, call->comm->rank, types, types_f);
    }
}

/* Neighbours that a rank of a topology sends to, 0 where there is none. */
static int tw_watch_degree(const tw_call_t *call)
{
    const MPI_Comm comm = call->comm != NULL ? call->comm->handle : MPI_COMM_NULL;
    int            kind = MPI_UNDEFINED, n = 0, in = 0, weighted = 0;

    if (call->comm == NULL || !call->comm->usable ||
        tw_next.Topo_test(comm, &kind) != MPI_SUCCESS) {
        return 0;
    }
    if (kind == MPI_CART) {
        return tw_next.Cartdim_get(comm, &n) == MPI_SUCCESS ? 2 * n : 0;
    }
    if (kind == MPI_GRAPH) {
        tw_next.Graph_neighbors_count(comm, call->comm->rank, &n);
    } else if (kind == MPI_DIST_GRAPH) {
        tw_next.Dist_graph_neighbors_count(comm, &in, &n, &weighted);
    }
    return n;
}

void tw_watch_neighbours(tw_call_t *call, tw_watch_counts_t counts, MPI_Datatype datatype)
{
    if (tw_watch_type(call, datatype)) {
        tw_watch_add(call, &counts, tw_watch_degree(call), -1);
    }
}

void tw_watch_neighbour_pairs(tw_call_t *call, tw_watch_counts_t counts, const MPI_Datatype types[],
                              const MPI_Fint types_f[])
{
    tw_watch_types(call, &counts, tw_watch_degree(call), -1, types, types_f);
}

/* ---- persistent ---------------------------------------------------------------------------- */

typedef struct tw_persistent {
    struct tw_persistent *next;
    MPI_Request           request;
    tw_call_t            *call;    /* a collective, as it is counted at each start; or NULL: */
    tw_sending_t          message; /* a message                                              */
} tw_persistent_t;

#define TW_PERSISTENT_BITS 12

int tw_persistent_count;

static int              tw_persistent_collectives; /* of them */
static tw_persistent_t *tw_persistent_table[1 << TW_PERSISTENT_BITS];
static pthread_mutex_t  tw_persistent_lock = PTHREAD_MUTEX_INITIALIZER;

/* Where the request stands, or would. */
static tw_persistent_t **tw_persistent_at(MPI_Request request)
{
    tw_persistent_t **at =
        &tw_persistent_table[tw_hash_word((uintptr_t)request, TW_PERSISTENT_BITS)];

    while (*at != NULL && (*at)->request != request) {
        at = &(*at)->next;
    }
    return at;
}

/* An older request of this handle was freed behind our back, in MPI_Comm_disconnect or by another
 * language. */
static void tw_persistent_keep(MPI_Request request, const tw_call_t *call,
                               const tw_sending_t *message)
{
    tw_persistent_t *kept = calloc(1, sizeof(*kept));
    tw_call_t       *copy = call != NULL ? malloc(sizeof(*copy)) : NULL;

    if (kept == NULL || (call != NULL && copy == NULL)) {
        tw_give_up(MPI_COMM_WORLD, "no memory for a persistent request");
    }
    kept->request = request;
    if (call != NULL) {
        *copy      = *call;
        kept->call = copy;
        tw_comms_hold(call->comm);
    } else {
        kept->message = *message;
    }
    tw_persistent_free(TW_C(&request));
    pthread_mutex_lock(&tw_persistent_lock);
    *tw_persistent_at(request) = kept;
    __atomic_fetch_add(&tw_persistent_collectives, call != NULL, __ATOMIC_RELEASE);
    __atomic_fetch_add(&tw_persistent_count, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&tw_persistent_lock);
}

void tw_persistent_add(const tw_call_t *call, int result, tw_requests_t request)
{
    if (result == MPI_SUCCESS && call->comm != NULL) {
        tw_persistent_keep(tw_request_at(request, 0), call, NULL);
    }
}

void tw_message_kept(const void *site, unsigned what, const void *buf, MPI_Count count,
                     MPI_Datatype datatype, int dest, MPI_Comm comm, tw_requests_t request)
{
    tw_sending_t message;

    if (tw_message_of(&message, site, what, buf, count, datatype, dest, comm)) {
        tw_persistent_keep(tw_request_at(request, 0), NULL, &message);
    } else {
        tw_persistent_free(request); /* an older one of this handle, freed behind our back */
    }
}

uint64_t tw_persistent_free(tw_requests_t request)
{
    const MPI_Request handle = tw_request_at(request, 0);
    tw_persistent_t **at, *kept;

    pthread_mutex_lock(&tw_persistent_lock);
    at   = tw_persistent_at(handle);
    kept = *at;
    if (kept != NULL) {
        *at = kept->next;
        __atomic_fetch_sub(&tw_persistent_collectives, kept->call != NULL, __ATOMIC_RELEASE);
        __atomic_fetch_sub(&tw_persistent_count, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&tw_persistent_lock);
    if (kept != NULL) {
        if (kept->call != NULL && tw_active) { /* else all entries are gone */
            tw_comms_let_go(kept->call->comm);
        }
        free(kept->call);
        free(kept);
    }
    return 0;
}

/* For a time that nobody asks for: there are messages alone, and nothing is recorded. */
#define TW_PERSISTENT_MESSAGES 1

uint64_t tw_persistent_before(void)
{
    if (tw_is_recording() && tw_inside == 0) {
        tw_recording_begins();
    }
    if (!tw_active) {
        return 0;
    }
    return tw_is_recording() || __atomic_load_n(&tw_persistent_collectives, __ATOMIC_ACQUIRE) > 0
               ? tw_clock_ns()
               : TW_PERSISTENT_MESSAGES;
}

/* One start of a request that we know, of `count` that were started together and share the time. */
static void tw_persistent_started(uint64_t start_ns, int count, MPI_Request request)
{
    tw_persistent_t *kept;
    tw_sending_t     message;
    tw_call_t        call;
    bool             collective = false;

    pthread_mutex_lock(&tw_persistent_lock);
    kept = *tw_persistent_at(request);
    if (kept != NULL) {
        collective = kept->call != NULL;
        if (collective) {
            call = *kept->call;
        } else {
            message = kept->message;
        }
    }
    pthread_mutex_unlock(&tw_persistent_lock);
    if (collective) {
        const uint64_t now = tw_clock_ns();

        call.start_ns = now - (now - start_ns) / (uint64_t)count;
        tw_call_end(&call);
        tw_recording_request(MPI_SUCCESS, TW_C(&request));
    } else if (kept != NULL) {
        tw_message_count(&message);
    }
}

void tw_persistent_after(uint64_t start_ns, int count, tw_requests_t requests)
{
    if (start_ns == TW_PERSISTENT_MESSAGES) {
        pthread_mutex_lock(&tw_persistent_lock);
        for (int i = 0; i < count; i++) {
            const tw_persistent_t *kept = *tw_persistent_at(tw_request_at(requests, i));

            if (kept != NULL && kept->call == NULL) {
                tw_message_count(&kept->message);
            }
        }
        pthread_mutex_unlock(&tw_persistent_lock);
    } else if (start_ns != 0) {
        tw_recording_together_begin(start_ns);
        for (int i = 0; i < count; i++) {
            tw_persistent_started(start_ns, count, tw_request_at(requests, i));
        }
        tw_recording_together_end();
    }
}
