/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/progress_thread.h - a thread per communicator that progresses messages while the
 * user computes.
 *
 * Without a thread (the default) each call here costs one pointer test. With a thread, every call
 * on the communicator holds the thread's lock from tw_comm_enter() to tw_comm_leave(). A call that
 * waits makes progress itself; the thread pauses while a call holds the lock.
 *
 * THINWIRE_PROGRESS=thread: the thread advances outstanding operations, including codec and MPI
 * calls; this requires MPI_THREAD_MULTIPLE. An endpoint that needs progress after an operation is
 * complete (tw_endpoint_ops_t.idle) starts a thread that only progresses the endpoint and makes no
 * MPI call.
 */
#ifndef TW_TRANSPORT_COMM_PROGRESS_THREAD_H
#define TW_TRANSPORT_COMM_PROGRESS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/transport/comm/comm.h"

typedef struct tw_progress_thread tw_progress_thread_t;

/* Start the thread, or extend a running one: with `whole` it advances operations, else it only
 * progresses the endpoint. False if no thread can be started. */
bool tw_progress_thread_start(tw_comm_t *comm, bool whole);

/* End the thread, if there is one. The caller must not hold the lock. */
void tw_progress_thread_stop(tw_comm_t *comm);

/* Nested calls are allowed. */
void tw_progress_thread_enter(tw_progress_thread_t *thread);
void tw_progress_thread_leave(tw_progress_thread_t *thread);
void tw_progress_thread_notice(tw_progress_thread_t *thread);

/* Does the thread advance operations? */
bool tw_progress_thread_whole(const tw_progress_thread_t *thread);

/* Release the lock and sleep until an operation has ended or most_ns nanoseconds have passed. The
 * caller holds the lock exactly once, and the thread is `whole`. */
void tw_progress_thread_await(tw_progress_thread_t *thread, uint64_t most_ns);

/* An operation has started; the caller holds the lock. */
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

/* The endpoint is no longer idle; the caller holds the lock. */
static inline void tw_progress_thread_wake(const tw_comm_t *comm)
{
    if (comm->progress_thread != NULL) {
        tw_progress_thread_notice(comm->progress_thread);
    }
}

#endif /* TW_TRANSPORT_COMM_PROGRESS_THREAD_H */
