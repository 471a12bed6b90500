/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/pending.h - requests of the program behind which one of our byte collectives runs.
 *
 * The handle that the program holds is MPI's own, of the collective on bytes. When one of the
 * completion functions has turned it into MPI_REQUEST_NULL (or MPI_Request_get_status has seen it
 * complete), finish() decodes into the program's buffer. So they mix with any other request.
 */
#ifndef TW_INTERPOSE_PENDING_H
#define TW_INTERPOSE_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpose/mpi/late.h"
#include "interpose/mpi/requests.h"

typedef struct tw_pending tw_pending_t;

struct tw_pending {
    MPI_Request request; /* the handle the program holds                                       */
    const void *claim;   /* the thread in whose completion call it is; NULL: in none           */
    void (*finish)(tw_pending_t *pending); /* decode, count, release what hangs on it      */
    uint64_t      waited_ns; /* spent in the completion function that finished it, for finish()   */
    tw_pending_t *next;
};

extern int tw_pending_count; /* outstanding; read without the lock */

static inline bool tw_pending_any(void)
{
    return __atomic_load_n(&tw_pending_count, __ATOMIC_ACQUIRE) > 0;
}

/* Take over a started operation. The struct is the head of an allocation of the caller, which
 * finish() releases. One that is complete at once is finished at once: MPI may give the same handle
 * to all such operations. */
void tw_pending_add(tw_pending_t *pending, MPI_Request request);

/* Requests of ours among those of a completion call. */
#define TW_COMPLETION_SMALL 16
typedef struct tw_completion {
    int            count;
    uint64_t       start_ns;
    int            small_index[TW_COMPLETION_SMALL];
    tw_pending_t  *small_pending[TW_COMPLETION_SMALL];
    int           *index;   /* position among the requests                                        */
    tw_pending_t **pending; /* ours there: the operation, as its handle may soon be another's     */
} tw_completion_t;

/* Before the call: which of the requests are ours. They are claimed: as soon as MPI has completed
 * one, another thread may get its handle for a request of its own, and must not take this one for
 * it. */
void tw_pending_look(tw_completion_t *seen, int count, tw_requests_t requests);

/* After it: finish those that are MPI_REQUEST_NULL now; without requests all, if `complete`. The
 * claim on the others ends. */
void tw_pending_finish(tw_completion_t *seen, tw_requests_t requests, int complete);

/* After a call that says which are complete: finish those at these `n` indices, of which the first
 * is 0 in C, 1 in Fortran. */
void tw_pending_finish_at(tw_completion_t *seen, int n, const int indices[], int first);

/* At MPI_Finalize: forget what was never completed. */
void tw_pending_drop(void);

#endif /* TW_INTERPOSE_PENDING_H */
