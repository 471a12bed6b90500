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

typedef struct tw_side_stream {
    tw_comm_t             *comm;
    const tw_device_ops_t *ops; /* NULL: host memory, where copies are memcpy() */
    void                  *caller;
    void                  *own; /* NULL: none */
} tw_side_stream_t;

/* Open it for the memory in exec (NULL: host memory), without an own stream. Local: TW_OK,
 * TW_ERR_UNSUPPORTED, TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY, TW_ERR_IO; logged. */
tw_status_t tw_side_open(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec);

/* The same with an own stream, for operations on device memory. `who`, such as "tw_buckets_create",
 * begins the lines of the log. */
tw_status_t tw_side_open_own(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec,
                             const char *who);

/* Wait for all work on both streams, before memory and events are released. */
void tw_side_settle(const tw_side_stream_t *side);

/* Close it; the streams must be empty. A zeroed side is allowed, here and in tw_side_settle(). */
void tw_side_close(tw_side_stream_t *side);

/* Is p NULL or memory of the side's kind? */
bool tw_side_has(const tw_side_stream_t *side, const void *p);

/* The same: TW_OK, TW_ERR_INVALID_ARG (logged with `what` and `name`). */
tw_status_t tw_side_check(const tw_side_stream_t *side, const void *p, const char *who,
                          const char *what, const char *name);

/* A buffer of the side's memory; NULL is allowed in tw_side_put(). TW_OK, TW_ERR_NO_MEMORY. */
tw_status_t tw_side_get(const tw_side_stream_t *side, size_t bytes, void **p);
void        tw_side_put(const tw_side_stream_t *side, void *p);

/* A buffer of pinned memory; NULL if the side is host memory. Otherwise as above. */
tw_status_t tw_side_pinned_get(const tw_side_stream_t *side, size_t bytes, void **p);
void        tw_side_pinned_put(const tw_side_stream_t *side, void *p);

/* An event for one operation at a time; NULL in host memory. TW_OK, TW_ERR_NO_MEMORY. */
tw_status_t tw_side_event_get(const tw_side_stream_t *side, tw_device_event_t **event_p);
void        tw_side_event_put(const tw_side_stream_t *side, tw_device_event_t *event);

/* Record the event after all work on the caller's stream. NULL is allowed. A failure of the device,
 * here and below, kills the communicator. */
tw_status_t tw_side_mark(const tw_side_stream_t *side, tw_device_event_t *event);

/* Copy, and set to zero, on the caller's stream. dst and src do not overlap. */
tw_status_t tw_side_copy(const tw_side_stream_t *side, void *dst, const void *src, size_t bytes);
tw_status_t tw_side_zero(const tw_side_stream_t *side, void *dst, size_t bytes);

#endif /* TW_SCHEDULER_SIDE_STREAM_H */
