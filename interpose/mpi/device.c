/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/device.c - see device.h.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/mpi/device.h"
#include "interpose/state.h"
#include "runtime/transport/comm/settings.h"
#include "runtime/transport/device/device.h"

typedef struct tw_device_buffer {
    struct tw_device_buffer *next;
    void                    *p;
    size_t                   capacity;
    bool                     used;
} tw_device_buffer_t;

#define TW_DEVICE_STEP ((size_t)64 << 10) /* capacities are multiples of it */

static const tw_device_ops_t *const tw_ops = &tw_device_cuda;

static tw_device_t    *tw_devices;                                 /* newest first; they stay */
static pthread_mutex_t tw_device_lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and of buffers */

void tw_device_check(MPI_Comm comm, tw_status_t status)
{
    if (status != TW_OK) {
        tw_give_up(comm, "a device failed in a compressed call: %s", tw_status_text(status));
    }
}

bool tw_device_gone(tw_device_t *device)
{
    if (!device->gone && device->mark != NULL &&
        tw_owner_cuda_id(device->mark) != device->mark_id) {
        device->gone = true;
    }
    return device->gone;
}

void tw_device_enter(MPI_Comm comm, tw_device_t *device)
{
    if (device != NULL && !tw_device_gone(device)) {
        tw_device_check(comm, tw_ops->push(device->context));
    }
}

void tw_device_leave(const tw_device_t *device)
{
    if (device != NULL && !device->gone) {
        tw_ops->pop();
    }
}

tw_status_t tw_device_order(const tw_device_t *device)
{
    const tw_status_t status = tw_ops->record(device->before, NULL);

    return status == TW_OK ? tw_ops->follow(device->stream, device->before) : status;
}

/* ---- buffers
 * ---------------------------------------------------------------------------------- */

/* The smallest idle one that is large enough; if there is none, the largest idle one in
 * *other_p. */
static tw_device_buffer_t *tw_device_idle(tw_device_buffer_t *list, size_t bytes,
                                          tw_device_buffer_t **other_p)
{
    tw_device_buffer_t *best = NULL;

    *other_p = NULL;
    for (tw_device_buffer_t *b = list; b != NULL; b = b->next) {
        if (b->used) {
            continue;
        }
        if (b->capacity >= bytes && (best == NULL || b->capacity < best->capacity)) {
            best = b;
        } else if (b->capacity < bytes &&
                   (*other_p == NULL || b->capacity > (*other_p)->capacity)) {
            *other_p = b;
        }
    }
    return best;
}

/* Under the lock. One that is too small gives way to a larger one, so that sizes that grow leave
 * nothing behind. */
static tw_device_buffer_t *tw_device_make(tw_device_t *device, tw_device_memory_t kind,
                                          size_t bytes, tw_device_buffer_t *b)
{
    if (b == NULL) {
        b = calloc(1, sizeof(*b));
        if (b == NULL) {
            return NULL;
        }
        b->next               = device->buffers[kind];
        device->buffers[kind] = b;
    } else if (b->p != NULL) {
        tw_ops->release(kind, b->p);
    }
    b->p        = NULL;
    b->capacity = (bytes + TW_DEVICE_STEP - 1) / TW_DEVICE_STEP * TW_DEVICE_STEP;
    if (tw_ops->allocate(kind, b->capacity, &b->p) != TW_OK) {
        b->p        = NULL;
        b->capacity = 0;
        return NULL;
    }
    return b;
}

tw_status_t tw_device_get(tw_device_t *device, tw_device_memory_t kind, size_t bytes, void **p)
{
    tw_device_buffer_t *b, *other;

    pthread_mutex_lock(&tw_device_lock);
    b = tw_device_idle(device->buffers[kind], bytes, &other);
    if (b == NULL) {
        b = tw_device_make(device, kind, bytes, other);
    }
    if (b != NULL) {
        b->used = true;
        *p      = b->p;
    }
    pthread_mutex_unlock(&tw_device_lock);
    return b != NULL ? TW_OK : TW_ERR_NO_MEMORY;
}

void tw_device_put(tw_device_t *device, tw_device_memory_t kind, void *p)
{
    pthread_mutex_lock(&tw_device_lock);
    for (tw_device_buffer_t *b = device->buffers[kind]; p != NULL && b != NULL; b = b->next) {
        if (b->p == p) {
            b->used = false;
            break;
        }
    }
    pthread_mutex_unlock(&tw_device_lock);
}

/* ---- devices
 * ---------------------------------------------------------------------------------- */

/* THINWIRE_DEVICE_PATH, and what MPI says of itself; MPI libraries that say nothing take none. */
static bool tw_device_direct(MPI_Comm comm)
{
    tw_transport_config_t config = {.device_path = TW_DEVICE_PATH_AUTO};
    int (*query)(void)           = NULL;
    bool aware;

    *(void **)&query = tw_late_symbol("MPIX_Query_cuda_support");
    aware            = query != NULL && query() != 0;
    if (tw_settings_load(&tw_state.context.log, &tw_transport_settings, &config) == TW_OK &&
        config.device_path == TW_DEVICE_PATH_DIRECT && query != NULL && !aware) {
        tw_give_up(comm, "THINWIRE_DEVICE_PATH is direct, but this MPI library takes no device "
                         "memory; accepted: staged, auto");
    }
    return config.device_path == TW_DEVICE_PATH_DIRECT ||
           (config.device_path == TW_DEVICE_PATH_AUTO && aware);
}

/* Does this device run our kernels? It may be older than those that they were compiled for. */
static bool tw_device_runs(tw_device_t *device)
{
    tw_status_t status = tw_ops->allocate(TW_DEVICE_MEMORY, sizeof(float), &device->mark);

    if (status != TW_OK) {
        device->mark = NULL;
        return false;
    }
    device->mark_id = tw_owner_cuda_id(device->mark);
    status          = tw_ops->zero(device->mark, sizeof(float), device->stream);
    status = status == TW_OK ? tw_ops->divide(device->mark, 1, sizeof(float), 1, device->stream)
                             : status;
    return status == TW_OK && tw_ops->finish(device->stream) == TW_OK;
}

/* Under the lock. A runtime that needs a newer driver leaves the program's memory to MPI. */
static tw_device_t *tw_device_open(MPI_Comm comm, void *context)
{
    tw_device_t *device = calloc(1, sizeof(*device));
    tw_status_t  status;

    if (device == NULL) {
        tw_give_up(comm, "no memory for a device");
    }
    device->context = context;
    tw_device_enter(comm, device);
    status = tw_ops->stream_create(&device->stream);
    if (status != TW_ERR_UNSUPPORTED) {
        status = status == TW_OK ? tw_ops->event_create(&device->before) : status;
        tw_device_check(comm, status);
        device->usable  = true;
        device->kernels = tw_device_runs(device);
        device->direct  = tw_device_direct(comm);
    }
    tw_device_leave(device);
    device->next = tw_devices;
    tw_devices   = device;
    return device;
}

static tw_device_t *tw_device_in(MPI_Comm comm, void *context)
{
    tw_device_t *device;

    pthread_mutex_lock(&tw_device_lock);
    device = tw_devices;
    while (device != NULL && (device->context != context || tw_device_gone(device))) {
        device = device->next;
    }
    if (device == NULL) {
        device = tw_device_open(comm, context);
    }
    pthread_mutex_unlock(&tw_device_lock);
    return device;
}

tw_owner_t tw_device_find(MPI_Comm comm, const void *buffer, tw_device_t **device_p)
{
    const tw_owner_t owner   = tw_owner_of(buffer);
    void            *context = NULL;
    tw_status_t      status;

    *device_p = NULL;
    if (owner != TW_OWNER_CUDA) {
        return owner;
    }
    status = tw_ops->context != NULL ? tw_ops->context(buffer, &context) : TW_ERR_UNSUPPORTED;
    if (status == TW_ERR_UNSUPPORTED) {
        return TW_OWNER_UNKNOWN;
    }
    tw_device_check(comm, status);
    *device_p = tw_device_in(comm, context);
    if (!(*device_p)->usable) {
        *device_p = NULL;
        return TW_OWNER_UNKNOWN;
    }
    return TW_OWNER_CUDA;
}

tw_device_t *tw_device_of(MPI_Comm comm, const void *buffer)
{
    tw_device_t *device;

    if (tw_device_find(comm, buffer, &device) == TW_OWNER_UNKNOWN) {
        tw_give_up(comm, "a device no longer says whose memory a buffer is");
    }
    return device;
}

void tw_device_copy(MPI_Comm comm, tw_device_t *device, void *dst, const void *src, size_t bytes)
{
    if (bytes > 0) {
        tw_device_enter(comm, device);
        tw_device_check(comm, tw_device_order(device));
        tw_device_check(comm, tw_ops->copy(dst, src, bytes, device->stream));
        tw_device_check(comm, tw_ops->finish(device->stream));
        tw_device_leave(device);
    }
}

static void tw_device_drop_buffers(tw_device_t *device, tw_device_memory_t kind)
{
    while (device->buffers[kind] != NULL) {
        tw_device_buffer_t *b = device->buffers[kind];

        device->buffers[kind] = b->next;
        if (b->p != NULL && !device->gone) {
            tw_ops->release(kind, b->p);
        }
        free(b);
    }
}

void tw_devices_stop(void)
{
    while (tw_devices != NULL) {
        tw_device_t *device = tw_devices;

        tw_devices = device->next;
        if (device->usable && !tw_device_gone(device)) {
            device->gone = tw_ops->push(device->context) != TW_OK;
        }
        tw_device_drop_buffers(device, TW_DEVICE_MEMORY);
        tw_device_drop_buffers(device, TW_DEVICE_PINNED);
        if (device->usable && !device->gone) {
            if (device->mark != NULL) {
                tw_ops->release(TW_DEVICE_MEMORY, device->mark);
            }
            tw_ops->event_destroy(device->before);
            tw_ops->stream_destroy(device->stream);
            tw_ops->pop();
        }
        free(device);
    }
}
