/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/side_stream.h - memory in which a scheduler's object works: the host's, or a device's. On a
 * device its work has a stream of its own, beside what the caller puts on his, and the two wait for each
 * other by events: the host waits for neither.
 */
#ifndef TW_SCHEDULER_SIDE_STREAM_H
#define TW_SCHEDULER_SIDE_STREAM_H

#include "runtime/transport/comm/comm.h"

typedef struct tw_side_stream {
    tw_comm_t             *comm;
    const tw_device_ops_t *ops; /* NULL: host memory, where none of this does more than memcpy() */
    void                  *caller; /* his stream */
    void                  *own;
    tw_device_event_t     *event;
} tw_side_stream_t;

/* As exec says (NULL: host memory). who, such as "tw_buckets_create", begins lines of the log. Local:
 * TW_OK, TW_ERR_UNSUPPORTED, TW_ERR_INVALID_ARG, TW_ERR_NO_MEMORY, TW_ERR_IO. */
tw_status_t tw_side_open(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec,
                         const char *who);

/* Waits for what is left on its stream. A side of zeros is allowed. */
void tw_side_close(tw_side_stream_t *side);

/* Is p, which may be NULL, memory of that kind? TW_OK, TW_ERR_INVALID_ARG (logged; `what` and `name` say
 * whose it is). */
tw_status_t tw_side_check(const tw_side_stream_t *side, const void *p, const char *who,
                          const char *what, const char *name);

/* A buffer of that memory; NULL is allowed in tw_side_put(). TW_OK, TW_ERR_NO_MEMORY. */
tw_status_t tw_side_get(tw_side_stream_t *side, size_t bytes, void **p);
void        tw_side_put(tw_side_stream_t *side, void *p);

/* Later work here begins after what the caller has put on his stream; and the other way round. */
tw_status_t tw_side_after_caller(tw_side_stream_t *side);
tw_status_t tw_side_before_caller(tw_side_stream_t *side);

/* dst and src do not overlap. Where the device fails, here and above, the communicator is dead. */
tw_status_t tw_side_copy(tw_side_stream_t *side, void *dst, const void *src, size_t bytes);

#endif /* TW_SCHEDULER_SIDE_STREAM_H */
