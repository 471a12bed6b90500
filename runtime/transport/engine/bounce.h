/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/bounce.h - device memory for algorithms that work in host memory: host_only
 * algorithms, reductions that are not fused, and algorithms in a node's memory without device slots
 * (slots.h). The elements are copied to pinned memory before the first round, and the result back
 * to the device after the last. Nothing blocks: the engine polls an event after each copy.
 *
 * So the algorithm of a call never depends on the memory type of a rank's buffers.
 */
#ifndef TW_TRANSPORT_ENGINE_BOUNCE_H
#define TW_TRANSPORT_ENGINE_BOUNCE_H

#include "runtime/transport/engine/request.h"

typedef struct tw_bounce {
    const void        *values[2]; /* the caller's buffers in device memory, or NULL */
    uint8_t           *host[2];   /* their copies in pinned memory                */
    size_t             bytes[2];
    void              *pinned;
    void              *stream; /* the caller's */
    tw_device_event_t *event;
    enum { TW_BOUNCE_IN, TW_BOUNCE_RUNS, TW_BOUNCE_OUT } state;
} tw_bounce_t;

/* Allocate pinned memory for the buffers of `shape`. Sets op->bounce. Local: TW_OK,
 * TW_ERR_NO_MEMORY (logged). */
tw_status_t tw_bounce_create(tw_request_t *op, const tw_request_shape_t *shape, void *stream);
void        tw_bounce_release(tw_request_t *op); /* NULL in op->bounce is allowed */

/* Redirect op->send and op->recv from the caller's buffers to pinned memory. */
void tw_bounce_point(tw_request_t *op);

/* The operation starts: begin the copy to pinned memory. */
tw_status_t tw_bounce_begin(tw_request_t *op);

/* Is the copy to pinned memory complete, so that rounds may run? */
bool tw_bounce_in(tw_request_t *op, tw_status_t *status_p);

/* All rounds are complete: is the result back in device memory? */
bool tw_bounce_out(tw_request_t *op, tw_status_t *status_p);

#endif /* TW_TRANSPORT_ENGINE_BOUNCE_H */
