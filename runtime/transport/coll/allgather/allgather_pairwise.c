/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allgather/allgather_pairwise.c - each rank encodes its block once and sends it to
 * every other; each rank decodes all blocks, with its own, so that results are equal.
 *
 * One quantisation. Sent per rank: (P-1) x encoded block. Slots of a lane: r holds rank r's codes,
 * unless codes are equal to the elements, which are then transferred from buffer to buffer.
 */
#include "config.h"

#include "runtime/transport/coll/allgather/allgather.h"

/* Where rank r's fragment ends up. */
static uint8_t *tw_gather_at(const tw_request_t *op, const tw_lane_t *lane, int r)
{
    return tw_lane_at(op, lane, op->recv, op->array[TW_GATHER_FIRST][r]);
}

/* Where its codes are: the own ones are sent from the send buffer. */
static uint8_t *tw_gather_codes(const tw_request_t *op, const tw_lane_t *lane, int r)
{
    return tw_lane_codes(op, lane, r,
                         r == op->comm->rank ? tw_lane_at(op, lane, op->send, 0)
                                             : tw_gather_at(op, lane, r));
}

static tw_status_t tw_gather_exchange(tw_request_t *op, tw_lane_t *lane)
{
    const tw_comm_t *comm   = op->comm;
    const size_t     n      = tw_lane_fragment(op, lane, op->array[TW_GATHER_COUNT][comm->rank]);
    uint8_t         *mine   = tw_gather_codes(op, lane, comm->rank);
    tw_status_t      status = TW_OK;

    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int    peer  = tw_comm_source(comm, i);
        const size_t count = tw_lane_fragment(op, lane, op->array[TW_GATHER_COUNT][peer]);

        status =
            tw_lane_recv(op, lane, 0, tw_gather_codes(op, lane, peer), tw_op_size(op, count), peer);
    }
    if (n > 0) {
        tw_op_encode(op, tw_lane_at(op, lane, op->send, 0), n, mine);
    }
    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        status = tw_lane_send(op, lane, 0, 0, mine, tw_op_size(op, n), tw_comm_peer(comm, i), n);
    }
    return status;
}

static tw_status_t tw_gather_step(tw_request_t *op, tw_lane_t *lane)
{
    if (lane->stage == 0) {
        return tw_gather_exchange(op, lane);
    }
    for (int r = 0; r < op->comm->size; r++) {
        const size_t n = tw_lane_fragment(op, lane, op->array[TW_GATHER_COUNT][r]);

        if (n > 0) {
            tw_op_decode(op, tw_gather_codes(op, lane, r), n, tw_gather_at(op, lane, r));
        }
    }
    return TW_OK;
}

size_t tw_gather_longest(const tw_collective_call_t *call)
{
    tw_blocks_sum_t blocks;

    (void)tw_blocks_sum(&call->in, call->comm->size, &blocks); /* checked before */
    return blocks.longest;
}

void tw_gather_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    tw_blocks_fill(&call->in, op->comm->size, op->array[TW_GATHER_COUNT],
                   op->array[TW_GATHER_FIRST]);
    if (call->send == TW_IN_PLACE) {
        op->send = op->recv + op->array[TW_GATHER_FIRST][op->comm->rank] * op->element;
    }
    op->rounds = tw_op_rounds(op, tw_gather_longest(call));
}

static const tw_algorithm_ops_t tw_pairwise_ops = {
    .name = "pairwise", .stages = 1, .step = tw_gather_step, .fill = tw_gather_fill};

static void tw_pairwise_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    shape->algorithm = &tw_pairwise_ops;
    shape->slots     = call->comm->size;
    shape->longest   = tw_gather_longest(call);
}

const tw_algorithm_row_t tw_allgather_pairwise = {.name = "pairwise", .shape = tw_pairwise_shape};
