/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/side_stream.c - see side_stream.h. The progress thread uses the device, too, so each
 * call here holds the communicator's lock.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "runtime/scheduler/side_stream.h"
#include "runtime/transport/engine/staging.h"
#include "runtime/transport/comm/progress_thread.h"

tw_status_t tw_side_open(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec)
{
    tw_status_t status;

    *side = (tw_side_stream_t){.comm = comm, .open = true, .given = exec != NULL};
    if (exec != NULL) {
        side->exec = *exec;
    }
    tw_comm_enter(comm);
    comm->requests++;
    if (exec == NULL || exec->memory != TW_MEMORY_CUDA) {
        tw_comm_leave(comm);
        return TW_OK;
    }
    status = tw_comm_device_open(comm);
    if (status == TW_OK) {
        side->ops    = comm->device->ops;
        side->caller = exec->stream;
    }
    tw_comm_leave(comm);
    return status;
}

tw_status_t tw_side_open_own(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec,
                             const char *who)
{
    tw_status_t status = tw_side_open(side, comm, exec);

    if (status == TW_OK && side->ops != NULL) {
        tw_comm_enter(comm);
        status = side->ops->stream_create(&side->own);
        if (status != TW_OK) {
            TW_ERROR(&comm->log, "%s: device %d gives no stream", who, comm->device->number);
            side->own = NULL;
        }
        side->exec.stream = side->own;
        tw_comm_leave(comm);
    }
    return status;
}

/* The device's pool of a kind of memory; -1: the communicator's. */
static int tw_side_pool(const tw_side_stream_t *side, tw_side_kind_t kind)
{
    return side->ops == NULL || kind == TW_SIDE_HOST ? -1
           : kind == TW_SIDE_PINNED                  ? (int)TW_DEVICE_PINNED
                                                     : (int)TW_DEVICE_MEMORY;
}

static void tw_side_put(tw_side_stream_t *side)
{
    while (side->buffers > 0) {
        void *const buffer = side->buffer[--side->buffers];
        const int   pool   = tw_side_pool(side, side->kind[side->buffers]);

        if (pool < 0) {
            tw_pool_put(&side->comm->pool, buffer);
        } else {
            tw_comm_device_put(side->comm, (tw_device_memory_t)pool, buffer);
        }
    }
}

void tw_side_close(tw_side_stream_t *side)
{
    tw_comm_t *comm = side->comm;

    if (!side->open) {
        return;
    }
    tw_comm_enter(comm);
    if (side->own != NULL) {
        side->ops->finish(side->own);
    }
    if (side->ops != NULL) {
        side->ops->finish(side->caller);
    }
    while (side->events != NULL) {
        tw_device_event_t *event = side->events;

        side->events = event->next;
        tw_comm_device_event_put(comm, event);
    }
    if (comm->status == TW_OK) { /* else MPI may still write into them */
        tw_side_put(side);
    }
    if (side->own != NULL) {
        side->ops->stream_destroy(side->own);
    }
    side->open = false;
    comm->requests--;
    tw_comm_leave(comm);
}

bool tw_side_has(const tw_side_stream_t *side, const void *p)
{
    const tw_device_ops_t *ops = side->comm->device->ops;

    return p == NULL || (side->ops != NULL ? ops->check(p) == TW_OK : !ops->owns(p, NULL));
}

tw_status_t tw_side_check(const tw_side_stream_t *side, const void *p, const char *who,
                          const char *what, const char *name)
{
    const bool well = tw_side_has(side, p);

    if (!well) {
        TW_ERROR(&side->comm->log, "%s: %s '%.80s' is %s", who, what, name,
                 side->ops != NULL ? "not memory of the device, as exec says"
                                   : "device memory; exec must say TW_MEMORY_CUDA");
    }
    return well ? TW_OK : TW_ERR_INVALID_ARG;
}

static void tw_side_keep(tw_side_stream_t *side, tw_side_kind_t kind, void *buffer)
{
    assert(side->buffers < TW_SIDE_BUFFERS);
    side->kind[side->buffers]     = kind;
    side->buffer[side->buffers++] = buffer;
}

void *tw_side_get(tw_side_stream_t *side, tw_side_kind_t kind, size_t bytes, tw_status_t *status_p)
{
    const int pool   = tw_side_pool(side, kind);
    void     *buffer = NULL;

    if (*status_p != TW_OK || (pool < 0 && kind == TW_SIDE_PINNED)) {
        return NULL;
    }
    tw_comm_enter(side->comm);
    *status_p = pool < 0 ? tw_pool_get(&side->comm->pool, bytes, &buffer)
                         : tw_comm_device_get(side->comm, (tw_device_memory_t)pool, bytes, &buffer);
    tw_comm_leave(side->comm);
    if (*status_p != TW_OK) {
        return NULL;
    }
    tw_side_keep(side, kind, buffer);
    return buffer;
}

tw_device_event_t *tw_side_event(tw_side_stream_t *side, tw_status_t *status_p)
{
    tw_device_event_t *event = NULL;

    if (*status_p == TW_OK && side->ops != NULL) {
        tw_comm_enter(side->comm);
        *status_p = tw_comm_device_event_get(side->comm, &event);
        tw_comm_leave(side->comm);
    }
    if (event != NULL) {
        event->next  = side->events;
        side->events = event;
    }
    return event;
}

tw_status_t tw_side_agreed_get(tw_side_stream_t *side, tw_status_t mine, size_t bytes, void **p)
{
    mine = tw_comm_agreed_get_if(side->comm, mine, bytes, p);
    if (mine == TW_OK) {
        tw_side_keep(side, TW_SIDE_HOST, *p);
    }
    return mine;
}

tw_status_t tw_side_mark(const tw_side_stream_t *side, tw_device_event_t *event)
{
    tw_status_t status = TW_OK;

    if (event != NULL) {
        tw_comm_enter(side->comm);
        status = tw_comm_device_failed(side->comm, side->ops->record(event->event, side->caller),
                                       "an event");
        tw_comm_leave(side->comm);
    }
    return status;
}

tw_status_t tw_side_copy(const tw_side_stream_t *side, void *dst, const void *src, size_t bytes)
{
    tw_status_t status = TW_OK;

    if (bytes > 0 && side->ops == NULL) {
        memcpy(dst, src, bytes);
    } else if (bytes > 0) {
        tw_comm_enter(side->comm);
        status = tw_comm_device_failed(side->comm, side->ops->copy(dst, src, bytes, side->caller),
                                       "a copy");
        tw_comm_leave(side->comm);
    }
    return status;
}

tw_status_t tw_side_zero(const tw_side_stream_t *side, void *dst, size_t bytes)
{
    tw_status_t status = TW_OK;

    if (bytes > 0 && side->ops == NULL) {
        memset(dst, 0, bytes);
    } else if (bytes > 0) {
        tw_comm_enter(side->comm);
        status = tw_comm_device_failed(side->comm, side->ops->zero(dst, bytes, side->caller),
                                       "setting it to zero");
        tw_comm_leave(side->comm);
    }
    return status;
}
