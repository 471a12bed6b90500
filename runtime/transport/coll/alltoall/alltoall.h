/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/alltoall/alltoall.h - alltoall and alltoallv.
 */
#ifndef TW_TRANSPORT_COLL_ALLTOALL_ALLTOALL_H
#define TW_TRANSPORT_COLL_ALLTOALL_ALLTOALL_H

#include "runtime/transport/coll/collective.h"

enum { TW_SEND_COUNT = 0, TW_SEND_FIRST = 1, TW_RECV_COUNT = 2, TW_RECV_FIRST = 3 }; /* op->array */

/* Pairwise and hierarchical serve alltoallv, too; with a root, scatter(v) and gather(v). */
#define TW_ALLTOALL_ROW(x, name, considered) extern const tw_algorithm_row_t tw_alltoall_##name;
TW_ALLTOALL_ALGORITHMS(TW_ALLTOALL_ROW, )

/* The blocks to send: in place, the blocks to receive. */
static inline const tw_blocks_t *tw_blocks_out(const tw_collective_call_t *call)
{
    return call->send == TW_IN_PLACE ? &call->in : &call->out;
}

/* Fill an operation: the positions of the blocks, and the rounds of the longest one. */
void tw_alltoall_fill(tw_request_t *op, const tw_collective_call_t *call);

/* ---- pairwise, and for the blocks that hierarchical leaves to it ----------------------------- */

/* Does something else take care of blocks of n values? */
typedef bool (*tw_alltoall_other_t)(const tw_request_t *op, size_t n);

/* Shape, and the two steps: encode this lane's fragments and post their messages, for which `stage`
 * waits; decode. other: NULL for all blocks. */
void        tw_alltoall_shape(const tw_collective_call_t *call, tw_request_shape_t *shape);
tw_status_t tw_alltoall_exchange(tw_request_t *op, tw_lane_t *lane, int stage,
                                 tw_alltoall_other_t other);
void        tw_alltoall_decode(tw_request_t *op, tw_lane_t *lane, tw_alltoall_other_t other);

#endif /* TW_TRANSPORT_COLL_ALLTOALL_ALLTOALL_H */
