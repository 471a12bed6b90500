/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/traffic.h - what a call is counted by where its messages do not say it.
 */
#ifndef TW_TRANSPORT_COLL_TRAFFIC_H
#define TW_TRANSPORT_COLL_TRAFFIC_H

#include "runtime/transport/coll/collective.h"

/* What this rank sends to the others of `ranks` ranks, all or those of its node, where no byte is
 * sent in vain: of P ranks and V bytes, 2 (P-1)/P V in an allreduce, (P-1)/P V in a reduction to
 * one or to shares, (P-1) V of blocks; of a broadcast, V from all ranks but the last. */
uint64_t tw_traffic_least(const tw_collective_call_t *call, int ranks, size_t element);

/* Of a call of which a part goes through the memory of the node, or none. */
tw_traffic_t tw_traffic(const tw_collective_call_t *call, bool in_memory, size_t element);

#endif /* TW_TRANSPORT_COLL_TRAFFIC_H */
