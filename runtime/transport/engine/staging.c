/* SPDX-License-Identifier: BSD-3-Clause
 * transport/engine/staging.c - codes between device memory and MPI.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "runtime/transport/engine/staging.h"
#include "runtime/transport/engine/progress.h"

/* ---- making and releasing ------------------------------------------------------------------- */

static void tw_staging_put(tw_comm_t *comm, tw_op_device_t *device)
{
    for (int l = 0; l < device->lanes; l++) {
        tw_comm_device_event_put(comm, device->lane[l].order);
        tw_comm_device_event_put(comm, device->lane[l].done);
    }
    tw_comm_device_put(comm, TW_DEVICE_MEMORY, device->memory);
    tw_comm_device_put(comm, TW_DEVICE_PINNED, device->pinned);
    tw_pool_put(&comm->pool, device);
}

static tw_status_t tw_staging_events(tw_comm_t *comm, tw_op_device_t *device)
{
    tw_status_t status = TW_OK;

    for (int l = 0; l < device->lanes && status == TW_OK; l++) {
        status = tw_comm_device_event_get(comm, &device->lane[l].order);
        if (status == TW_OK) {
            status = tw_comm_device_event_get(comm, &device->lane[l].done);
        }
    }
    return status;
}

/* The struct, and behind it the lists of the lanes. */
static tw_status_t tw_staging_lists(tw_comm_t *comm, int lanes, int messages,
                                    tw_op_device_t **device_p)
{
    const size_t    each = (size_t)messages * (sizeof(tw_range_t) + sizeof(tw_held_t));
    tw_op_device_t *device;
    uint8_t        *at;
    void           *buffer;

    if (tw_pool_get(&comm->pool, sizeof(*device) + (size_t)lanes * each, &buffer) != TW_OK) {
        return TW_ERR_NO_MEMORY;
    }
    device  = buffer;
    at      = (uint8_t *)buffer + sizeof(*device);
    *device = (tw_op_device_t){.lanes = lanes};
    for (int l = 0; l < lanes; l++) {
        device->lane[l].capacity = messages;
        device->lane[l].ranges   = (tw_range_t *)(void *)at;
        at += (size_t)messages * sizeof(tw_range_t);
        device->lane[l].held = (tw_held_t *)(void *)at;
        at += (size_t)messages * sizeof(tw_held_t);
    }
    *device_p = device;
    return TW_OK;
}

tw_status_t tw_staging_create(tw_request_t *op, int lanes, size_t codes, size_t sum, int messages)
{
    tw_comm_t      *comm = op->comm;
    tw_op_device_t *device;
    tw_status_t     status = tw_staging_lists(comm, lanes, messages, &device);

    if (status != TW_OK) {
        return status;
    }
    status = tw_staging_events(comm, device);
    if (status == TW_OK) {
        status = tw_comm_device_get(comm, TW_DEVICE_MEMORY, (size_t)lanes * (codes + sum),
                                    &device->memory);
    }
    if (status == TW_OK && !comm->device->direct) {
        status = tw_comm_device_get(comm, TW_DEVICE_PINNED, (size_t)lanes * codes, &device->pinned);
    }
    if (status != TW_OK) {
        TW_ERROR(&comm->log,
                 "device %d has no %zu bytes, or the host no pinned memory of that size: %s",
                 comm->device->number, (size_t)lanes * (codes + sum), tw_status_text(status));
        tw_staging_put(comm, device);
        return status;
    }
    op->device = device;
    return TW_OK;
}

void tw_staging_carve(tw_request_t *op, size_t codes, size_t sum)
{
    uint8_t *memory = op->device->memory, *pinned = op->device->pinned;

    for (int l = 0; l < op->lanes; l++) {
        tw_lane_t *lane = &op->lane[l];

        lane->device         = &op->device->lane[l];
        lane->device->mirror = pinned;
        lane->codes          = memory;
        lane->sum            = memory + codes;
        memory += codes + sum;
        pinned = pinned != NULL ? pinned + codes : NULL;
    }
}

void tw_staging_release(tw_request_t *op)
{
    if (op->device != NULL) {
        tw_staging_put(op->comm, op->device);
        op->device = NULL;
    }
}

/* ---- what messages may carry as it stands ---------------------------------------------------- */

static tw_range_t *tw_range_find(tw_lane_device_t *device, size_t first, size_t size)
{
    for (int i = 0; i < device->range_count; i++) {
        tw_range_t *range = &device->ranges[i];

        if (first >= range->first && first + size <= range->first + range->bytes) {
            return range;
        }
    }
    return NULL;
}

static tw_range_t *tw_range_add(tw_lane_device_t *device, size_t first, size_t size)
{
    tw_range_t *range = &device->ranges[device->range_count++];

    assert(device->range_count <= device->capacity);
    *range = (tw_range_t){.first = first, .bytes = size};
    return range;
}

void tw_staging_written(tw_request_t *op, const void *codes, size_t size)
{
    for (int l = 0; l < op->lanes; l++) {
        tw_lane_device_t *device = &op->device->lane[l];
        const uintptr_t   base   = (uintptr_t)op->lane[l].codes;
        const uintptr_t   from = (uintptr_t)codes, to = from + size;

        for (int i = device->range_count - 1; i >= 0; i--) {
            const tw_range_t *range = &device->ranges[i];

            if (from < base + range->first + range->bytes && base + range->first < to) {
                device->ranges[i] = device->ranges[--device->range_count];
            }
        }
    }
}

/* Copy codes out behind the work that makes them. */
static tw_status_t tw_staging_copy_out(tw_request_t *op, tw_lane_t *lane, size_t first, size_t size)
{
    const tw_comm_device_t *on     = op->comm->device;
    tw_lane_device_t       *device = lane->device;
    tw_status_t             status = on->ops->record(device->order->event, op->exec.stream);

    if (status == TW_OK) {
        status = on->ops->follow(on->out, device->order->event);
    }
    if (status == TW_OK) {
        status = on->ops->copy(device->mirror + first, lane->codes + first, size, on->out);
    }
    device->copied = true;
    return tw_comm_device_failed(op->comm, status, "a copy from it");
}

const void *tw_staging_send(tw_request_t *op, tw_lane_t *lane, const tw_held_t *message,
                            tw_status_t *status_p)
{
    tw_lane_device_t *device = lane->device;
    const size_t      first  = (size_t)((const uint8_t *)message->bytes - lane->codes);
    const uint8_t    *base   = device->mirror != NULL ? device->mirror : lane->codes;
    const tw_range_t *range  = tw_range_find(device, first, message->size);

    *status_p = TW_OK;
    if (range != NULL && range->received) {
        return base + first;
    }
    if (range == NULL && device->mirror != NULL) {
        *status_p = tw_staging_copy_out(op, lane, first, message->size);
        tw_range_add(device, first, message->size);
    }
    assert(device->held_count < device->capacity);
    device->held[device->held_count]         = *message;
    device->held[device->held_count++].bytes = base + first;
    return NULL;
}

void *tw_staging_recv(tw_lane_t *lane, int stage, void *bytes, size_t size)
{
    tw_lane_device_t *device = lane->device;
    const size_t      first  = (size_t)((uint8_t *)bytes - lane->codes);
    tw_range_t       *range;

    if (size == 0) {
        return bytes;
    }
    range           = tw_range_add(device, first, size);
    range->stage    = stage;
    range->received = true;
    return (device->mirror != NULL ? device->mirror : lane->codes) + first;
}

tw_status_t tw_staging_arrived(tw_request_t *op, tw_lane_t *lane)
{
    const tw_comm_device_t *on     = op->comm->device;
    tw_lane_device_t       *device = lane->device;
    tw_status_t             status = TW_OK;
    bool                    any    = false;

    for (int i = 0; i < device->range_count && device->mirror != NULL && status == TW_OK; i++) {
        tw_range_t *range = &device->ranges[i];

        if (range->received && !range->uploaded && range->stage == lane->stage) {
            status = on->ops->copy(lane->codes + range->first, device->mirror + range->first,
                                   range->bytes, on->in);
            range->uploaded = any = true;
        }
    }
    if (any && status == TW_OK) {
        status = on->ops->record(device->order->event, on->in);
    }
    if (any && status == TW_OK) {
        status             = on->ops->follow(op->exec.stream, device->order->event);
        op->device->worked = true;
    }
    return tw_comm_device_failed(op->comm, status, "a copy to it");
}

/* ---- steps ---------------------------------------------------------------------------------- */

void tw_staging_round(tw_lane_t *lane)
{
    lane->device->range_count = 0;
}

void tw_staging_begin(tw_request_t *op, tw_lane_t *lane)
{
    op->device->worked   = false;
    lane->device->copied = false;
}

tw_status_t tw_staging_end(tw_request_t *op, tw_lane_t *lane)
{
    const tw_comm_device_t *on     = op->comm->device;
    tw_lane_device_t       *device = lane->device;
    void                   *stream = op->exec.stream;
    tw_status_t             status = TW_OK;

    if (!op->device->worked && !device->copied) {
        return TW_OK;
    }
    if (device->copied) { /* behind the copies, and behind the rest of the work */
        status = on->ops->record(device->order->event, stream);
        if (status == TW_OK) {
            status = on->ops->follow(on->out, device->order->event);
        }
        stream = on->out;
    }
    if (status == TW_OK) {
        status = on->ops->record(device->done->event, stream);
    }
    device->pending = status == TW_OK;
    return tw_comm_device_failed(op->comm, status, "an event");
}

/* ---- the node's memory ----------------------------------------------------------------------- */

uint8_t *tw_lane_room(const tw_request_t *op, const tw_lane_t *lane, int local)
{
    const uint64_t ticket = tw_lane_ticket(op, lane);

    return lane->device != NULL ? tw_device_slot(&op->comm->device->slots, local, ticket)
                                : tw_node_data(op->comm->node, local, ticket);
}

void tw_lane_raise(tw_request_t *op, tw_lane_t *lane, unsigned phase)
{
    if (lane->device != NULL) {
        lane->device->phase = phase;
    } else {
        tw_node_raise(op->comm->node, tw_lane_ticket(op, lane), phase);
    }
}

void tw_lane_done(tw_request_t *op, tw_lane_t *lane)
{
    if (lane->device != NULL) {
        lane->device->complete = true;
    } else {
        tw_node_complete(op->comm->node, tw_lane_ticket(op, lane));
    }
}

/* The work of the step is done. */
static void tw_staging_say(tw_request_t *op, const tw_lane_t *lane)
{
    tw_lane_device_t *device = lane->device;
    const uint64_t    ticket = tw_lane_ticket(op, lane);

    if (device->phase > 0) {
        tw_node_raise(op->comm->node, ticket, device->phase);
    }
    if (device->complete) {
        tw_node_complete(op->comm->node, ticket);
    }
    device->phase    = 0;
    device->complete = false;
}

bool tw_staging_ready(tw_request_t *op, tw_lane_t *lane, tw_status_t *status_p)
{
    tw_lane_device_t *device = lane->device;
    bool              done   = true;

    *status_p = TW_OK;
    if (device->pending) {
        *status_p = tw_comm_device_failed(
            op->comm, op->comm->device->ops->query(device->done->event, &done), "its work");
        if (*status_p != TW_OK || !done) {
            return false;
        }
        device->pending = false;
    }
    for (int i = 0; i < device->held_count && *status_p == TW_OK; i++) {
        *status_p = tw_lane_post(op, lane, &device->held[i]);
    }
    device->held_count = 0;
    tw_staging_say(op, lane);
    return *status_p == TW_OK;
}
