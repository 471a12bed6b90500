/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/agree.c - agreement of ranks on a status, and on memory that all have or none; and
 * the check of sizes.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/sync.h"

tw_status_t tw_interval_check(size_t first, size_t count)
{
    size_t end, bytes;

    return tw_size_add(first, count, &end) && tw_size_mul(end, 16, &bytes) ? TW_OK : TW_ERR_RANGE;
}

tw_status_t tw_comm_agree(tw_comm_t *comm, tw_status_t mine)
{
    const int   in  = (int)mine;
    int         out = (int)mine;
    tw_status_t status =
        tw_sync_allreduce(comm, &in, &out, 1, sizeof(in), MPI_INT, MPI_MIN, "an agreement");

    return status == TW_OK ? (tw_status_t)out : status;
}

/* Some rank cannot: whoever does not know yet says so. */
static void tw_comm_disagreed(const tw_comm_t *comm, tw_status_t mine, tw_status_t status,
                              size_t bytes)
{
    if (status == TW_ERR_NO_MEMORY) {
        TW_ERROR(&comm->log,
                 "a rank has no memory for the buffers of this operation: %zu bytes, and perhaps "
                 "some of a device",
                 bytes);
    } else if (mine == TW_OK && comm->status == TW_OK) {
        TW_ERROR(&comm->log, "a rank cannot take part in this operation: %s",
                 tw_status_text(status));
    }
}

tw_status_t tw_comm_agreed_get(tw_comm_t *comm, size_t bytes, void **buffer_p)
{
    return tw_comm_agreed_get_if(comm, TW_OK, bytes, buffer_p);
}

tw_status_t tw_comm_agreed_get_if(tw_comm_t *comm, tw_status_t mine, size_t bytes, void **buffer_p)
{
    void       *buffer = NULL;
    tw_status_t status;

    if (mine == TW_OK) {
        mine = tw_pool_get(&comm->pool, bytes, &buffer);
    }
    status = tw_comm_agree(comm, mine);
    if (status == TW_OK) {
        *buffer_p = buffer;
        return TW_OK;
    }
    tw_comm_disagreed(comm, mine, status, bytes);
    tw_pool_put(&comm->pool, buffer);
    return status;
}

tw_status_t tw_comm_copy_in_place(tw_comm_t *comm, const void *from, size_t bytes, void **copy_p)
{
    const tw_status_t status = tw_pool_get(&comm->pool, bytes, copy_p);

    if (status != TW_OK) {
        TW_ERROR(&comm->log,
                 "no %zu bytes for a copy of what is sent in place; the communicator is dead",
                 bytes);
        comm->status = status;
        return status;
    }
    comm->system->copy(*copy_p, from, bytes);
    return TW_OK;
}

tw_status_t tw_comm_reserve(tw_comm_t *comm, tw_memory_t said, tw_status_t mine, size_t bytes)
{
    size_t     *reserved = said == TW_MEMORY_HOST ? &comm->reserved : &comm->reserved_device;
    tw_status_t status;

    if (bytes <= *reserved) {
        if (mine != TW_OK) {
            TW_ERROR(&comm->log,
                     "the other ranks go on without this one; the communicator is dead");
            comm->status = mine;
        }
        return mine;
    }
    if (comm->asynchronous) {
        return TW_ERR_BUSY;
    }
    status = tw_comm_agree(comm, mine == TW_OK ? tw_pool_reserve(&comm->pool, bytes) : mine);
    if (status == TW_OK) {
        *reserved      = bytes;
        comm->reserved = bytes > comm->reserved ? bytes : comm->reserved;
    } else {
        tw_comm_disagreed(comm, mine, status, bytes);
    }
    return status;
}
