/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/grid/route.h - routing of unchanged codes through the grid of ranks
 * (policy/grid.h).
 *
 * There are two patterns, each of two hops; each hop is a stage of the engine. A bundle is one
 * message; its fragments are contiguous in a lane's buffer.
 *
 *   deliver: every rank has a fragment for every other (a share of its vector, a block of an
 *            alltoall). Hop 1 sends, along the rows, all fragments for the ranks of a column to its
 *            forwarder; hop 2 sends, down the column, the regrouped fragments of the forwarder's
 *            members for one rank. Sent per rank: about (columns-1)/columns + (rows-1)/rows of its
 *            codes.
 *   spread:  every rank has one fragment for all. Hop 1 sends it to the forwarders in its column;
 *            hop 2 sends the fragments of the whole column from each forwarder to its members.
 *            Sent per rank: as much as with pairwise messages.
 *
 * The fragment of rank r is this lane's fragment of an interval of length[r] values: for deliver,
 * each rank's interval for r; for spread, the interval of r. All ranks know all lengths.
 */
#ifndef TW_TRANSPORT_COLL_GRID_ROUTE_H
#define TW_TRANSPORT_COLL_GRID_ROUTE_H

#include "runtime/policy/grid.h"
#include "runtime/transport/engine/request.h"

#define TW_DELIVER_SLOTS(ranks) (4 * (ranks)) /* of a lane that delivers */
#define TW_SPREAD_SLOTS(ranks)  (ranks)       /* of one that spreads     */

typedef struct tw_route {
    tw_request_t *op;
    tw_lane_t    *lane;
    const size_t *length;
    tw_grid_t     grid;
    int           row, column; /* of this rank */
    int           height;      /* of this rank's column */
    int           members;     /* of this rank */
    int           slot;        /* first of the slots used */
    int           stage;       /* of hop 1 */
} tw_route_t;

/* A route of this rank for this lane: fragments of length[r] values, slots from `slot` on, hops in
 * stages `stage` and stage + 1. */
tw_route_t tw_route(tw_request_t *op, tw_lane_t *lane, const size_t *length, int slot, int stage);

/* Target bytes of a fragment, so that a bundle has the target size of a message. */
size_t tw_route_fragment(int ranks);

/* Values of the fragment of a rank. */
static inline size_t tw_route_values(const tw_route_t *route, int rank)
{
    return tw_lane_fragment(route->op, route->lane, route->length[rank]);
}

/* ---- deliver ------------------------------------------------------------------------------- */

/* Post the receives of both hops. */
tw_status_t tw_deliver_receives(const tw_route_t *route);
/* Hop 1: send this rank's fragments for each other column; `encode` encodes each fragment. */
typedef void (*tw_route_encode_t)(const tw_route_t *route, int rank, size_t n, uint8_t *codes);
tw_status_t tw_deliver_send(const tw_route_t *route, tw_route_encode_t encode);
/* Hop 2: regroup and forward. */
tw_status_t tw_deliver_forward(const tw_route_t *route);
/* After hop 2: the fragment of `rank` for this rank. */
const uint8_t *tw_deliver_from(const tw_route_t *route, int rank);

/* ---- spread -------------------------------------------------------------------------------- */

/* Post the receives of both hops. If op->root is a rank, only that rank receives all fragments. */
tw_status_t tw_spread_receives(const tw_route_t *route);
/* Address of a rank's fragment: valid for this rank before hop 1, for all after hop 2. */
uint8_t *tw_spread_at(const tw_route_t *route, int rank);
/* Hop 1: send this rank's fragment along its column. */
tw_status_t tw_spread_send(const tw_route_t *route);
/* Hop 2: send the fragments of this rank's column to its members. */
tw_status_t tw_spread_forward(const tw_route_t *route);

#endif /* TW_TRANSPORT_COLL_GRID_ROUTE_H */
