/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allgather/allgather.h - allgather and allgatherv.
 */
#ifndef TW_TRANSPORT_COLL_ALLGATHER_ALLGATHER_H
#define TW_TRANSPORT_COLL_ALLGATHER_ALLGATHER_H

#include "runtime/transport/coll/collective.h"

enum { TW_GATHER_COUNT = 0, TW_GATHER_FIRST = 1 }; /* op->array */

#define TW_ALLGATHER_ROW(x, name, considered) extern const tw_algorithm_row_t tw_allgather_##name;
TW_ALLGATHER_ALGORITHMS(TW_ALLGATHER_ROW, )

/* Fill an operation: the position of each rank's block; in place, this rank's block is sent from
 * there. */
void tw_gather_fill(tw_request_t *op, const tw_collective_call_t *call);

/* The longest block. */
size_t tw_gather_longest(const tw_collective_call_t *call);

#endif /* TW_TRANSPORT_COLL_ALLGATHER_ALLGATHER_H */
