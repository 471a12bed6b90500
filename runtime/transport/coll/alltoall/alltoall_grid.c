/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/alltoall/alltoall_grid.c - for many ranks and short blocks of equal counts:
 * encoded blocks are delivered through a grid of ranks, in bundles, so that a rank sends about 2
 * sqrt(P) messages for each fragment instead of P-1, and nearly twice the bytes. Results are those
 * of pairwise.
 *
 * One quantisation. Sent per rank: (2 P - R - C) x encoded block.
 */
#include "config.h"

#include "runtime/transport/coll/alltoall/alltoall.h"
#include "runtime/transport/coll/grid/route.h"

static void tw_alltoall_grid_encode(const tw_route_t *route, int rank, size_t n, uint8_t *codes)
{
    tw_request_t *op = route->op;

    tw_op_encode(op, tw_lane_at(op, route->lane, op->send, op->array[TW_SEND_FIRST][rank]), n,
                 codes);
}

static void tw_alltoall_grid_decode(const tw_route_t *deliver)
{
    tw_request_t *op = deliver->op;

    for (int r = 0; r < op->comm->size; r++) {
        const size_t n = tw_route_values(deliver, r);

        if (n > 0) {
            tw_op_decode(op, tw_deliver_from(deliver, r), n,
                         tw_lane_at(op, deliver->lane, op->recv, op->array[TW_RECV_FIRST][r]));
        }
    }
}

static tw_status_t tw_alltoall_grid_step(tw_request_t *op, tw_lane_t *lane)
{
    const tw_route_t deliver = tw_route(op, lane, op->array[TW_SEND_COUNT], 0, 0);
    tw_status_t      status;

    switch (lane->stage) {
    case 0:
        status = tw_deliver_receives(&deliver);
        return status == TW_OK ? tw_deliver_send(&deliver, tw_alltoall_grid_encode) : status;
    case 1:
        return tw_deliver_forward(&deliver);
    default:
        tw_alltoall_grid_decode(&deliver);
        return TW_OK;
    }
}

static const tw_algorithm_ops_t tw_grid_ops = {
    .name = "grid", .stages = 2, .step = tw_alltoall_grid_step, .fill = tw_alltoall_fill};

static bool tw_grid_usual(const tw_collective_call_t *call)
{
    return tw_policy_alltoall_grid(&call->comm->policy, call->encoded, call->comm->size);
}

static void tw_grid_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    shape->algorithm = &tw_grid_ops;
    shape->slots     = TW_DELIVER_SLOTS(call->comm->size);
    shape->longest   = call->in.each;
    shape->fragment  = call->fragment > 0 ? call->fragment : tw_route_fragment(call->comm->size);
}

const tw_algorithm_row_t tw_alltoall_grid = {
    .name = "grid", .usual = tw_grid_usual, .shape = tw_grid_shape};
