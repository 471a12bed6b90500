/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allgather/allgather_grid.c - for many ranks: encoded blocks are spread through a
 * grid of ranks, in bundles of a column, so that a rank sends about 2 sqrt(P) messages for each
 * fragment instead of P-1. Results and the number of bytes are those of pairwise.
 *
 * One quantisation. Sent per rank: x encoded block + (C-1) x encoded blocks of a column.
 */
#include "config.h"

#include "runtime/transport/coll/allgather/allgather.h"
#include "runtime/transport/coll/grid/route.h"

static tw_status_t tw_gather_grid_start(const tw_route_t *spread)
{
    tw_request_t     *op     = spread->op;
    const int         rank   = op->comm->rank;
    const size_t      n      = tw_route_values(spread, rank);
    const tw_status_t status = tw_spread_receives(spread);

    if (n > 0) {
        tw_op_encode(op, tw_lane_at(op, spread->lane, op->send, 0), n, tw_spread_at(spread, rank));
    }
    return status == TW_OK ? tw_spread_send(spread) : status;
}

static void tw_gather_grid_decode(const tw_route_t *spread)
{
    tw_request_t *op = spread->op;

    for (int r = 0; r < op->comm->size; r++) {
        const size_t n = tw_route_values(spread, r);

        if (n > 0) {
            tw_op_decode(op, tw_spread_at(spread, r), n,
                         tw_lane_at(op, spread->lane, op->recv, op->array[TW_GATHER_FIRST][r]));
        }
    }
}

static tw_status_t tw_gather_grid_step(tw_request_t *op, tw_lane_t *lane)
{
    const tw_route_t spread = tw_route(op, lane, op->array[TW_GATHER_COUNT], 0, 0);

    switch (lane->stage) {
    case 0:
        return tw_gather_grid_start(&spread);
    case 1:
        return tw_spread_forward(&spread);
    default:
        tw_gather_grid_decode(&spread);
        return TW_OK;
    }
}

static const tw_algorithm_ops_t tw_grid_ops = {
    .name = "grid", .stages = 2, .step = tw_gather_grid_step, .fill = tw_gather_fill};

static bool tw_grid_usual(const tw_collective_call_t *call)
{
    return tw_policy_allgather_grid(&call->comm->policy, call->comm->size);
}

static void tw_grid_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    shape->algorithm = &tw_grid_ops;
    shape->slots     = TW_SPREAD_SLOTS(call->comm->size);
    shape->longest   = tw_gather_longest(call);
    shape->fragment  = call->fragment > 0 ? call->fragment : tw_route_fragment(call->comm->size);
}

const tw_algorithm_row_t tw_allgather_grid = {
    .name = "grid", .usual = tw_grid_usual, .shape = tw_grid_shape};
