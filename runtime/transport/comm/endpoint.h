/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/endpoint.h - how the messages of operations travel: one small table of functions
 * per way.
 *
 * The engine posts messages in batches (all that a stage of a lane waits for) and asks whether a
 * batch is complete. A batch lies in the operation's own memory, so a message costs no allocation;
 * what stands in `requests` is the endpoint's own. Messages between two ranks match by tag, those
 * of one tag in the order in which they were sent. Nothing is cancelled: buffers of messages that
 * are not complete when a communicator dies are never freed.
 * Set-up messages (sync.h) always take MPI.
 */
#ifndef TW_TRANSPORT_COMM_ENDPOINT_H
#define TW_TRANSPORT_COMM_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/transport/comm/comm.h"

/* Messages under way. */
typedef struct tw_messages {
    void *requests; /* capacity times request_bytes, of the endpoint */
    int  *peers;
    int   count, capacity;
} tw_messages_t;

/* Failures are logged where they are found, and the communicator is dead after them. */
typedef struct tw_endpoint_ops {
    const char *name;
    size_t      request_bytes; /* of one message in tw_messages_t.requests */

    /* Collective, when a communicator is created; the same status on every rank. Becomes
     * comm->endpoint, which is tw_endpoint_mpi before. */
    tw_status_t (*open)(tw_comm_t *comm);

    /* Post one message of 1 .. THINWIRE_MESSAGE_LIMIT bytes and append it to the batch. */
    tw_status_t (*send)(tw_comm_t *comm, const void *bytes, size_t size, int peer, int tag,
                        tw_messages_t *messages);
    tw_status_t (*recv)(tw_comm_t *comm, void *bytes, size_t size, int peer, int tag,
                        tw_messages_t *messages);

    /* Are all messages of the batch complete? Does not block. */
    tw_status_t (*test)(tw_comm_t *comm, tw_messages_t *messages, bool *complete_p);

    /* Is this message of the batch not complete? Asked when nothing moves any more. */
    bool (*pending)(tw_comm_t *comm, tw_messages_t *messages, int message);

    /* Let messages move; called before tests, and by whoever waits for something else. */
    tw_status_t (*progress)(tw_comm_t *comm);

    /* Will everything that was sent arrive even if nobody calls progress? An endpoint that may have
     * to say no starts the communicator's progress thread (progress_thread.h), which then goes
     * on. */
    bool (*idle)(tw_comm_t *comm);

    /* Does it take device memory? 1, 0; -1: it does not say. Local. */
    int (*aware)(tw_comm_t *comm);

    /* Collective, no message is under way; it does not hang if all ranks call it. */
    tw_status_t (*close)(tw_comm_t *comm);

    /* Of a dead communicator: give up without communication. */
    void (*abandon)(tw_comm_t *comm);
} tw_endpoint_ops_t;

#endif /* TW_TRANSPORT_COMM_ENDPOINT_H */
