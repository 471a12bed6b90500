/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/alltoall/alltoall.h - alltoall and alltoallv.
 */
#ifndef TW_TRANSPORT_COLL_ALLTOALL_ALLTOALL_H
#define TW_TRANSPORT_COLL_ALLTOALL_ALLTOALL_H

#include "runtime/transport/coll/collective.h"

enum { TW_SEND_COUNT = 0, TW_SEND_FIRST = 1, TW_RECV_COUNT = 2, TW_RECV_FIRST = 3 }; /* op->array */

/* For equal counts; alltoallv has only pairwise. */
#define TW_ALLTOALL_ROW(x, name, considered) extern const tw_algorithm_row_t tw_alltoall_##name;
TW_ALLTOALL_ALGORITHMS(TW_ALLTOALL_ROW, )

/* The blocks to send: in place, the blocks to receive. */
static inline const tw_blocks_t *tw_blocks_out(const tw_collective_call_t *call)
{
    return call->send == TW_IN_PLACE ? &call->in : &call->out;
}

/* Fill an operation: the positions of the blocks, and the rounds of the longest one. */
void tw_alltoall_fill(tw_request_t *op, const tw_collective_call_t *call);

#endif /* TW_TRANSPORT_COLL_ALLTOALL_ALLTOALL_H */
