/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/helper.h - a thread of a communicator that moves messages while its user computes.
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
#ifndef TW_TRANSPORT_ENGINE_HELPER_H
#define TW_TRANSPORT_ENGINE_HELPER_H

#include <stdbool.h>

#include "runtime/transport/comm/comm.h"

typedef struct tw_helper tw_helper_t;

/* Start it, or let a running one do more: `whole` advances operations, else only the endpoint is
 * looked after. False if there can be no thread. */
bool tw_helper_start(tw_comm_t *comm, bool whole);

/* End it, if there is one. The lock must not be held. */
void tw_helper_stop(tw_comm_t *comm);

/* Nested calls are allowed. */
void tw_helper_enter(tw_helper_t *helper);
void tw_helper_leave(tw_helper_t *helper);
void tw_helper_notice(tw_helper_t *helper);

static inline void tw_comm_enter(const tw_comm_t *comm)
{
    if (comm->helper != NULL) {
        tw_helper_enter(comm->helper);
    }
}

static inline void tw_comm_leave(const tw_comm_t *comm)
{
    if (comm->helper != NULL) {
        tw_helper_leave(comm->helper);
    }
}

/* The endpoint is not idle any more; called inside. */
static inline void tw_helper_wake(const tw_comm_t *comm)
{
    if (comm->helper != NULL) {
        tw_helper_notice(comm->helper);
    }
}

#endif /* TW_TRANSPORT_ENGINE_HELPER_H */
