/* SPDX-License-Identifier: BSD-3-Clause
 * scheduler/side_stream.c - see side_stream.h. The progress thread drives the device as well, so that
 * each call here has the communicator to itself.
 */
#include "config.h"

#include <string.h>

#include "runtime/scheduler/side_stream.h"
#include "runtime/transport/device/staging.h"
#include "runtime/transport/engine/progress_thread.h"

tw_status_t tw_side_open(tw_side_stream_t *side, tw_comm_t *comm, const tw_exec_t *exec,
                         const char *who)
{
    tw_status_t status;

    *side = (tw_side_stream_t){.comm = comm};
    if (exec == NULL || exec->memory != TW_MEMORY_CUDA) {
        return TW_OK;
    }
    tw_comm_enter(comm);
    status = tw_comm_device_open(comm);
    if (status == TW_OK) {
        status = comm->device.ops->stream_create(&side->own);
        if (status == TW_OK) {
            status = tw_comm_device_event_get(comm, &side->event);
            if (status != TW_OK) {
                comm->device.ops->stream_destroy(side->own);
            }
        }
        if (status != TW_OK) {
            TW_ERROR(&comm->log, "%s: device %d gives no stream", who, comm->device.number);
        }
    }
    if (status == TW_OK) {
        side->ops    = comm->device.ops;
        side->caller = exec->stream;
    }
    tw_comm_leave(comm);
    return status;
}

void tw_side_close(tw_side_stream_t *side)
{
    if (side->ops == NULL) {
        return;
    }
    tw_comm_enter(side->comm);
    side->ops->finish(side->own);
    side->ops->stream_destroy(side->own);
    tw_comm_device_event_put(side->comm, side->event);
    tw_comm_leave(side->comm);
    side->ops = NULL;
}

tw_status_t tw_side_check(const tw_side_stream_t *side, const void *p, const char *who,
                          const char *what, const char *name)
{
    const tw_device_ops_t *ops = side->comm->device.ops;
    const bool             well =
        p == NULL || (side->ops != NULL ? ops->check(p) == TW_OK : !ops->owns(p, NULL));

    if (!well) {
        TW_ERROR(&side->comm->log, "%s: %s '%.80s' is %s", who, what, name,
                 side->ops != NULL ? "not memory of the device, as exec says"
                                   : "device memory; exec must say TW_MEMORY_CUDA");
    }
    return well ? TW_OK : TW_ERR_INVALID_ARG;
}

tw_status_t tw_side_get(tw_side_stream_t *side, size_t bytes, void **p)
{
    tw_status_t status;

    tw_comm_enter(side->comm);
    status = side->ops != NULL ? tw_comm_device_get(side->comm, TW_DEVICE_MEMORY, bytes, p)
                               : tw_pool_get(&side->comm->pool, bytes, p);
    tw_comm_leave(side->comm);
    return status;
}

void tw_side_put(tw_side_stream_t *side, void *p)
{
    tw_comm_enter(side->comm);
    if (side->ops != NULL) {
        tw_comm_device_put(side->comm, TW_DEVICE_MEMORY, p);
    } else {
        tw_pool_put(&side->comm->pool, p);
    }
    tw_comm_leave(side->comm);
}

/* What is put on one stream now happens after what is on another. */
static tw_status_t tw_side_order(tw_side_stream_t *side, void *first, void *later)
{
    tw_status_t status = TW_OK;

    if (side->ops == NULL) {
        return TW_OK;
    }
    tw_comm_enter(side->comm);
    status = side->ops->record(side->event->event, first);
    if (status == TW_OK) {
        status = side->ops->follow(later, side->event->event);
    }
    if (status != TW_OK) {
        tw_staging_failed(side->comm, status, "an event");
    }
    tw_comm_leave(side->comm);
    return status;
}

tw_status_t tw_side_after_caller(tw_side_stream_t *side)
{
    return tw_side_order(side, side->caller, side->own);
}

tw_status_t tw_side_before_caller(tw_side_stream_t *side)
{
    return tw_side_order(side, side->own, side->caller);
}

tw_status_t tw_side_copy(tw_side_stream_t *side, void *dst, const void *src, size_t bytes)
{
    tw_status_t status = TW_OK;

    if (bytes == 0) {
        return TW_OK;
    }
    if (side->ops == NULL) {
        memcpy(dst, src, bytes);
        return TW_OK;
    }
    tw_comm_enter(side->comm);
    status = side->ops->copy(dst, src, bytes, side->own);
    if (status != TW_OK) {
        tw_staging_failed(side->comm, status, "a copy");
    }
    tw_comm_leave(side->comm);
    return status;
}
