/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/traffic.c - see traffic.h.
 */
#include "config.h"

#include "runtime/transport/coll/traffic.h"

static uint64_t tw_traffic_values(const tw_blocks_t *blocks, int ranks)
{
    uint64_t total = 0;

    for (int r = 0; r < ranks; r++) {
        total += tw_blocks_count(blocks, r);
    }
    return total;
}

uint64_t tw_traffic_least(const tw_collective_call_t *call, int ranks, size_t element)
{
    const tw_comm_t *comm   = call->comm;
    const uint64_t   others = (uint64_t)ranks - 1, among = (uint64_t)ranks;
    const uint64_t   bytes = call->count * element;
    const int        from =
        ranks == comm->size ? (comm->rank - call->root + ranks) % ranks : comm->nodes->local;

    switch (call->collective->operation) {
    case TW_OPERATION_ALLREDUCE:
        return 2 * others * bytes / among;
    case TW_OPERATION_REDUCE:
        return others * bytes / among;
    case TW_OPERATION_BCAST:
        return from < ranks - 1 ? bytes : 0;
    case TW_OPERATION_ALLTOALL:
        return others * bytes;
    default:
        return others * tw_traffic_values(&call->in, comm->size) * element / among;
    }
}

/* Values that the call was given: of blocks those that leave this rank. */
static uint64_t tw_traffic_given(const tw_collective_call_t *call)
{
    switch (call->collective->operation) {
    case TW_OPERATION_ALLGATHER:
        return tw_blocks_count(&call->in, call->comm->rank);
    case TW_OPERATION_ALLTOALL:
        return tw_traffic_values(&call->out, call->comm->size);
    default:
        return call->count;
    }
}

tw_traffic_t tw_traffic(const tw_collective_call_t *call, bool in_memory, size_t element)
{
    const tw_nodes_t *nodes = call->comm->nodes;
    const int         ranks = tw_nodes_ranks(nodes, nodes->mine);

    return (tw_traffic_t){.elements = tw_traffic_given(call) * element,
                          .memory   = in_memory ? tw_traffic_least(call, ranks, element) : 0};
}
