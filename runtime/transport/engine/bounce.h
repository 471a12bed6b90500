/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/bounce.h - device memory for algorithms that work in host memory
 * (tw_algorithm_ops_t.host_only, and those in a node's memory where no slots of devices serve,
 * slots.h): the elements themselves are copied to pinned memory before the first round, and what
 * was received back to the device after the last. Nothing waits: the engine polls an event at
 * either end.
 *
 * So the algorithm of a call never depends on where a rank's buffers are.
 */
#ifndef TW_TRANSPORT_ENGINE_BOUNCE_H
#define TW_TRANSPORT_ENGINE_BOUNCE_H

#include "runtime/transport/engine/request.h"

typedef struct tw_bounce {
    const void        *values[2]; /* of the caller, in device memory; NULL: none  */
    uint8_t           *host[2];   /* the same in pinned memory                    */
    size_t             bytes[2];
    void              *pinned;
    void              *stream; /* of the caller */
    tw_device_event_t *event;
    enum { TW_BOUNCE_IN, TW_BOUNCE_RUNS, TW_BOUNCE_OUT } state;
} tw_bounce_t;

/* Room for what shape names. Sets op->bounce. Local: TW_OK, TW_ERR_NO_MEMORY (logged). */
tw_status_t tw_bounce_create(tw_request_t *op, const tw_request_shape_t *shape, void *stream);
void        tw_bounce_release(tw_request_t *op); /* NULL in op->bounce is allowed */

/* op->send and op->recv, which point into the caller's buffers, into ours instead. */
void tw_bounce_point(tw_request_t *op);

/* The operation starts: copy in. */
tw_status_t tw_bounce_begin(tw_request_t *op);

/* May rounds run? */
bool tw_bounce_in(tw_request_t *op, tw_status_t *status_p);

/* All rounds are done: is the result back? */
bool tw_bounce_out(tw_request_t *op, tw_status_t *status_p);

#endif /* TW_TRANSPORT_ENGINE_BOUNCE_H */
