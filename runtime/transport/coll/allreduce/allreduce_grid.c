/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/allreduce_grid.c - two_pass for many ranks: encoded fragments and sums
 * are routed through a grid of ranks in bundles, without another encoding, so that a rank sends
 * about 4 sqrt(P) messages for each fragment instead of 2 (P-1).
 *
 * Owners, shares, order of sums, both residuals and the resulting bits are those of two_pass. Two
 * quantisations. With R rows and C columns, sent per rank: about (3 - 1/C - 1/R - 1/P) x encoded
 * vector. A reduce spreads the sums only to the root.
 * Slots of a lane: those of deliver, then those of spread (grid/route.h).
 */
#include "config.h"

#include "runtime/transport/coll/allreduce/reduction.h"
#include "runtime/transport/coll/grid/route.h"

static bool tw_grid_receives(const tw_request_t *op)
{
    return op->root < 0 || op->root == op->comm->rank;
}

static void tw_grid_encode(const tw_route_t *route, int owner, size_t n, uint8_t *codes)
{
    tw_reduction_encode(route->op, route->lane, route->op->array[TW_SHARE_FIRST][owner], n, codes);
}

/* Add up our share in rank order, encode the sum. */
static void tw_grid_sum(const tw_route_t *deliver, const tw_route_t *spread)
{
    tw_request_t    *op   = deliver->op;
    const tw_lane_t *lane = deliver->lane;
    const size_t     n    = tw_share_fragment(op, lane, op->comm->rank);

    if (n == 0) {
        return;
    }
    tw_op_decode_sum(op, tw_deliver_from(deliver, 0), n, lane->sum);
    for (int r = 1; r < op->comm->size; r++) {
        tw_op_decode_combine(op, lane, tw_deliver_from(deliver, r), n, lane->sum);
    }
    tw_reduction_encode_sum(op, lane, lane->sum, n, tw_spread_at(spread, op->comm->rank));
}

static void tw_grid_decode(const tw_route_t *spread)
{
    tw_request_t *op = spread->op;

    for (int r = 0; r < op->comm->size; r++) {
        tw_reduction_decode_sum(op, spread->lane, r, tw_spread_at(spread, r));
    }
}

static tw_status_t tw_grid_step(tw_request_t *op, tw_lane_t *lane)
{
    const size_t    *length  = op->array[TW_SHARE_LENGTH];
    const tw_route_t deliver = tw_route(op, lane, length, 0, 0);
    const tw_route_t spread  = tw_route(op, lane, length, TW_DELIVER_SLOTS(op->comm->size), 2);
    tw_status_t      status;

    switch (lane->stage) {
    case 0:
        status = tw_deliver_receives(&deliver);
        if (status == TW_OK) {
            status = tw_spread_receives(&spread);
        }
        return status == TW_OK ? tw_deliver_send(&deliver, tw_grid_encode) : status;
    case 1:
        return tw_deliver_forward(&deliver);
    case 2:
        tw_grid_sum(&deliver, &spread);
        return tw_spread_send(&spread);
    case 3:
        return tw_spread_forward(&spread);
    default:
        if (tw_grid_receives(op)) {
            tw_grid_decode(&spread);
        }
        return TW_OK;
    }
}

static const tw_algorithm_ops_t tw_reduce_grid = {
    .name = "grid", .stages = 4, .step = tw_grid_step, .fill = tw_reduction_fill};

static bool tw_grid_usual(const tw_collective_call_t *call)
{
    return tw_policy_grid(&call->comm->policy, call->encoded, call->comm->size);
}

static void tw_grid_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    const int ranks = call->comm->size;

    shape->algorithm = &tw_reduce_grid;
    shape->sum       = true;
    shape->slots     = TW_DELIVER_SLOTS(ranks) + TW_SPREAD_SLOTS(ranks);
    shape->longest   = tw_share_longest(call, tw_codec_block(call->codec), (size_t)ranks);
    shape->fragment =
        tw_route_fragment(ranks); /* whatever was decided, as calibration measures it */
}

const tw_algorithm_row_t tw_reduction_grid = {
    .name = "grid", .number = TW_ALGORITHM_GRID, .usual = tw_grid_usual, .shape = tw_grid_shape};
