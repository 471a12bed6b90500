/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/traffic.h - counted traffic of calls without messages.
 */
#ifndef TW_TRANSPORT_COLL_TRAFFIC_H
#define TW_TRANSPORT_COLL_TRAFFIC_H

#include "runtime/transport/coll/collective.h"

/* The least bytes that this rank must send to the others of `ranks` ranks (all, or those of its
 * node). For P ranks and V bytes: allreduce 2 (P-1)/P V; reduce and reduce-scatter (P-1)/P V;
 * blocks of V bytes (P-1) V; bcast V from every rank but the last. */
uint64_t tw_traffic_least(const tw_collective_call_t *call, int ranks, size_t element);

/* Traffic of a call; in_memory: a part goes through the memory of the node. */
tw_traffic_t tw_traffic(const tw_collective_call_t *call, bool in_memory, size_t element);

#endif /* TW_TRANSPORT_COLL_TRAFFIC_H */
