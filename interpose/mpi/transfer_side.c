/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/transfer_side.c - see transfer_side.h.
 */
#include "config.h"

#include "interpose/mpi/device.h"
#include "interpose/mpi/form.h"
#include "interpose/mpi/transfer_device.h"
#include "interpose/mpi/transfer_side.h"

void tw_side_set(tw_side_t *side, const tw_type_t *type, const void *buffer)
{
    side->type   = *type;
    side->buffer = (void *)(uintptr_t)buffer;
}

void tw_side_add(tw_side_t *side, const tw_choice_t *choice, size_t items, MPI_Aint first)
{
    tw_block_t *block = &side->block[side->count++];

    block->choice = choice;
    block->items  = items;
    block->first  = first;
    block->bytes  = choice != NULL ? tw_choice_bytes(choice, items * side->type.values)
                                   : items * side->type.size;
    block->at     = side->total;
    side->total += block->bytes * (size_t)side->terms;
}

size_t tw_side_unit(const tw_side_t *side, size_t unit)
{
    for (int i = 0; i < side->count; i++) {
        while (side->block[i].bytes % unit != 0) {
            unit /= 2;
        }
    }
    return unit;
}

void tw_side_lay(tw_side_t *side, size_t unit)
{
    for (int i = 0; i < side->count * side->terms; i++) {
        const tw_block_t *block = &side->block[i / side->terms];

        side->lengths[i] = (int)(block->bytes / unit);
        side->at[i]      = (int)((block->at + (size_t)(i % side->terms) * block->bytes) / unit);
    }
}

void tw_side_host_room(const tw_call_t *call, tw_side_t *side)
{
    side->codes = side->count > 0 ? tw_buffer_get(call->comm->handle, side->total) : NULL;
}

void tw_side_room(const tw_call_t *call, tw_side_t *side)
{
    if (call->bounded || !tw_side_device_room(call, side)) {
        tw_side_host_room(call, side);
    }
}

void tw_side_encode(tw_call_t *call, const tw_side_t *side)
{
    if (side->made != NULL) {
        tw_side_device_encode(call, side);
        return;
    }
    for (int i = 0; i < side->count; i++) {
        const tw_block_t *block = &side->block[i];
        const void       *items = tw_type_at(&side->type, side->buffer, block->first);

        if (block->choice != NULL) {
            tw_form_encode(call, block->choice, &side->type, items, block->items,
                           side->codes + block->at);
        } else if (block->bytes > 0) {
            tw_form_pack(call, &side->type, items, block->items, side->codes + block->at);
        }
    }
}

void tw_side_decode(tw_call_t *call, const tw_side_t *side)
{
    if (side->made != NULL) {
        tw_side_device_decode(call, side);
        return;
    }
    for (int i = 0; i < side->count; i++) {
        const tw_block_t *block = &side->block[i];
        void             *items = tw_type_at(&side->type, side->buffer, block->first);

        if (block->choice != NULL) {
            tw_form_decode_sum(call, block->choice, &side->type, side->codes + block->at,
                               block->bytes, side->terms, items, block->items);
        } else if (block->bytes > 0) {
            tw_form_unpack(call, &side->type, side->codes + block->at, block->items, items);
        }
    }
}

void tw_side_leave(tw_side_t *side)
{
    if (side->made != NULL) {
        tw_side_device_leave(side);
    } else {
        tw_buffer_put(side->codes);
    }
}

void tw_side_as_it_is(tw_side_t *to, const tw_side_t *side)
{
    tw_side_set(to, &side->type, side->buffer);
    for (int i = 0; i < side->count; i++) {
        tw_side_add(to, NULL, side->block[i].items, side->block[i].first);
    }
}

void tw_side_again(const tw_call_t *call, tw_side_t *side)
{
    const int count = side->count;

    tw_side_leave(side);
    side->codes = NULL;
    side->count = 0;
    side->total = 0;
    for (int i = 0; i < count; i++) {
        tw_side_add(side, NULL, side->block[i].items, side->block[i].first);
    }
    tw_side_host_room(call, side);
}

void tw_side_find(const tw_call_t *call, tw_side_t *side)
{
    for (int i = 0; i < side->count; i++) {
        if (side->block[i].items > 0) {
            side->type.device = tw_device_of(
                call->comm->handle, tw_type_at(&side->type, side->buffer, side->block[i].first));
            return;
        }
    }
}
