/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/transfer_device.h - the sides of a transfer whose items are device memory: codes
 * are made and read there, and MPI gets them in pinned memory, or as they are if it takes device
 * memory.
 */
#ifndef TW_INTERPOSE_TRANSFER_DEVICE_H
#define TW_INTERPOSE_TRANSFER_DEVICE_H

#include "interpose/mpi/transfer.h"

/* Room for the codes of a side, whose items are used after what is on the default stream now, be
 * they read or written; false where the device cannot make them: the host does then. */
bool tw_side_device_room(const tw_call_t *call, tw_side_t *side);
void tw_side_device_leave(tw_side_t *side);

/* When they return the work is done. */
void tw_side_device_encode(tw_call_t *call, const tw_side_t *side);
void tw_side_device_decode(tw_call_t *call, const tw_side_t *side);

#endif /* TW_INTERPOSE_TRANSFER_DEVICE_H */
