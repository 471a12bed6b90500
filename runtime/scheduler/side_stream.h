/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/side_stream.h - the memory of a scheduler object: host memory, or device memory with
 * two streams.
 *
 *     caller's   computation; copies between the memory of the caller and of the object
 *     own        encoding and decoding of the exchanges
 *
 * An operation begins when an event recorded after the caller's work is complete (tw_side_mark(),
 * tw_request_t.after); progress of the communicator polls the event. So no work on the own stream
 * waits for pending work of the caller, and no decoding is queued behind a later exchange. After an
 * operation is complete, its result is visible to work enqueued on any stream. Nothing blocks.
 */
#ifndef TW_SCHEDULER_SIDE_STREAM_H
#define TW_SCHEDULER_SIDE_STREAM_H

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/device/device.h"

#define TW_SIDE_BUFFERS 4

/* Memory: as the caller's data; pinned (none beside host memory); of the host. */
typedef enum tw_side_kind { TW_SIDE_DATA, TW_SIDE_PINNED, TW_SIDE_HOST } tw_side_kind_t;

typedef struct tw_side_stream {
    tw_comm_t             *comm;
    const tw_device_ops_t *ops; /* NULL: host memory, where copies are memcpy() */
    void                  *caller;
    void                  *own; /* NULL: none */
    tw_exec_t              exec;
    bool                   open, given; /* given: exec is the caller's, on the own stream */
    tw_device_event_t     *events;
    void                  *buffer[TW_SIDE_BUFFERS];
    tw_side_kind_t         kind[TW_SIDE_BUFFERS];
    int                    buffers;
} tw_side_stream_t;

/* Open it for the memory in exec (NULL: host memory), without an own stream. Until it is closed,
 * the object counts as a plan of the communicator, which cannot be destroyed before it. Local:
 * TW_OK, TW_ERR_UNSUPPORTED, TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY, TW_ERR_IO; logged. */
tw_status_t tw_side_open(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec);

/* The same with an own stream, for operations on device memory. `who`, such as "tw_buckets_create",
 * begins the lines of the log. */
tw_status_t tw_side_open_own(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec,
                             const char *who);

/* Wait for all work on both streams and release them, the events and, unless the communicator is
 * dead, the buffers. A side that was not opened, and a zeroed one, are allowed. */
void tw_side_close(tw_side_stream_t *side);

/* For tw_how_t: exec on the own stream; NULL: the caller gave none. */
static inline const tw_exec_t *tw_side_exec(const tw_side_stream_t *side)
{
    return side->given ? &side->exec : NULL;
}

/* Is p NULL or memory of the side's kind? */
bool tw_side_has(const tw_side_stream_t *side, const void *p);

/* The same: TW_OK, TW_ERR_INVALID_ARG (logged with `what` and `name`). */
tw_status_t tw_side_check(const tw_side_stream_t *side, const void *p, const char *who,
                          const char *what, const char *name);

/* A buffer, or an event for one operation at a time; NULL where the side has no such memory, and if
 * *status_p is or becomes a failure: TW_ERR_NO_MEMORY. tw_side_close() releases them. */
void *tw_side_get(tw_side_stream_t *side, tw_side_kind_t kind, size_t bytes, tw_status_t *status_p);
tw_device_event_t *tw_side_event(tw_side_stream_t *side, tw_status_t *status_p);

/* Collective: a buffer of the host on every rank, or on none, as tw_comm_agreed_get_if(). */
tw_status_t tw_side_agreed_get(tw_side_stream_t *side, tw_status_t mine, size_t bytes, void **p);

/* Record the event after all work on the caller's stream. NULL is allowed. A failure of the device,
 * here and below, kills the communicator. */
tw_status_t tw_side_mark(const tw_side_stream_t *side, tw_device_event_t *event);

/* Copy, and set to zero, on the caller's stream. dst and src do not overlap. */
tw_status_t tw_side_copy(const tw_side_stream_t *side, void *dst, const void *src, size_t bytes);
tw_status_t tw_side_zero(const tw_side_stream_t *side, void *dst, size_t bytes);

#endif /* TW_SCHEDULER_SIDE_STREAM_H */
