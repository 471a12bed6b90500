/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/bcast/bcast.h - algorithms of bcast.
 */
#ifndef TW_TRANSPORT_COLL_BCAST_BCAST_H
#define TW_TRANSPORT_COLL_BCAST_BCAST_H

#include "runtime/transport/coll/collective.h"

#define TW_BCAST_ROW(x, name, considered) extern const tw_algorithm_row_t tw_bcast_##name;
TW_BCAST_ALGORITHMS(TW_BCAST_ROW, )

/* Bytes of codes in a fragment along a chain of so many ranks, or nodes. */
static inline size_t tw_chain_fragment(const tw_collective_call_t *call, int links)
{
    return call->fragment > 0
               ? call->fragment
               : tw_policy_chain_fragment(call->comm->policy.message_cost, call->encoded, links);
}

#endif /* TW_TRANSPORT_COLL_BCAST_BCAST_H */
