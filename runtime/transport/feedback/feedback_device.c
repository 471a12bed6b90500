/* SPDX-License-Identifier: BSD-3-Clause
 * transport/feedback/feedback_device.c - residuals follow the buffers: to device memory when an
 * operation on device memory starts, back when one on host memory starts or when the residuals are
 * read. Both copies block; a training loop on one type of memory copies nothing.
 *
 * In device memory, too, both are arrays over the whole vector, the second zero outside its
 * interval.
 */
#include "config.h"

#include <string.h>

#include "runtime/transport/device/device.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/feedback/feedback.h"

tw_status_t tw_feedback_reserve_device(tw_feedback_t *fb)
{
    tw_comm_t   *comm   = fb->comm;
    const size_t bytes  = fb->count * fb->element;
    tw_status_t  status = TW_OK;

    if (fb->adder == NULL) { /* of values as they are */
        status = tw_codec_create(comm->ctx, fb->type->lossless, fb->dtype, &fb->adder, NULL, 0);
    }
    for (int i = 0; i < 2 && status == TW_OK; i++) {
        if (fb->device[i] == NULL) {
            status = tw_comm_device_get(comm, TW_DEVICE_MEMORY, bytes, &fb->device[i]);
        }
    }
    if (status != TW_OK) {
        TW_ERROR(&comm->log, "device %d has no %zu bytes for feedback '%s'", comm->device->number,
                 2 * bytes, fb->name);
    }
    return status;
}

void tw_feedback_release_device(tw_feedback_t *fb)
{
    tw_comm_enter(fb->comm);
    for (int i = 0; i < 2; i++) {
        tw_comm_device_put(fb->comm, TW_DEVICE_MEMORY, fb->device[i]);
    }
    tw_comm_leave(fb->comm);
    tw_codec_destroy(fb->adder);
}

tw_status_t tw_feedback_to_device(tw_feedback_t *fb)
{
    const tw_comm_device_t *on     = fb->comm->device;
    const size_t            bytes  = fb->count * fb->element;
    const size_t            first  = fb->second_first * fb->element;
    const size_t            second = fb->second_count * fb->element;
    tw_status_t             status = TW_OK;

    if (fb->on_device || bytes == 0) {
        return TW_OK;
    }
    status = on->ops->copy(fb->device[0], fb->host[0], bytes, on->in);
    if (status == TW_OK) {
        status = on->ops->zero(fb->device[1], bytes, on->in);
    }
    if (status == TW_OK && second > 0) {
        status =
            on->ops->copy((uint8_t *)fb->device[1] + first, fb->host[1] + first, second, on->in);
    }
    if (status == TW_OK) {
        status = on->ops->finish(on->in);
    }
    if (status == TW_OK) {
        memset(fb->host[1] + first, 0, second);
        fb->first     = fb->device[0];
        fb->second    = fb->device[1];
        fb->on_device = true;
    }
    return tw_comm_device_failed(fb->comm, status, "a copy of residuals");
}

tw_status_t tw_feedback_to_host(tw_feedback_t *fb)
{
    const tw_comm_device_t *on     = fb->comm->device;
    const size_t            first  = fb->second_first * fb->element;
    const size_t            second = fb->second_count * fb->element;
    tw_status_t             status;
    int                     before;

    if (!fb->on_device) {
        return TW_OK;
    }
    tw_comm_enter(fb->comm);
    status = tw_comm_device_enter(fb->comm, &before);
    if (status == TW_OK) {
        status = on->ops->copy(fb->host[0], fb->device[0], fb->count * fb->element, on->out);
    }
    if (status == TW_OK && second > 0) {
        status =
            on->ops->copy(fb->host[1] + first, (uint8_t *)fb->device[1] + first, second, on->out);
    }
    if (status == TW_OK) {
        status = on->ops->finish(on->out);
    }
    if (status == TW_OK) {
        fb->first     = fb->host[0];
        fb->second    = fb->host[1];
        fb->on_device = false;
    }
    status = tw_comm_device_failed(fb->comm, status, "a copy of residuals");
    tw_comm_device_leave(fb->comm, before);
    tw_comm_leave(fb->comm);
    return status;
}

tw_status_t tw_feedback_fold_device(tw_feedback_t *fb, const tw_exec_t *exec)
{
    const tw_comm_device_t *on     = fb->comm->device;
    const size_t            first  = fb->second_first * fb->element;
    const size_t            count  = fb->second_count;
    tw_status_t             status = TW_OK;

    if (count > 0) {
        status = on->ops->decode_add(fb->adder, exec, fb->second + first, count, fb->first + first);
    }
    if (count > 0 && status == TW_OK) {
        status = on->ops->zero(fb->second + first, count * fb->element, exec->stream);
    }
    fb->second_first = fb->second_count = 0;
    return tw_comm_device_failed(fb->comm, status, "residuals");
}

void tw_feedback_forget_device(tw_feedback_t *fb)
{
    if (fb->on_device) { /* the second one is zero here */
        memset(fb->host[0], 0, fb->count * fb->element);
        fb->first     = fb->host[0];
        fb->second    = fb->host[1];
        fb->on_device = false;
    }
    fb->device[0] = fb->device[1] = NULL;
}
