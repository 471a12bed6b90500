/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/transfer_device.c - see transfer_device.h.
 */
#include "config.h"

#include "interpose/mpi/device.h"
#include "interpose/state.h"
#include "interpose/mpi/transfer_device.h"
#include "runtime/base/clock.h"
#include "runtime/base/reduction.h"

static const tw_device_ops_t *const tw_ops = &tw_device_cuda;

/* Has the device kernels for all that is encoded? Layouts with holes are packed by MPI, into host
 * memory, and doubles become floats there. */
static bool tw_side_device_serves(const tw_call_t *call, const tw_side_t *side)
{
    if (side->type.device == NULL || !side->type.device->kernels || !side->type.dense ||
        side->total == 0 ||
        (side->terms > 1 && !tw_reduction_is_fused(tw_reduction_row((int)call->reduction)))) {
        return false;
    }
    for (int i = 0; i < side->count; i++) {
        const tw_choice_t *choice = side->block[i].choice;

        if (choice != NULL && (choice->narrow || !tw_codec_has_device(choice->codec))) {
            return false;
        }
    }
    return true;
}

bool tw_side_device_room(const tw_call_t *call, tw_side_t *side)
{
    tw_device_t *device = side->type.device;
    void        *made = NULL, *codes = NULL;
    tw_status_t  status;

    if (!tw_side_device_serves(call, side)) {
        return false;
    }
    tw_device_enter(call->comm->handle, device);
    status = tw_device_get(device, TW_DEVICE_MEMORY, side->total, &made);
    if (status == TW_OK && !device->direct) {
        status = tw_device_get(device, TW_DEVICE_PINNED, side->total, &codes);
    }
    if (status != TW_OK) {
        tw_device_put(device, TW_DEVICE_MEMORY, made);
    } else {
        side->made  = made;
        side->codes = device->direct ? made : codes;
        tw_device_check(call->comm->handle, tw_device_order(device));
    }
    tw_device_leave(device);
    return status == TW_OK;
}

void tw_side_device_leave(tw_side_t *side)
{
    tw_device_put(side->type.device, TW_DEVICE_MEMORY, side->made);
    if (side->codes != side->made) {
        tw_device_put(side->type.device, TW_DEVICE_PINNED, side->codes);
    }
}

static tw_status_t tw_block_encode(const tw_exec_t *exec, const tw_side_t *side,
                                   const tw_block_t *block)
{
    const void  *items  = tw_type_at(&side->type, side->buffer, block->first);
    const size_t values = block->items * side->type.values;
    size_t       bytes  = 0;
    tw_status_t  status;

    if (block->bytes == 0) {
        return TW_OK;
    }
    if (block->choice == NULL) {
        return tw_ops->copy(side->made + block->at, items, block->bytes, exec->stream);
    }
    tw_codec_size(block->choice->codec, values, &bytes);
    status = tw_ops->encode(block->choice->codec, exec, items, values, side->made + block->at);
    return status == TW_OK && bytes < block->bytes
               ? tw_ops->zero(side->made + block->at + bytes, block->bytes - bytes, exec->stream)
               : status;
}

/* The sum of the block's terms, in order. */
static tw_status_t tw_block_decode(const tw_exec_t *exec, const tw_side_t *side,
                                   const tw_block_t *block)
{
    const char  *codes  = side->made + block->at;
    void        *items  = tw_type_at(&side->type, side->buffer, block->first);
    const size_t values = block->items * side->type.values;
    tw_status_t  status;

    if (block->bytes == 0) {
        return TW_OK;
    }
    if (block->choice == NULL) {
        return tw_ops->copy(items, codes, block->bytes, exec->stream);
    }
    status = tw_ops->decode(block->choice->codec, exec, codes, values, items);
    for (int t = 1; t < side->terms && status == TW_OK; t++) {
        status = tw_ops->decode_add(block->choice->codec, exec, codes + (size_t)t * block->bytes,
                                    values, items);
    }
    return status;
}

static tw_status_t tw_blocks_encode(const tw_exec_t *exec, const tw_side_t *side)
{
    tw_status_t status = TW_OK;

    for (int i = 0; i < side->count && status == TW_OK; i++) {
        status = tw_block_encode(exec, side, &side->block[i]);
    }
    return status == TW_OK && side->codes != side->made
               ? tw_ops->copy(side->codes, side->made, side->total, exec->stream)
               : status;
}

static tw_status_t tw_blocks_decode(const tw_exec_t *exec, const tw_side_t *side)
{
    tw_status_t status = TW_OK;

    if (side->codes != side->made) {
        status = tw_ops->copy(side->made, side->codes, side->total, exec->stream);
    }
    for (int i = 0; i < side->count && status == TW_OK; i++) {
        status = tw_block_decode(exec, side, &side->block[i]);
    }
    return status;
}

/* Work on the device of the side's memory, waited for; *ns grows by how long it took. */
static void tw_side_work(const tw_call_t *call, const tw_side_t                              *side,
                         tw_status_t (*work)(const tw_exec_t *, const tw_side_t *), uint64_t *ns)
{
    const uint64_t  start  = tw_clock_ns();
    tw_device_t    *device = side->type.device;
    const tw_exec_t exec   = {.memory = TW_MEMORY_CUDA, .stream = device->stream};
    tw_status_t     status;

    tw_device_enter(call->comm->handle, device);
    status = work(&exec, side);
    status = status == TW_OK ? tw_ops->finish(device->stream) : status;
    tw_device_check(call->comm->handle, status);
    tw_device_leave(device);
    *ns += tw_clock_ns() - start;
}

void tw_side_device_encode(tw_call_t *call, const tw_side_t *side)
{
    tw_side_work(call, side, tw_blocks_encode, &call->encode_ns);
}

void tw_side_device_decode(tw_call_t *call, const tw_side_t *side)
{
    tw_side_work(call, side, tw_blocks_decode, &call->decode_ns);
}
