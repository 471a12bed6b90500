/* SPDX-License-Identifier: BSD-3-Clause
 * transport/device/slots.c - creating and releasing the slots in device memory.
 *
 * The slots are a separate allocation, a multiple of TW_DEVICE_SHARED, so that other ranks get
 * access to nothing else. It is released when no rank has it open: ranks close, agree, and then
 * release.
 */
#include "config.h"

#include <stdlib.h>

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/device/device.h"
#include "runtime/transport/shm/layout.h"

static const char *tw_slots_why(tw_status_t status)
{
    return status == TW_ERR_UNSUPPORTED ? "the device or the system cannot"
                                        : tw_status_text(status);
}

/* Ours, and a handle for the others. */
static tw_status_t tw_slots_share(tw_comm_t *comm, tw_device_slots_t *slots)
{
    const tw_device_ops_t *ops    = comm->device->ops;
    void                  *mine   = NULL;
    tw_status_t            status = TW_ERR_NO_MEMORY;

    slots->of = calloc((size_t)comm->node->ranks, sizeof(*slots->of));
    if (slots->of != NULL) {
        status = ops->allocate(TW_DEVICE_MEMORY, TW_NODE_SLOTS * TW_DEVICE_SLOT, &mine);
    }
    if (status == TW_OK) {
        slots->mine = mine;
        status      = ops->share(mine, &tw_node_control(comm->node, comm->node->local)->device);
    }
    if (status != TW_OK) {
        TW_INFO(&comm->log, "memory of device %d cannot be shared with other ranks: %s",
                comm->device->number, tw_slots_why(status));
    }
    return status;
}

/* Those of the others, who have all shared theirs. */
static tw_status_t tw_slots_open(tw_comm_t *comm, tw_device_slots_t *slots)
{
    const tw_segment_t *node   = comm->node;
    const int64_t       mine   = tw_node_control(node, node->local)->process;
    tw_status_t         status = TW_OK;

    slots->of[node->local] = slots->mine;
    for (int r = 0; r < node->ranks && status == TW_OK; r++) {
        const tw_node_control_t *its = tw_node_control(node, r);
        void                    *p   = NULL;

        if (r == node->local) {
            continue;
        }
        /* Devices share memory between processes, not within one. */
        status =
            its->process != mine ? comm->device->ops->open(&its->device, &p) : TW_ERR_UNSUPPORTED;
        slots->of[r] = p;
        if (status != TW_OK) {
            TW_INFO(&comm->log, "device %d does not reach the memory that rank %d shares: %s",
                    comm->device->number, tw_nodes_rank(comm->nodes, comm->nodes->mine, r),
                    tw_slots_why(status));
        }
    }
    return status;
}

static void tw_slots_close(tw_comm_t *comm, tw_device_slots_t *slots)
{
    for (int r = 0; r < comm->node->ranks && slots->of != NULL; r++) {
        if (slots->of[r] != NULL && slots->of[r] != slots->mine) {
            comm->device->ops->close(slots->of[r]);
        }
    }
    free(slots->of);
    slots->of = NULL;
}

static void tw_slots_free(tw_comm_t *comm, tw_device_slots_t *slots)
{
    if (slots->mine != NULL) {
        comm->device->ops->release(TW_DEVICE_MEMORY, slots->mine);
        slots->mine = NULL;
    }
}

/* Whoever has opened some closes them, before those whose they are release them. */
static tw_status_t tw_slots_give_up(tw_comm_t *comm, tw_device_slots_t *slots)
{
    tw_status_t status;

    tw_slots_close(comm, slots);
    status = tw_comm_agree(comm, TW_OK);
    if (status != TW_OK) {
        return status;
    }
    tw_slots_free(comm, slots);
    slots->state = TW_NODE_ABSENT;
    if (comm->rank == 0) {
        TW_INFO(&comm->log, "some node's devices share no memory; by no name, calls on device "
                            "memory take algorithms that exchange messages");
    }
    return TW_OK;
}

/* A rank without a device is no reason to do without slots for ever: the call fails, on all
 * ranks. */
static tw_status_t tw_slots_devices(tw_comm_t *comm)
{
    const tw_status_t mine   = tw_comm_device_open(comm);
    const tw_status_t status = tw_comm_agree(comm, mine);

    if (status != TW_OK && mine == TW_OK && comm->status == TW_OK) {
        TW_ERROR(&comm->log, "a rank cannot take part in this operation: %s",
                 tw_status_text(status));
    }
    return status;
}

static tw_status_t tw_slots_make(tw_comm_t *comm, tw_device_slots_t *slots)
{
    tw_status_t status = tw_slots_devices(comm);

    if (status != TW_OK) {
        return status;
    }
    status = tw_comm_agree(comm, tw_slots_share(comm, slots));
    if (status == TW_OK) {
        status = tw_comm_agree(comm, tw_slots_open(comm, slots));
    }
    if (comm->status != TW_OK) {
        return status;
    }
    if (status != TW_OK) {
        return tw_slots_give_up(comm, slots);
    }
    slots->state = TW_NODE_THERE;
    return TW_OK;
}

tw_status_t tw_device_slots_ready(tw_comm_t *comm, bool *there_p)
{
    tw_device_slots_t *slots  = &comm->device->slots;
    tw_status_t        status = TW_OK;

    if (slots->state == TW_NODE_UNKNOWN && !comm->asynchronous) {
        status = tw_slots_make(comm, slots);
    }
    *there_p = slots->state == TW_NODE_THERE;
    return status;
}

tw_status_t tw_device_slots_release(tw_comm_t *comm)
{
    tw_device_slots_t *slots = &comm->device->slots;
    tw_status_t        status;
    int                before;

    if (slots->state != TW_NODE_THERE) {
        return TW_OK;
    }
    (void)tw_comm_device_enter(comm, &before);
    tw_slots_close(comm, slots);
    status = tw_comm_agree(comm, TW_OK);
    if (status == TW_OK) {
        tw_slots_free(comm, slots);
    }
    tw_comm_device_leave(comm, before);
    return status;
}
