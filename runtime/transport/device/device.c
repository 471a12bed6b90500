/* SPDX-License-Identifier: BSD-3-Clause
 * transport/device/device.c - streams, memory and events of a communicator on a device.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/endpoint.h"
#include "runtime/transport/device/device.h"

struct tw_device_buf {
    struct tw_device_buf *next;
    void                 *p;
    size_t                capacity;
    bool                  used;
};

void tw_comm_device_init(tw_comm_t *comm)
{
    *comm->device = (tw_comm_device_t){.ops = &tw_device_cuda, .aware = TW_DEVICE_NOT_ASKED};
    comm->device->pool[TW_DEVICE_MEMORY].limit = UINT64_MAX;
    comm->device->pool[TW_DEVICE_PINNED].limit = UINT64_MAX;
}

tw_status_t tw_comm_device_failed(tw_comm_t *comm, tw_status_t status, const char *what)
{
    if (status != TW_OK && comm->status == TW_OK) {
        TW_ERROR(&comm->log, "device %d failed (%s) in %s; the communicator is dead",
                 comm->device->number, tw_status_text(status), what);
        comm->status = status;
    }
    return status;
}

bool tw_comm_device_owns(const tw_comm_t *comm, const void *const *values)
{
    return comm->device->ops->owns(values[0], values[1]);
}

/* THINWIRE_DEVICE_PATH and what MPI can do. */
static tw_status_t tw_device_path(tw_comm_t *comm)
{
    if (comm->device->aware == TW_DEVICE_NOT_ASKED) {
        comm->device->aware = comm->endpoint->aware(comm);
    }
    comm->device->direct =
        comm->config.device_path == TW_DEVICE_PATH_DIRECT ||
        (comm->config.device_path == TW_DEVICE_PATH_AUTO && comm->device->aware == 1);
    if (comm->device->direct && comm->device->aware == 0) {
        TW_ERROR(&comm->log,
                 "THINWIRE_DEVICE_PATH is direct, but THINWIRE_TRANSPORT=%s takes no device "
                 "memory here; accepted: staged, auto",
                 comm->endpoint->name);
        return TW_ERR_UNSUPPORTED;
    }
    return TW_OK;
}

tw_status_t tw_comm_device_open(tw_comm_t *comm)
{
    tw_comm_device_t *device = comm->device;
    int               number = 0;
    tw_status_t       status = device->ops->current(&number);

    if (status != TW_OK) {
        TW_ERROR(&comm->log, "a call with device memory: %s",
                 strcmp(device->ops->name, "none") == 0 ? "thinwire was built without CUDA"
                                                        : "there is no device that works");
        return status;
    }
    if (device->open && number != device->number) {
        TW_ERROR(&comm->log, "device %d is current; this communicator's calls are on device %d",
                 number, device->number);
        return TW_ERR_INVALID_ARG;
    }
    if (device->open) {
        return TW_OK;
    }
    status = tw_device_path(comm);
    if (status != TW_OK) {
        return status;
    }
    status = device->ops->stream_create(&device->out);
    if (status == TW_OK) {
        status = device->ops->stream_create(&device->in);
        if (status != TW_OK) {
            device->ops->stream_destroy(device->out);
        }
    }
    if (status != TW_OK) {
        TW_ERROR(&comm->log, "device %d gives no stream%s", number,
                 status == TW_ERR_UNSUPPORTED ? ": kernels need compute capability 8.0 or later"
                                              : "");
        return status;
    }
    device->number = number;
    device->open   = true;
    return TW_OK;
}

void tw_comm_device_close(tw_comm_t *comm)
{
    tw_comm_device_t *device = comm->device;
    int               before;

    if (!device->open) {
        return;
    }
    (void)tw_comm_device_enter(comm, &before);
    for (int kind = 0; kind < 2; kind++) {
        while (device->pool[kind].bufs != NULL) {
            struct tw_device_buf *buf = device->pool[kind].bufs;

            device->pool[kind].bufs = buf->next;
            device->ops->release((tw_device_memory_t)kind, buf->p);
            free(buf);
        }
    }
    while (device->events != NULL) {
        tw_device_event_t *event = device->events;

        device->events = event->next;
        device->ops->event_destroy(event->event);
        free(event);
    }
    device->ops->stream_destroy(device->out);
    device->ops->stream_destroy(device->in);
    tw_comm_device_leave(comm, before);
    device->open = false;
}

tw_status_t tw_comm_device_enter(tw_comm_t *comm, int *before_p)
{
    *before_p = -1;
    return comm->device->open ? comm->device->ops->use(comm->device->number, before_p) : TW_OK;
}

void tw_comm_device_leave(tw_comm_t *comm, int before)
{
    if (before >= 0) {
        (void)comm->device->ops->use(before, NULL);
    }
}

/* The smallest idle buffer that is large enough, or NULL. */
static struct tw_device_buf *tw_device_idle(const tw_device_pool_t *pool, size_t bytes)
{
    struct tw_device_buf *best = NULL;

    for (struct tw_device_buf *buf = pool->bufs; buf != NULL; buf = buf->next) {
        if (!buf->used && buf->capacity >= bytes &&
            (best == NULL || buf->capacity < best->capacity)) {
            best = buf;
        }
    }
    return best;
}

/* Rounded up to four steps between powers of two, so that buffers serve many shapes. */
static size_t tw_device_round(size_t bytes)
{
    size_t step = 256;

    while (step <= SIZE_MAX / 16 && 8 * step <= bytes) {
        step *= 2;
    }
    return bytes > SIZE_MAX / 4 ? bytes : (bytes + step - 1) / step * step;
}

tw_status_t tw_comm_device_get(tw_comm_t *comm, tw_device_memory_t kind, size_t bytes, void **p)
{
    tw_device_pool_t     *pool = &comm->device->pool[kind];
    struct tw_device_buf *buf;
    tw_status_t           status;

    bytes = tw_device_round(bytes > 0 ? bytes : 1);
    buf   = tw_device_idle(pool, bytes);
    if (buf == NULL) {
        if (bytes > pool->limit - pool->bytes || (buf = calloc(1, sizeof(*buf))) == NULL) {
            return TW_ERR_NO_MEMORY;
        }
        status = comm->device->ops->allocate(kind, bytes, &buf->p);
        if (status != TW_OK) {
            free(buf);
            return status;
        }
        buf->capacity = bytes;
        buf->next     = pool->bufs;
        pool->bufs    = buf;
        pool->bytes += bytes;
        comm->pool.allocations++;
    }
    buf->used = true;
    *p        = buf->p;
    return TW_OK;
}

void tw_comm_device_put(tw_comm_t *comm, tw_device_memory_t kind, void *p)
{
    for (struct tw_device_buf *buf = comm->device->pool[kind].bufs; p != NULL && buf != NULL;
         buf                       = buf->next) {
        if (buf->p == p) {
            buf->used = false;
            return;
        }
    }
}

tw_status_t tw_comm_device_event_get(tw_comm_t *comm, tw_device_event_t **event_p)
{
    tw_device_event_t *event  = comm->device->events;
    tw_status_t        status = TW_ERR_NO_MEMORY;

    if (event != NULL) {
        comm->device->events = event->next;
    } else {
        event  = calloc(1, sizeof(*event));
        status = event != NULL ? comm->device->ops->event_create(&event->event) : status;
        if (status != TW_OK) {
            free(event);
            return status;
        }
    }
    *event_p = event;
    return TW_OK;
}

void tw_comm_device_event_put(tw_comm_t *comm, tw_device_event_t *event)
{
    if (event != NULL) {
        event->next          = comm->device->events;
        comm->device->events = event;
    }
}
