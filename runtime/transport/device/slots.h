/* SPDX-License-Identifier: BSD-3-Clause
 * transport/device/slots.h - the slots of a node (shm/segment.h) a second time, in memory of the
 * ranks' devices: for calls that say device memory, which all ranks then do.
 *
 * Every rank has TW_NODE_SLOTS slots in memory of its own device, which the others of its node open
 * once (a handle goes through the segment) and read by copies between devices, and by kernels that
 * add. Flags, tickets and `low` stay in the segment: a rank raises its flag, and says that it is
 * done, when an event behind its work has been seen to be complete (tw_lane_raise(),
 * tw_lane_done()). So nobody waits, and the host never looks at what lies in a slot.
 */
#ifndef TW_TRANSPORT_DEVICE_SLOTS_H
#define TW_TRANSPORT_DEVICE_SLOTS_H

#include <stdint.h>

#include "runtime/codec/device.h"
#include "runtime/transport/shm/segment.h"

/* Bytes of data of a slot, no less than one in the segment has: so that a launch is worth while. */
#define TW_DEVICE_SLOT TW_DEVICE_SHARED

struct tw_comm;

typedef struct tw_device_slots {
    tw_node_state_t state; /* the same on all ranks of the communicator                     */
    uint8_t        *mine;
    uint8_t       **of; /* [ranks of the node]: those of each; our own too               */
} tw_device_slots_t;

/* Collective the first time, when the segments of all nodes are there: make the slots of all ranks,
 * or learn that some rank cannot have, share or open them (said once, at level info). *there_p:
 * they are there; not, too, where they are not made yet and comm->asynchronous forbids to make them
 * now. An error is that of all ranks: one has no device (TW_ERR_UNSUPPORTED, ..., said there), or
 * the communicator died. */
tw_status_t tw_device_slots_ready(struct tw_comm *comm, bool *there_p);

/* Collective, where they are there: nobody has them open any more when they are released. A status
 * that is not TW_OK killed the communicator. */
tw_status_t tw_device_slots_release(struct tw_comm *comm);

static inline uint8_t *tw_device_slot(const tw_device_slots_t *slots, int local, uint64_t ticket)
{
    return slots->of[local] + (size_t)(ticket % TW_NODE_SLOTS) * TW_DEVICE_SLOT;
}

#endif /* TW_TRANSPORT_DEVICE_SLOTS_H */
