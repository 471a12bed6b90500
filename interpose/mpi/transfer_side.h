/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/transfer_side.h - what a transfer does with its sides; transfer.h has what fills
 * them.
 */
#ifndef TW_INTERPOSE_TRANSFER_SIDE_H
#define TW_INTERPOSE_TRANSFER_SIDE_H

#include "interpose/mpi/transfer.h"

/* The largest power of two, up to `unit`, that divides every block. */
size_t tw_side_unit(const tw_side_t *side, size_t unit);

/* Lengths and places of all codes, in such units. */
void tw_side_lay(tw_side_t *side, size_t unit);

/* Room for codes: in host memory, whatever the items are; or where the items are, if the device
 * there makes codes. Codes that an absolute bound looks at are in host memory. */
void tw_side_host_room(const tw_call_t *call, tw_side_t *side);
void tw_side_room(const tw_call_t *call, tw_side_t *side);
void tw_side_leave(tw_side_t *side);

void tw_side_encode(tw_call_t *call, const tw_side_t *side);

/* The blocks of a side, as they are: of another side, or instead of its own codes, with room. */
void tw_side_as_it_is(tw_side_t *to, const tw_side_t *side);
void tw_side_again(const tw_call_t *call, tw_side_t *side);

/* Whose memory the items are. Displacements may lead to them from anywhere. */
void tw_side_find(const tw_call_t *call, tw_side_t *side);

#endif /* TW_INTERPOSE_TRANSFER_SIDE_H */
