/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/endpoint.h - transport of the operations' messages: one small function table per
 * endpoint.
 *
 * The engine posts messages in batches (all messages that a stage of a lane waits for) and tests
 * whether a batch is complete. A batch lies in the operation's memory, so a message needs no
 * allocation; the contents of `requests` are private to the endpoint. Messages between two ranks
 * match by tag; messages with equal tags match in the order of sending. No message is cancelled:
 * buffers of messages that are incomplete when a communicator dies are never freed.
 * Set-up messages (sync.h) always use MPI.
 */
#ifndef TW_TRANSPORT_COMM_ENDPOINT_H
#define TW_TRANSPORT_COMM_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/transport/comm/comm.h"

/* A batch of posted messages. */
typedef struct tw_messages {
    void *requests; /* capacity times request_bytes, private to the endpoint */
    int  *peers;
    int   count, capacity;
} tw_messages_t;

/* Each function logs its failures; a failure kills the communicator. */
typedef struct tw_endpoint_ops {
    const char *name;
    size_t      request_bytes; /* of one message in tw_messages_t.requests */

    /* Collective, when a communicator is created; the same status on every rank. Replaces
     * tw_endpoint_mpi in comm->endpoint. */
    tw_status_t (*open)(tw_comm_t *comm);

    /* Post one message of 1 .. THINWIRE_MESSAGE_LIMIT bytes and append it to the batch. */
    tw_status_t (*send)(tw_comm_t *comm, const void *bytes, size_t size, int peer, int tag,
                        tw_messages_t *messages);
    tw_status_t (*recv)(tw_comm_t *comm, void *bytes, size_t size, int peer, int tag,
                        tw_messages_t *messages);

    /* Are all messages of the batch complete? Does not block. */
    tw_status_t (*test)(tw_comm_t *comm, tw_messages_t *messages, bool *complete_p);

    /* Is this message of the batch incomplete? Called when operations make no progress. */
    bool (*pending)(tw_comm_t *comm, tw_messages_t *messages, int message);

    /* Progress messages; called before tests, and by code that waits for something else. */
    tw_status_t (*progress)(tw_comm_t *comm);

    /* Will all sent messages arrive without further calls of progress()? An endpoint that may
     * return false starts the communicator's progress thread (progress_thread.h), which continues
     * to call progress(). */
    bool (*idle)(tw_comm_t *comm);

    /* What to sleep on until progress() may have something to do (base/descriptor.h); a descriptor
     * is the endpoint's. AGAIN: something has moved since the last call of this function. */
    int (*descriptor)(tw_comm_t *comm);

    /* Does it accept device memory? 1, 0; -1: unknown. Local. */
    int (*aware)(tw_comm_t *comm);

    /* Collective, with no message in flight; does not hang if all ranks call it. */
    tw_status_t (*close)(tw_comm_t *comm);

    /* Release the endpoint of a dead communicator without communication. */
    void (*abandon)(tw_comm_t *comm);
} tw_endpoint_ops_t;

#endif /* TW_TRANSPORT_COMM_ENDPOINT_H */
