/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/grid/spread.c - a fragment of every rank to all ranks, or to one, in two hops.
 *
 * Slots: [0, P) the fragments of all ranks, by column; a column's bundle begins at a slot. Hop 1
 * assembles it there, and hop 2 sends it from there.
 */
#include "config.h"

#include "runtime/transport/coll/grid/bundle.h"

static uint8_t *tw_spread_column(const tw_route_t *route, int column)
{
    return tw_lane_slot(route->op, route->lane, route->slot + tw_grid_before(&route->grid, column));
}

uint8_t *tw_spread_at(const tw_route_t *route, int rank)
{
    const int column = rank % route->grid.columns;

    return tw_spread_column(route, column) +
           tw_bundle_column(route, column, rank / route->grid.columns).bytes;
}

/* Does the forwarder of our column in a row pass anything on to someone who wants it? */
static bool tw_spread_through(const tw_route_t *route, int row)
{
    const int root = route->op->root;

    return root < 0 || tw_grid_via(&route->grid, root, route->column) == row;
}

tw_status_t tw_spread_receives(const tw_route_t *route)
{
    const tw_request_t *op     = route->op;
    const int           rank   = op->comm->rank;
    tw_status_t         status = TW_OK;

    for (int row = 0; row < route->height && status == TW_OK; row++) {
        const int from = tw_route_rank(route, row, route->column);

        if (from != rank && tw_spread_through(route, route->row)) {
            status = tw_lane_recv(route->op, route->lane, route->stage, tw_spread_at(route, from),
                                  tw_op_size(op, tw_route_values(route, from)), from);
        }
    }
    for (int column = 0; column < route->grid.columns && status == TW_OK; column++) {
        const int height = tw_grid_height(&route->grid, column);

        if (column != route->column && (op->root < 0 || op->root == rank)) {
            status = tw_lane_recv(
                route->op, route->lane, route->stage + 1, tw_spread_column(route, column),
                tw_bundle_column(route, column, height).bytes,
                tw_route_rank(route, tw_grid_via(&route->grid, rank, column), column));
        }
    }
    return status;
}

tw_status_t tw_spread_send(const tw_route_t *route)
{
    const int      rank   = route->op->comm->rank;
    const size_t   n      = tw_route_values(route, rank);
    const uint8_t *codes  = tw_spread_at(route, rank);
    tw_status_t    status = TW_OK;

    for (int i = 1; i < route->height && status == TW_OK; i++) {
        const int row = (route->row + i) % route->height;

        if (tw_spread_through(route, row)) {
            status =
                tw_lane_send(route->op, route->lane, route->stage, route->stage, codes,
                             tw_op_size(route->op, n), tw_route_rank(route, row, route->column), n);
        }
    }
    return status;
}

tw_status_t tw_spread_forward(const tw_route_t *route)
{
    const int         root   = route->op->root;
    const tw_bundle_t bundle = tw_bundle_column(route, route->column, route->height);
    tw_status_t       status = TW_OK;

    for (int i = 1; i < route->members && status == TW_OK; i++) {
        const int to =
            tw_grid_member(&route->grid, route->row, (route->column + i) % route->members);

        if (root < 0 || root == to) {
            status = tw_lane_send(route->op, route->lane, route->stage + 1, route->stage + 1,
                                  tw_spread_column(route, route->column), bundle.bytes, to,
                                  bundle.values);
        }
    }
    return status;
}
