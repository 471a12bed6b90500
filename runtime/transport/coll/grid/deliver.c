/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/grid/deliver.c - a fragment from every rank to every rank, in two hops.
 *
 * Slots, four parts of P, which suffice for any P (tests/policy/test_grid.c):
 *   [0, P)   this rank's fragments for all, by column; a column's bundle begins at a slot
 *   [P, 2P)  hop 1: from each other member, the bundle for this rank's column
 *   [2P, 3P) the same, regrouped: for each other rank of the column, the fragments of all members
 *   [3P, 4P) hop 2: from each other rank of the column, the bundle for this rank
 */
#include "config.h"

#include "runtime/transport/coll/grid/bundle.h"

/* Where a part of the slots begins, `slots` further on. */
static uint8_t *tw_deliver_part(const tw_route_t *route, int part, int slots)
{
    return tw_lane_slot(route->op, route->lane, route->slot + part * route->grid.ranks + slots);
}

/* Place i among the others, where `own` is left out. */
static int tw_without(int i, int own)
{
    return i < own ? i : i - 1;
}

/* Our bundle for a column. */
static uint8_t *tw_deliver_out(const tw_route_t *route, int column)
{
    return tw_deliver_part(route, 0, tw_grid_before(&route->grid, column));
}

/* The bundle of our member i for our column; our own never travelled. */
static uint8_t *tw_deliver_in(const tw_route_t *route, int member)
{
    if (member == route->column) {
        return tw_deliver_out(route, route->column);
    }
    return tw_deliver_part(route, 1, tw_without(member, route->column) * route->height);
}

/* What all members of ours have for the rank of our column in a row. */
static uint8_t *tw_deliver_regrouped(const tw_route_t *route, int row)
{
    return tw_deliver_part(route, 2, tw_without(row, route->row) * route->members);
}

/* What the members of the rank of our column in a row have for us. */
static uint8_t *tw_deliver_got(const tw_route_t *route, int row)
{
    int slots = 0;

    for (int above = 0; above < row; above++) {
        slots += above != route->row ? tw_grid_members(&route->grid, above, route->column) : 0;
    }
    return tw_deliver_part(route, 3, slots);
}

tw_status_t tw_deliver_receives(const tw_route_t *route)
{
    const int         rank   = route->op->comm->rank;
    const size_t      bytes  = tw_op_size(route->op, tw_route_values(route, rank));
    const tw_bundle_t column = tw_bundle_column(route, route->column, route->height);
    tw_status_t       status = TW_OK;

    for (int i = 0; i < route->members && status == TW_OK; i++) {
        if (i != route->column) {
            status = tw_lane_recv(route->op, route->lane, route->stage, tw_deliver_in(route, i),
                                  column.bytes, tw_grid_member(&route->grid, route->row, i));
        }
    }
    for (int row = 0; row < route->height && status == TW_OK; row++) {
        const int members = tw_grid_members(&route->grid, row, route->column);

        if (row != route->row) {
            status =
                tw_lane_recv(route->op, route->lane, route->stage + 1, tw_deliver_got(route, row),
                             (size_t)members * bytes, tw_route_rank(route, row, route->column));
        }
    }
    return status;
}

tw_status_t tw_deliver_send(const tw_route_t *route, tw_route_encode_t encode)
{
    const int   rank   = route->op->comm->rank;
    tw_status_t status = TW_OK;

    for (int i = 1; i <= route->grid.columns && status == TW_OK; i++) {
        const int   column = (route->column + i) % route->grid.columns;
        const int   height = tw_grid_height(&route->grid, column);
        tw_bundle_t bundle = {0, 0};

        for (int row = 0; row < height; row++) {
            const int    owner = tw_route_rank(route, row, column);
            const size_t n     = tw_route_values(route, owner);

            if (n > 0) {
                encode(route, owner, n, tw_deliver_out(route, column) + bundle.bytes);
            }
            bundle.values += n;
            bundle.bytes += tw_op_size(route->op, n);
        }
        if (column != route->column) {
            const int via = tw_route_rank(route, tw_grid_via(&route->grid, rank, column), column);

            status = tw_lane_send(route->op, route->lane, route->stage, route->stage,
                                  tw_deliver_out(route, column), bundle.bytes, via, bundle.values);
        }
    }
    return status;
}

tw_status_t tw_deliver_forward(const tw_route_t *route)
{
    tw_status_t status = TW_OK;

    for (int i = 1; i < route->height && status == TW_OK; i++) {
        const int    row   = (route->row + i) % route->height;
        const int    owner = tw_route_rank(route, row, route->column);
        const size_t n     = tw_route_values(route, owner);
        const size_t bytes = tw_op_size(route->op, n);
        const size_t at    = tw_bundle_column(route, route->column, row).bytes;
        uint8_t     *to    = tw_deliver_regrouped(route, row);

        for (int member = 0; member < route->members; member++) {
            tw_op_copy(route->op, to + (size_t)member * bytes, tw_deliver_in(route, member) + at,
                       bytes);
        }
        status = tw_lane_send(route->op, route->lane, route->stage + 1, route->stage + 1, to,
                              (size_t)route->members * bytes, owner, (size_t)route->members * n);
    }
    return status;
}

const uint8_t *tw_deliver_from(const tw_route_t *route, int rank)
{
    const int    via   = tw_grid_via(&route->grid, rank, route->column);
    const int    index = tw_grid_index(&route->grid, rank, route->column);
    const size_t bytes = tw_op_size(route->op, tw_route_values(route, route->op->comm->rank));

    if (via == route->row) {
        return tw_deliver_in(route, index) +
               tw_bundle_column(route, route->column, route->row).bytes;
    }
    return tw_deliver_got(route, via) + (size_t)index * bytes;
}
