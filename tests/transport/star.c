/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/star.c - an algorithm for tests only, made as CONTRIBUTING says: `star`. Every
 * rank sends its codes to rank 0, which adds them in rank order and sends the codes of the sum to
 * all.
 */
#include "config.h"

#include "runtime/transport/coll/allreduce/reduction.h"

extern const tw_algorithm_row_t tw_reduction_star;

static tw_status_t star_gather(tw_request_t *op, tw_lane_t *lane, size_t n, size_t bytes)
{
    uint8_t    *mine   = tw_lane_slot(op, lane, op->comm->rank);
    uint8_t    *sum    = tw_lane_slot(op, lane, op->comm->size);
    tw_status_t status = TW_OK;

    for (int r = 1; r < op->comm->size && op->comm->rank == 0 && status == TW_OK; r++) {
        status = tw_lane_recv(op, lane, 0, tw_lane_slot(op, lane, r), bytes, r);
    }
    tw_reduction_encode(op, lane, 0, n, mine);
    if (op->comm->rank != 0 && status == TW_OK) {
        status = tw_lane_recv(op, lane, 1, sum, bytes, 0);
    }
    if (op->comm->rank != 0 && status == TW_OK) {
        status = tw_lane_send(op, lane, 0, 0, mine, bytes, 0, n);
    }
    return status;
}

static tw_status_t star_spread(tw_request_t *op, tw_lane_t *lane, size_t n, size_t bytes)
{
    uint8_t    *sum    = tw_lane_slot(op, lane, op->comm->size);
    tw_status_t status = TW_OK;

    if (op->comm->rank != 0) {
        return TW_OK;
    }
    tw_reduction_sum(op, lane, 0, n, lane->sum);
    tw_reduction_encode_sum(op, lane, lane->sum, n, sum);
    for (int r = 1; r < op->comm->size && status == TW_OK; r++) {
        status = tw_lane_send(op, lane, 1, 1, sum, bytes, r, n);
    }
    return status;
}

static tw_status_t star_step(tw_request_t *op, tw_lane_t *lane)
{
    const size_t n = tw_lane_fragment(op, lane, op->count), bytes = tw_op_size(op, n);

    switch (lane->stage) {
    case 0:
        return star_gather(op, lane, n, bytes);
    case 1:
        return star_spread(op, lane, n, bytes);
    default:
        if (op->root < 0 || op->root == op->comm->rank) {
            tw_reduction_decode_sum(op, lane, 0, tw_lane_slot(op, lane, op->comm->size));
        }
        return TW_OK;
    }
}

/* Rank 0 has one share, the whole vector. */
static void star_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    for (int r = 0; r < op->comm->size; r++) {
        op->array[TW_SHARE_FIRST][r]  = 0;
        op->array[TW_SHARE_LENGTH][r] = r == 0 ? call->count : 0;
    }
    op->own_count = op->array[TW_SHARE_LENGTH][op->comm->rank];
    op->rounds    = tw_op_rounds(op, call->count);
}

static const tw_algorithm_ops_t star_ops = {
    .name = "star", .stages = 2, .step = star_step, .fill = star_fill};

static void star_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    shape->algorithm = &star_ops;
    shape->sum       = true;
    shape->slots     = call->comm->size + 1;
    shape->longest   = call->count;
}

const tw_algorithm_row_t tw_reduction_star = {.name = "star", .shape = star_shape};
