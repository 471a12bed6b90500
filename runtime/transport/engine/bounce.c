/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/bounce.c - copies of elements to the host and back.
 */
#include "config.h"

#include "runtime/transport/engine/bounce.h"
#include "runtime/transport/engine/staging.h"

tw_status_t tw_bounce_create(tw_request_t *op, const tw_request_shape_t *shape, void *stream)
{
    tw_comm_t   *comm = op->comm;
    tw_bounce_t *bounce;
    void        *buffer;
    tw_status_t  status = tw_pool_get(&comm->pool, sizeof(*bounce), &buffer);

    if (status != TW_OK) {
        return status;
    }
    bounce  = buffer;
    *bounce = (tw_bounce_t){.stream = stream};
    for (int i = 0; i < 2; i++) {
        bounce->values[i] = shape->values[i];
        bounce->bytes[i]  = shape->values[i] != NULL ? shape->extent[i] * op->element : 0;
    }
    op->bounce = bounce;
    status     = tw_comm_device_event_get(comm, &bounce->event);
    if (status == TW_OK) {
        status = tw_comm_device_get(comm, TW_DEVICE_PINNED, bounce->bytes[0] + bounce->bytes[1],
                                    &bounce->pinned);
    }
    if (status != TW_OK) {
        TW_ERROR(&comm->log, "no %zu bytes of pinned memory: %s",
                 bounce->bytes[0] + bounce->bytes[1], tw_status_text(status));
        tw_bounce_release(op);
        return status;
    }
    bounce->host[0] = bounce->pinned;
    bounce->host[1] = bounce->host[0] + bounce->bytes[0];
    return TW_OK;
}

void tw_bounce_release(tw_request_t *op)
{
    if (op->bounce != NULL) {
        tw_comm_device_event_put(op->comm, op->bounce->event);
        tw_comm_device_put(op->comm, TW_DEVICE_PINNED, op->bounce->pinned);
        tw_pool_put(&op->comm->pool, op->bounce);
        op->bounce = NULL;
    }
}

/* Where a pointer into the caller's buffers has its twin. */
static uint8_t *tw_bounce_twin(const tw_bounce_t *bounce, const uint8_t *p)
{
    for (int i = 0; i < 2; i++) {
        const uintptr_t from = (uintptr_t)bounce->values[i], at = (uintptr_t)p;

        if (from != 0 && at >= from && at <= from + bounce->bytes[i]) {
            return bounce->host[i] + (at - from);
        }
    }
    return (uint8_t *)(uintptr_t)p;
}

void tw_bounce_point(tw_request_t *op)
{
    op->send = tw_bounce_twin(op->bounce, op->send);
    op->recv = tw_bounce_twin(op->bounce, op->recv);
}

static tw_status_t tw_bounce_copy(tw_request_t *op, int i, bool in)
{
    const tw_bounce_t *bounce = op->bounce;
    void              *there  = (void *)(uintptr_t)bounce->values[i];

    if (bounce->bytes[i] == 0) {
        return TW_OK;
    }
    return op->comm->device->ops->copy(in ? bounce->host[i] : there, in ? there : bounce->host[i],
                                       bounce->bytes[i], bounce->stream);
}

static tw_status_t tw_bounce_mark(tw_request_t *op, tw_status_t status)
{
    if (status == TW_OK) {
        status = op->comm->device->ops->record(op->bounce->event->event, op->bounce->stream);
    }
    return tw_comm_device_failed(op->comm, status, "a copy of values");
}

/* The receive buffer too: there may be gaps in it, and input. */
tw_status_t tw_bounce_begin(tw_request_t *op)
{
    tw_status_t status = tw_bounce_copy(op, 0, true);

    if (status == TW_OK) {
        status = tw_bounce_copy(op, 1, true);
    }
    op->bounce->state = TW_BOUNCE_IN;
    return tw_bounce_mark(op, status);
}

static bool tw_bounce_done(tw_request_t *op, tw_status_t *status_p)
{
    bool done = false;

    *status_p = tw_comm_device_failed(op->comm,
                                      op->comm->device->ops->query(op->bounce->event->event, &done),
                                      "a copy of values");
    return *status_p == TW_OK && done;
}

bool tw_bounce_in(tw_request_t *op, tw_status_t *status_p)
{
    if (op->bounce->state == TW_BOUNCE_IN && tw_bounce_done(op, status_p)) {
        op->bounce->state = TW_BOUNCE_RUNS;
    }
    return op->bounce->state != TW_BOUNCE_IN;
}

bool tw_bounce_out(tw_request_t *op, tw_status_t *status_p)
{
    if (op->bounce->state == TW_BOUNCE_RUNS) {
        op->bounce->state = TW_BOUNCE_OUT;
        *status_p         = tw_bounce_mark(op, tw_bounce_copy(op, 1, false));
    }
    return *status_p == TW_OK && op->bounce->state == TW_BOUNCE_OUT && tw_bounce_done(op, status_p);
}
