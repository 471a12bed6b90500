/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/grid/bundle.h - common code of deliver and spread: bundles of a column.
 */
#ifndef TW_TRANSPORT_COLL_GRID_BUNDLE_H
#define TW_TRANSPORT_COLL_GRID_BUNDLE_H

#include "runtime/transport/coll/grid/route.h"

typedef struct tw_bundle {
    size_t values, bytes;
} tw_bundle_t;

static inline int tw_route_rank(const tw_route_t *route, int row, int column)
{
    return row * route->grid.columns + column;
}

/* Total size of the fragments of the first `rows` ranks of a column. */
tw_bundle_t tw_bundle_column(const tw_route_t *route, int column, int rows);

#endif /* TW_TRANSPORT_COLL_GRID_BUNDLE_H */
