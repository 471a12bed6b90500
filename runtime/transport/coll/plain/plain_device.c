/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/plain/plain_device.c - MPI's blocking collectives on device memory: the values are
 * copied to pinned memory, and the result back. The nonblocking ones get theirs from the engine
 * (bounce.h).
 */
#include "config.h"

#include "runtime/transport/coll/plain/plain.h"
#include "runtime/transport/device/staging.h"

static size_t tw_plain_total(const tw_comm_t *comm, const tw_plain_args_t *args)
{
    size_t at = 0, extent = 0;

    for (int r = 0; r < comm->size; r++) {
        const size_t n     = args->counts != NULL ? args->counts[r] : args->count;
        const size_t first = args->displacements != NULL ? args->displacements[r] : at;

        at += n;
        extent = n > 0 && first + n > extent ? first + n : extent;
    }
    return extent;
}

void tw_plain_values(const tw_comm_t *comm, const tw_plain_args_t *args, tw_request_shape_t *shape)
{
    const bool   in_place = args->send == TW_IN_PLACE;
    const size_t own      = args->counts != NULL ? args->counts[comm->rank] : args->count;
    size_t       send = args->count, recv = args->count;

    switch (args->operation) {
    case TW_OPERATION_BCAST:
        send = 0;
        break;
    case TW_OPERATION_REDUCE:
        recv = comm->rank == args->root ? recv : 0;
        break;
    case TW_OPERATION_REDUCE_SCATTER:
        send = tw_plain_total(comm, args);
        recv = in_place ? send : own;
        break;
    case TW_OPERATION_ALLGATHER:
        send = own;
        recv = tw_plain_total(comm, args);
        break;
    case TW_OPERATION_ALLTOALL:
        send = recv = tw_plain_total(comm, args);
        break;
    default:
        break;
    }
    shape->extent[0] = send;
    shape->extent[1] = recv;
    shape->values[0] = in_place || send == 0 ? NULL : args->send;
    shape->values[1] = recv == 0 ? NULL : args->recv;
}

static tw_status_t tw_plain_move(tw_comm_t *comm, void *to, const void *from, size_t bytes)
{
    tw_status_t status = TW_OK;

    if (bytes > 0) {
        status = comm->device.ops->copy(to, from, bytes, NULL);
    }
    if (status == TW_OK) {
        status = comm->device.ops->finish(NULL);
    }
    return tw_staging_failed(comm, status, "a copy of values");
}

tw_status_t tw_plain_run_device(tw_comm_t *comm, const tw_plain_args_t *args,
                                const tw_request_shape_t *shape)
{
    const size_t    element = args->wide ? sizeof(double) : sizeof(float);
    const size_t    sent    = shape->values[0] != NULL ? shape->extent[0] * element : 0;
    const size_t    taken   = shape->values[1] != NULL ? shape->extent[1] * element : 0;
    tw_plain_args_t mine    = *args;
    void           *pinned  = NULL;
    tw_status_t     status  = tw_comm_device_open(comm);

    if (status == TW_OK) {
        status = tw_comm_device_get(comm, TW_DEVICE_PINNED, sent + taken, &pinned);
    }
    if (status != TW_OK) {
        TW_ERROR(&comm->log,
                 "%s: no way to device memory, and other ranks go on; the communicator is dead",
                 args->name);
        comm->status = status;
        return status;
    }
    if (sent > 0) {
        mine.send = pinned;
    }
    if (taken > 0) {
        mine.recv = (uint8_t *)pinned + sent;
    }
    status = tw_plain_move(comm, pinned, shape->values[0], sent);
    if (status == TW_OK) {
        status = tw_plain_move(comm, mine.recv, args->recv, taken);
    }
    if (status == TW_OK) {
        status = tw_plain_run(comm, &mine);
    }
    if (status == TW_OK) {
        status = tw_plain_move(comm, args->recv, mine.recv, taken);
    }
    tw_comm_device_put(comm, TW_DEVICE_PINNED, pinned);
    return status;
}
