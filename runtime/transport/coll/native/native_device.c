/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/native/native_device.c - MPI's blocking collectives on device memory: the values
 * are copied to pinned memory, and the result back. For nonblocking ones the engine does that
 * (bounce.h).
 */
#include "config.h"

#include "runtime/transport/coll/native/native.h"
#include "runtime/transport/engine/staging.h"

/* On the caller's stream: the work that writes the input is there. */
static tw_status_t tw_native_move(tw_comm_t *comm, const tw_exec_t *exec, void *to,
                                  const void *from, size_t bytes)
{
    void       *stream = exec != NULL && exec->stream != NULL ? exec->stream : comm->device->stream;
    tw_status_t status = TW_OK;

    if (bytes > 0) {
        status = comm->device->ops->copy(to, from, bytes, stream);
    }
    if (status == TW_OK) {
        status = comm->device->ops->finish(stream);
    }
    return tw_comm_device_failed(comm, status, "a copy of values");
}

/* Where all ranks say device memory they agree the first time; else others may have theirs in host
 * memory, and go on. */
static tw_status_t tw_native_agree(tw_comm_t *comm, bool said, tw_status_t mine)
{
    if (!said) {
        return mine == TW_OK ? TW_OK : tw_comm_reserve(comm, TW_MEMORY_HOST, mine, 0);
    }
    return tw_comm_reserve(comm, TW_MEMORY_CUDA, mine, 1);
}

tw_status_t tw_native_run_device(const tw_collective_call_t *call)
{
    tw_comm_t           *comm    = call->comm;
    tw_collective_call_t mine    = *call;
    const tw_exec_t     *exec    = call->how != NULL ? call->how->exec : NULL;
    const size_t         element = call->codec->element;
    size_t               sent, taken;
    void                *pinned = NULL;
    tw_status_t          status = tw_comm_device_open(comm);

    sent  = call->values[0] != NULL ? call->extent[0] * element : 0;
    taken = call->values[1] != NULL ? call->extent[1] * element : 0;
    if (status == TW_OK) {
        status = tw_comm_device_get(comm, TW_DEVICE_PINNED, sent + taken, &pinned);
        if (status != TW_OK) {
            TW_ERROR(&comm->log, "no %zu bytes of pinned memory: %s", sent + taken,
                     tw_status_text(status));
        }
    }
    status = tw_native_agree(comm, tw_how_on_device(call->how), status);
    if (status != TW_OK) {
        tw_comm_device_put(comm, TW_DEVICE_PINNED, pinned);
        return status;
    }
    mine.how = NULL;
    if (sent > 0) {
        mine.send = pinned;
    }
    if (taken > 0) {
        mine.recv = (uint8_t *)pinned + sent;
    }
    mine.values[0] = mine.values[1] = NULL; /* on the device there are none now */
    status                          = tw_native_move(comm, exec, pinned, call->values[0], sent);
    if (status == TW_OK) {
        status = tw_native_move(comm, exec, mine.recv, call->recv, taken);
    }
    if (status == TW_OK) {
        status = tw_native_run(&mine);
    }
    if (status == TW_OK) {
        status = tw_native_move(comm, exec, call->recv, mine.recv, taken);
    }
    tw_comm_device_put(comm, TW_DEVICE_PINNED, pinned);
    return status;
}
