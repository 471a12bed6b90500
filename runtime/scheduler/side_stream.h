/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/side_stream.h - memory in which a scheduler's object works: the host's, or a device's,
 * and there two streams.
 *
 *     caller's   computes; copies between the caller's memory and the object's
 *     own        exchanges: what their operations encode and decode
 *
 * An operation begins when an event behind the caller's work is done (tw_side_mark(),
 * tw_request_t.after); whoever advances the communicator looks at it. So nothing on the own stream
 * ever waits for what the caller has yet to compute, and a decoding never stands behind an exchange
 * of something later. Once an operation is complete, its result is there for all that is put on any
 * stream then. Nothing blocks.
 */
#ifndef TW_SCHEDULER_SIDE_STREAM_H
#define TW_SCHEDULER_SIDE_STREAM_H

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/device/device.h"

typedef struct tw_side_stream {
    tw_comm_t             *comm;
    const tw_device_ops_t *ops; /* NULL: host memory, where none of this does more than memcpy() */
    void                  *caller;
    void                  *own; /* NULL: none */
} tw_side_stream_t;

/* As exec says (NULL: host memory), without a stream of its own. Local: TW_OK, TW_ERR_UNSUPPORTED,
 * TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY, TW_ERR_IO; logged. */
tw_status_t tw_side_open(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec);

/* With one, for operations on memory of the device. who, such as "tw_buckets_create", begins lines
 * of the log. */
tw_status_t tw_side_open_own(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec,
                             const char *who);

/* Wait for what is left on both streams: before memory and events are given back. */
void tw_side_settle(const tw_side_stream_t *side);

/* With nothing left on its stream. A side of zeros is allowed, here and above. */
void tw_side_close(tw_side_stream_t *side);

/* Is p, which may be NULL, memory of that kind? */
bool tw_side_has(const tw_side_stream_t *side, const void *p);

/* The same: TW_OK, TW_ERR_INVALID_ARG (logged; `what` and `name` say whose it is). */
tw_status_t tw_side_check(const tw_side_stream_t *side, const void *p, const char *who,
                          const char *what, const char *name);

/* A buffer of that memory; NULL is allowed in tw_side_put(). TW_OK, TW_ERR_NO_MEMORY. */
tw_status_t tw_side_get(const tw_side_stream_t *side, size_t bytes, void **p);
void        tw_side_put(const tw_side_stream_t *side, void *p);

/* A buffer of host memory that the device copies by itself; in host memory NULL. As above. */
tw_status_t tw_side_pinned_get(const tw_side_stream_t *side, size_t bytes, void **p);
void        tw_side_pinned_put(const tw_side_stream_t *side, void *p);

/* An event for one operation at a time; NULL in host memory. TW_OK, TW_ERR_NO_MEMORY. */
tw_status_t tw_side_event_get(const tw_side_stream_t *side, tw_device_event_t **event_p);
void        tw_side_event_put(const tw_side_stream_t *side, tw_device_event_t *event);

/* The event is behind all that the caller has put on his stream by now. NULL is allowed. Where the
 * device fails, here and below, the communicator is dead. */
tw_status_t tw_side_mark(const tw_side_stream_t *side, tw_device_event_t *event);

/* On the caller's stream. dst and src do not overlap. */
tw_status_t tw_side_copy(const tw_side_stream_t *side, void *dst, const void *src, size_t bytes);
tw_status_t tw_side_zero(const tw_side_stream_t *side, void *dst, size_t bytes);

#endif /* TW_SCHEDULER_SIDE_STREAM_H */
