/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/pending.c - see pending.h.
 */
#include "config.h"

#include <stdlib.h>

#include "interpose/mpi/late.h"
#include "interpose/next.h"
#include "interpose/mpi/pending.h"
#include "interpose/state.h"
#include "runtime/base/bytes.h"
#include "runtime/base/clock.h"

#define TW_PENDING_BITS 8

int tw_pending_count;

static tw_pending_t   *tw_pending_table[1 << TW_PENDING_BITS];
static pthread_mutex_t tw_pending_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t tw_pending_hash(MPI_Request request)
{
    return tw_hash_word((uintptr_t)request, TW_PENDING_BITS);
}

/* The address tells threads apart. */
static _Thread_local char tw_pending_thread __attribute__((tls_model("initial-exec")));

/* Take an operation out of the table. */
static void tw_pending_unlink(tw_pending_t *pending)
{
    tw_pending_t **at = &tw_pending_table[tw_pending_hash(pending->request)];

    while (*at != pending) {
        at = &(*at)->next;
    }
    *at = pending->next;
    __atomic_fetch_sub(&tw_pending_count, 1, __ATOMIC_RELEASE);
}

static bool tw_completion_has(const tw_completion_t *seen, const tw_pending_t *pending)
{
    for (int k = 0; k < seen->count; k++) {
        if (seen->pending[k] == pending) {
            return true;
        }
    }
    return false;
}

/* The operation with this handle that no other thread is completing. This thread's own claim may be
 * left from a call that an error handler did not return to. */
static tw_pending_t *tw_pending_find(const tw_completion_t *seen, MPI_Request request)
{
    for (tw_pending_t *p = tw_pending_table[tw_pending_hash(request)]; p != NULL; p = p->next) {
        if (p->request == request && !tw_completion_has(seen, p) &&
            (p->claim == NULL || p->claim == &tw_pending_thread)) {
            return p;
        }
    }
    return NULL;
}

void tw_pending_add(tw_pending_t *pending, MPI_Request request)
{
    const size_t slot     = tw_pending_hash(request);
    int          complete = 0;

    if (tw_next.Request_get_status(request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        complete) {
        pending->waited_ns = 0;
        pending->finish(pending);
        return;
    }
    pending->request = request;
    pending->claim   = NULL;
    pthread_mutex_lock(&tw_pending_lock);
    pending->next          = tw_pending_table[slot];
    tw_pending_table[slot] = pending;
    __atomic_fetch_add(&tw_pending_count, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&tw_pending_lock);
}

static void tw_completion_begin(tw_completion_t *seen)
{
    seen->count    = 0;
    seen->start_ns = tw_clock_ns();
    seen->index    = seen->small_index;
    seen->pending  = seen->small_pending;
}

/* Room for `most` requests; the small arrays do for most calls. */
static void tw_completion_grow(tw_completion_t *seen, int most)
{
    int           *index;
    tw_pending_t **pending;

    if (seen->count < TW_COMPLETION_SMALL || seen->index != seen->small_index) {
        return;
    }
    index   = malloc((size_t)most * sizeof(*index));
    pending = malloc((size_t)most * sizeof(*pending));
    if (index == NULL || pending == NULL) {
        tw_give_up(MPI_COMM_WORLD, "no memory for a list of %d requests", most);
    }
    for (int i = 0; i < seen->count; i++) {
        index[i]   = seen->index[i];
        pending[i] = seen->pending[i];
    }
    seen->index   = index;
    seen->pending = pending;
}

static void tw_completion_end(tw_completion_t *seen)
{
    if (seen->index != seen->small_index) {
        free(seen->index);
        free(seen->pending);
    }
}

static void tw_completion_note(tw_completion_t *seen, int most, int i, MPI_Request request)
{
    tw_pending_t *found = tw_pending_find(seen, request);

    if (found != NULL) {
        found->claim = &tw_pending_thread;
        tw_completion_grow(seen, most);
        seen->index[seen->count]     = i;
        seen->pending[seen->count++] = found;
    }
}

void tw_pending_look(tw_completion_t *seen, int count, tw_requests_t requests)
{
    tw_completion_begin(seen);
    pthread_mutex_lock(&tw_pending_lock);
    for (int i = 0; i < count; i++) {
        const MPI_Request request = tw_request_at(requests, i);

        if (request != MPI_REQUEST_NULL) {
            tw_completion_note(seen, count, i, request);
        }
    }
    pthread_mutex_unlock(&tw_pending_lock);
}

/* After the call: finish an operation that is complete; the claim on any other ends. */
static void tw_completion_finish(tw_completion_t *seen, int k, bool complete, uint64_t each_ns)
{
    tw_pending_t *pending = seen->pending[k];

    pthread_mutex_lock(&tw_pending_lock);
    if (complete) {
        tw_pending_unlink(pending);
    } else {
        pending->claim = NULL;
    }
    pthread_mutex_unlock(&tw_pending_lock);
    if (complete) {
        pending->waited_ns = each_ns;
        pending->finish(pending);
    }
}

static uint64_t tw_completion_share(const tw_completion_t *seen)
{
    return seen->count > 0 ? (tw_clock_ns() - seen->start_ns) / (uint64_t)seen->count : 0;
}

void tw_pending_finish(tw_completion_t *seen, tw_requests_t requests, int complete)
{
    const uint64_t each_ns = tw_completion_share(seen);

    for (int k = 0; k < seen->count; k++) {
        tw_completion_finish(seen, k,
                             tw_requests_given(requests)
                                 ? tw_request_at(requests, seen->index[k]) == MPI_REQUEST_NULL
                                 : complete,
                             each_ns);
    }
    tw_completion_end(seen);
}

void tw_pending_finish_at(tw_completion_t *seen, int n, const int indices[], int first)
{
    const uint64_t each_ns = tw_completion_share(seen);

    for (int k = 0; k < seen->count; k++) {
        bool complete = false;

        for (int i = 0; i < n && !complete; i++) {
            complete = indices[i] - first == seen->index[k];
        }
        tw_completion_finish(seen, k, complete, each_ns);
    }
    tw_completion_end(seen);
}

void tw_pending_drop(void)
{
    /* What is in the table stays there: MPI may still write into its buffers. */
    __atomic_store_n(&tw_pending_count, 0, __ATOMIC_RELEASE);
}
