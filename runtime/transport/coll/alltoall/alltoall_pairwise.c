/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/alltoall/alltoall_pairwise.c - every pair of ranks exchanges its two blocks,
 * fragment by fragment; a rank's own block is encoded and decoded, too.
 *
 * One quantisation. Sent per rank: the encoded blocks for the others.
 * Both ranks of a pair know the number of fragments of each direction from the count; the number of
 * rounds may differ between ranks. The size of fragments does not depend on the counts of
 * alltoallv, which not all ranks know. Slots of a lane: [0, P) codes for rank r | [P, 2P) codes
 * from rank r. Codes equal to the elements are transferred from buffer to buffer, except in place.
 */
#include "config.h"

#include "runtime/transport/coll/alltoall/alltoall.h"

/* Where this lane's fragment of the block for, or from, a rank lies. */
static uint8_t *tw_block_out(const tw_request_t *op, const tw_lane_t *lane, int peer)
{
    return tw_lane_at(op, lane, op->send, op->array[TW_SEND_FIRST][peer]);
}

static uint8_t *tw_block_in(const tw_request_t *op, const tw_lane_t *lane, int peer)
{
    return tw_lane_at(op, lane, op->recv, op->array[TW_RECV_FIRST][peer]);
}

/* Values of this lane's fragment of the block for, or from, a rank. */
static size_t tw_block_values(const tw_request_t *op, const tw_lane_t *lane, int array, int peer,
                              tw_alltoall_other_t other)
{
    const size_t n = op->array[array][peer];

    return other != NULL && other(op, n) ? 0 : tw_lane_fragment(op, lane, n);
}

/* In place, what arrives must not overwrite what is still to be sent; a root does only one. */
static bool tw_block_in_place(const tw_request_t *op)
{
    return op->send == op->recv && op->root < 0;
}

/* Where its codes lie. */
static uint8_t *tw_codes_out(const tw_request_t *op, const tw_lane_t *lane, int peer)
{
    return tw_block_in_place(op) ? tw_lane_slot(op, lane, peer)
                                 : tw_lane_codes(op, lane, peer, tw_block_out(op, lane, peer));
}

static uint8_t *tw_codes_in(const tw_request_t *op, const tw_lane_t *lane, int peer)
{
    const int slot = op->comm->size + peer;

    return tw_block_in_place(op) ? tw_lane_slot(op, lane, slot)
                                 : tw_lane_codes(op, lane, slot, tw_block_in(op, lane, peer));
}

tw_status_t tw_alltoall_exchange(tw_request_t *op, tw_lane_t *lane, int stage,
                                 tw_alltoall_other_t other)
{
    const tw_comm_t *comm   = op->comm;
    tw_status_t      status = TW_OK;

    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int    peer = tw_comm_source(comm, i);
        const size_t n    = tw_block_values(op, lane, TW_RECV_COUNT, peer, other);

        status =
            tw_lane_recv(op, lane, stage, tw_codes_in(op, lane, peer), tw_op_size(op, n), peer);
    }
    for (int i = 1; i <= comm->size && status == TW_OK; i++) {
        const int    peer = tw_comm_peer(comm, i);
        const size_t n    = tw_block_values(op, lane, TW_SEND_COUNT, peer, other);
        uint8_t     *codes =
            peer == comm->rank ? tw_codes_in(op, lane, peer) : tw_codes_out(op, lane, peer);

        if (n > 0) {
            tw_op_encode(op, tw_block_out(op, lane, peer), n, codes);
        }
        if (n > 0 && peer != comm->rank) {
            status = tw_lane_send(op, lane, stage, stage, codes, tw_op_size(op, n), peer, n);
        }
    }
    return status;
}

void tw_alltoall_decode(tw_request_t *op, tw_lane_t *lane, tw_alltoall_other_t other)
{
    for (int r = 0; r < op->comm->size; r++) {
        const size_t n = tw_block_values(op, lane, TW_RECV_COUNT, r, other);

        if (n > 0) {
            tw_op_decode(op, tw_codes_in(op, lane, r), n, tw_block_in(op, lane, r));
        }
    }
}

static tw_status_t tw_alltoall_step(tw_request_t *op, tw_lane_t *lane)
{
    if (lane->stage == 0) {
        return tw_alltoall_exchange(op, lane, 0, NULL);
    }
    tw_alltoall_decode(op, lane, NULL);
    return TW_OK;
}

void tw_alltoall_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    const int       ranks = op->comm->size;
    tw_blocks_sum_t out, in;

    tw_blocks_fill(tw_blocks_out(call), ranks, op->array[TW_SEND_COUNT], op->array[TW_SEND_FIRST]);
    tw_blocks_fill(&call->in, ranks, op->array[TW_RECV_COUNT], op->array[TW_RECV_FIRST]);
    (void)tw_blocks_sum(tw_blocks_out(call), ranks, &out); /* checked before */
    (void)tw_blocks_sum(&call->in, ranks, &in);
    op->rounds = tw_op_rounds(op, out.longest > in.longest ? out.longest : in.longest);
}

static const tw_algorithm_ops_t tw_pairwise_ops = {
    .name = "pairwise", .stages = 1, .step = tw_alltoall_step, .fill = tw_alltoall_fill};

void tw_alltoall_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    shape->algorithm = &tw_pairwise_ops;
    shape->slots     = 2 * call->comm->size;
    shape->longest   = call->collective->unequal ? SIZE_MAX / 16 : call->in.each;
}

const tw_algorithm_row_t tw_alltoall_pairwise = {.name = "pairwise", .shape = tw_alltoall_shape};
