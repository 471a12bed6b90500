/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/progress_thread.h - a thread of a communicator that moves messages while its
 * user computes.
 *
 * Without one (the default) nothing here costs more than a look at a pointer. With one, every call
 * on the communicator holds its lock from tw_comm_enter() to tw_comm_leave(); a call that waits
 * does the work itself, and the thread stays away for as long as a call is inside.
 *
 * THINWIRE_PROGRESS=thread: the thread advances outstanding operations, codec and MPI calls
 * included, for which MPI must allow that (MPI_THREAD_MULTIPLE). An endpoint that needs progress
 * after an operation is complete (tw_endpoint_ops_t.idle) starts one that does no more than that,
 * without MPI.
 */
#ifndef TW_TRANSPORT_COMM_PROGRESS_THREAD_H
#define TW_TRANSPORT_COMM_PROGRESS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/transport/comm/comm.h"

typedef struct tw_progress_thread tw_progress_thread_t;

/* Start it, or let a running one do more: `whole` advances operations, else only the endpoint is
 * looked after. False if there can be no thread. */
bool tw_progress_thread_start(tw_comm_t *comm, bool whole);

/* End it, if there is one. The lock must not be held. */
void tw_progress_thread_stop(tw_comm_t *comm);

/* Nested calls are allowed. */
void tw_progress_thread_enter(tw_progress_thread_t *thread);
void tw_progress_thread_leave(tw_progress_thread_t *thread);
void tw_progress_thread_notice(tw_progress_thread_t *thread);

/* Does it advance operations? */
bool tw_progress_thread_whole(const tw_progress_thread_t *thread);

/* Sleep, and leave the lock to others, until an operation has ended or so many nanoseconds are
 * over. The caller is inside once, and the thread is whole. */
void tw_progress_thread_await(tw_progress_thread_t *thread, uint64_t most_ns);

/* An operation has started; called inside. */
void tw_progress_thread_started(tw_progress_thread_t *thread);

static inline void tw_comm_enter(const tw_comm_t *comm)
{
    if (comm->progress_thread != NULL) {
        tw_progress_thread_enter(comm->progress_thread);
    }
}

static inline void tw_comm_leave(const tw_comm_t *comm)
{
    if (comm->progress_thread != NULL) {
        tw_progress_thread_leave(comm->progress_thread);
    }
}

/* The endpoint is not idle any more; called inside. */
static inline void tw_progress_thread_wake(const tw_comm_t *comm)
{
    if (comm->progress_thread != NULL) {
        tw_progress_thread_notice(comm->progress_thread);
    }
}

#endif /* TW_TRANSPORT_COMM_PROGRESS_THREAD_H */
