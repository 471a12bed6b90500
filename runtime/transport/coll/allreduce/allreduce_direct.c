/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/allreduce_direct.c - every rank sends its encoded vector to every other
 * (or to the root of a reduce); each receiver decodes and adds in rank order. S1's single pass
 * (B8).
 *
 * One quantisation. Sent per rank: (P-1) x encoded vector. Slots of a lane: r holds rank r's codes.
 */
#include "config.h"

#include "runtime/transport/coll/allreduce/reduction.h"

static bool tw_direct_receives(const tw_request_t *op)
{
    return op->root < 0 || op->root == op->comm->rank;
}

static tw_status_t tw_direct_exchange(tw_request_t *op, tw_lane_t *lane, size_t n)
{
    const tw_comm_t *comm   = op->comm;
    const size_t     bytes  = tw_op_size(op, n);
    uint8_t         *mine   = tw_lane_slot(op, lane, comm->rank);
    tw_status_t      status = TW_OK;

    for (int i = 1; i < comm->size && status == TW_OK && tw_direct_receives(op); i++) {
        const int peer = tw_comm_source(comm, i);

        status = tw_lane_recv(op, lane, 0, tw_lane_slot(op, lane, peer), bytes, peer);
    }
    tw_reduction_encode(op, lane, 0, n, mine);
    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int peer = tw_comm_peer(comm, i);

        if (op->root < 0 || op->root == peer) {
            status = tw_lane_send(op, lane, 0, 0, mine, bytes, peer, n);
        }
    }
    return status;
}

static tw_status_t tw_direct_step(tw_request_t *op, tw_lane_t *lane)
{
    const size_t n = tw_lane_fragment(op, lane, op->count);

    if (lane->stage == 0) {
        return tw_direct_exchange(op, lane, n);
    }
    if (tw_direct_receives(op)) {
        uint8_t *out = tw_lane_at(op, lane, op->recv, 0);
        uint8_t *sum = tw_op_sum(op, lane, out);

        tw_reduction_sum(op, lane, 0, n, sum);
        tw_op_sum_result(op, sum, n, out);
    }
    return TW_OK;
}

static const tw_algorithm_ops_t tw_reduce_direct = {
    .name = "direct", .stages = 1, .step = tw_direct_step, .fill = tw_collective_fill_whole};

static void tw_direct_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    shape->algorithm = &tw_reduce_direct;
    shape->sum       = true;
    shape->slots     = call->comm->size;
    shape->longest   = call->count;
}

const tw_algorithm_row_t tw_reduction_direct = {
    .name = "direct", .number = TW_ALGORITHM_DIRECT, .shape = tw_direct_shape};
