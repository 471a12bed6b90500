/* SPDX-License-Identifier: BSD-3-Clause
 * transport/device/slots.h - slots of a node (shm/segment.h) in memory of the ranks' devices, for
 * calls that declare device memory, equally on all ranks.
 *
 * Every rank has TW_NODE_SLOTS slots in memory of its device. The other ranks of its node open them
 * once (a handle is passed through the segment) and read them by copies between devices and by
 * kernels that add. Flags, tickets and `low` stay in the segment: a rank raises its flag and
 * completes a ticket after the event recorded behind its work is complete (tw_lane_raise(),
 * tw_lane_done()). So nothing blocks, and the host never accesses the data of a slot.
 */
#ifndef TW_TRANSPORT_DEVICE_SLOTS_H
#define TW_TRANSPORT_DEVICE_SLOTS_H

#include <stdint.h>

#include "runtime/codec/device.h"
#include "runtime/transport/shm/segment.h"

/* Bytes of data of a slot, not less than in the segment, so that they justify a kernel launch. */
#define TW_DEVICE_SLOT TW_DEVICE_SHARED

struct tw_comm;

typedef struct tw_device_slots {
    tw_node_state_t state; /* equal on all ranks of the communicator                        */
    uint8_t        *mine;
    uint8_t       **of; /* [ranks of the node]: the slots of each, with mine             */
} tw_device_slots_t;

/* Collective the first time, after the segments of all nodes exist: create the slots of all ranks,
 * or detect that a rank cannot allocate, share or open them (logged once at level info). *there_p:
 * the slots exist; false also if they are not created yet and comm->asynchronous forbids it now. An
 * error is equal on all ranks: a rank has no device (TW_ERR_UNSUPPORTED, ..., logged on that rank),
 * or the communicator died. */
tw_status_t tw_device_slots_ready(struct tw_comm *comm, bool *there_p);

/* Collective if the slots exist: all ranks close them before any rank releases its own. A status
 * other than TW_OK has killed the communicator. */
tw_status_t tw_device_slots_release(struct tw_comm *comm);

static inline uint8_t *tw_device_slot(const tw_device_slots_t *slots, int local, uint64_t ticket)
{
    return slots->of[local] + (size_t)(ticket % TW_NODE_SLOTS) * TW_DEVICE_SLOT;
}

#endif /* TW_TRANSPORT_DEVICE_SLOTS_H */
