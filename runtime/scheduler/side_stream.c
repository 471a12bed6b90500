/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/side_stream.c - see side_stream.h. The progress thread uses the device, too, so each
 * call here holds the communicator's lock.
 */
#include "config.h"

#include <string.h>

#include "runtime/scheduler/side_stream.h"
#include "runtime/transport/engine/staging.h"
#include "runtime/transport/comm/progress_thread.h"

tw_status_t tw_side_open(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec)
{
    tw_status_t status;

    *side = (tw_side_stream_t){.comm = comm};
    if (exec == NULL || exec->memory != TW_MEMORY_CUDA) {
        return TW_OK;
    }
    tw_comm_enter(comm);
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
        tw_comm_leave(comm);
    }
    return status;
}

void tw_side_settle(const tw_side_stream_t *side)
{
    if (side->ops != NULL) {
        tw_comm_enter(side->comm);
        if (side->own != NULL) {
            side->ops->finish(side->own);
        }
        side->ops->finish(side->caller);
        tw_comm_leave(side->comm);
    }
}

void tw_side_close(tw_side_stream_t *side)
{
    if (side->own != NULL) {
        tw_comm_enter(side->comm);
        side->ops->stream_destroy(side->own);
        tw_comm_leave(side->comm);
        side->own = NULL;
    }
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

tw_status_t tw_side_get(const tw_side_stream_t *side, size_t bytes, void **p)
{
    tw_status_t status;

    tw_comm_enter(side->comm);
    status = side->ops != NULL ? tw_comm_device_get(side->comm, TW_DEVICE_MEMORY, bytes, p)
                               : tw_pool_get(&side->comm->pool, bytes, p);
    tw_comm_leave(side->comm);
    return status;
}

void tw_side_put(const tw_side_stream_t *side, void *p)
{
    tw_comm_enter(side->comm);
    if (side->ops != NULL) {
        tw_comm_device_put(side->comm, TW_DEVICE_MEMORY, p);
    } else {
        tw_pool_put(&side->comm->pool, p);
    }
    tw_comm_leave(side->comm);
}

tw_status_t tw_side_pinned_get(const tw_side_stream_t *side, size_t bytes, void **p)
{
    tw_status_t status = TW_OK;

    *p = NULL;
    if (side->ops != NULL) {
        tw_comm_enter(side->comm);
        status = tw_comm_device_get(side->comm, TW_DEVICE_PINNED, bytes, p);
        tw_comm_leave(side->comm);
    }
    return status;
}

void tw_side_pinned_put(const tw_side_stream_t *side, void *p)
{
    if (p != NULL) {
        tw_comm_enter(side->comm);
        tw_comm_device_put(side->comm, TW_DEVICE_PINNED, p);
        tw_comm_leave(side->comm);
    }
}

tw_status_t tw_side_event_get(const tw_side_stream_t *side, tw_device_event_t **event_p)
{
    tw_status_t status = TW_OK;

    *event_p = NULL;
    if (side->ops != NULL) {
        tw_comm_enter(side->comm);
        status = tw_comm_device_event_get(side->comm, event_p);
        tw_comm_leave(side->comm);
    }
    return status;
}

void tw_side_event_put(const tw_side_stream_t *side, tw_device_event_t *event)
{
    if (event != NULL) {
        tw_comm_enter(side->comm);
        tw_comm_device_event_put(side->comm, event);
        tw_comm_leave(side->comm);
    }
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
