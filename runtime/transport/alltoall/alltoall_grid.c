/* SPDX-License-Identifier: BSD-3-Clause
 * transport/alltoall/alltoall_grid.c - for many ranks and short blocks of equal counts: encoded
 * blocks are delivered through a grid of ranks, in bundles, so that a rank sends about 2 sqrt(P)
 * messages for each piece instead of P-1, and nearly twice the bytes. The bits are those of
 * pairwise.
 *
 * One quantisation. Sent per rank: (2 P - R - C) x encoded block.
 */
#include "config.h"

#include "runtime/transport/alltoall/alltoall.h"
#include "runtime/transport/grid/route.h"

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

const tw_algorithm_ops_t tw_alltoall_grid = {
    .name = "grid", .stages = 2, .step = tw_alltoall_grid_step};
