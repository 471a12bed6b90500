/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/stats.c - what a communicator tells of itself: nodes and counters.
 */
#include "config.h"

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/comm/progress_thread.h"
#include "runtime/transport/device/device.h"
#include "runtime/transport/shm/layout.h"

int tw_comm_node(const tw_comm_t *comm, int rank)
{
    return comm != NULL && rank >= 0 && rank < comm->size ? comm->nodes->node_of[rank] : -1;
}

tw_status_t tw_comm_stats(const tw_comm_t *comm, tw_stats_t *stats)
{
    if (comm == NULL || stats == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    tw_comm_enter(comm);
    *stats                  = comm->stats;
    stats->pool_allocations = comm->pool.allocations - comm->stats.pool_allocations;
    stats->pool_bytes       = comm->pool.bytes + comm->device->pool[TW_DEVICE_MEMORY].bytes +
                        comm->device->pool[TW_DEVICE_PINNED].bytes;
    tw_comm_leave(comm);
    return TW_OK;
}

tw_status_t tw_comm_stats_reset(tw_comm_t *comm)
{
    if (comm == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    tw_comm_enter(comm);
    comm->stats                  = (tw_stats_t){0};
    comm->stats.pool_allocations = comm->pool.allocations; /* the zero point */
    tw_comm_leave(comm);
    return TW_OK;
}
