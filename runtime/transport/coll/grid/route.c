/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/grid/route.c - position of a rank in the grid, and bundles.
 */
#include "config.h"

#include "runtime/transport/coll/grid/bundle.h"

tw_route_t tw_route(tw_request_t *op, tw_lane_t *lane, const size_t *length, int slot, int stage)
{
    tw_route_t route = {.op     = op,
                        .lane   = lane,
                        .length = length,
                        .grid   = tw_grid(op->comm->size),
                        .slot   = slot,
                        .stage  = stage};

    route.row     = op->comm->rank / route.grid.columns;
    route.column  = op->comm->rank % route.grid.columns;
    route.height  = tw_grid_height(&route.grid, route.column);
    route.members = tw_grid_members(&route.grid, route.row, route.column);
    return route;
}

size_t tw_route_fragment(int ranks)
{
    return TW_FRAGMENT / (size_t)tw_grid(ranks).columns;
}

tw_bundle_t tw_bundle_column(const tw_route_t *route, int column, int rows)
{
    tw_bundle_t bundle = {0, 0};

    for (int row = 0; row < rows; row++) {
        const size_t n = tw_route_values(route, tw_route_rank(route, row, column));

        bundle.values += n;
        bundle.bytes += tw_op_size(route->op, n);
    }
    return bundle;
}
