/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/node.c - see node.h.
 */
#include "config.h"

#include "runtime/codec/offers.h"
#include "runtime/transport/coll/node.h"

size_t tw_node_identity(const tw_comm_t *comm, const tw_how_t *how)
{
    if (comm->nodes->count != 1 || comm->size == 1 || (how != NULL && how->feedback != NULL)) {
        return 0;
    }
    if (how == NULL || how->codec == NULL) {
        return sizeof(float);
    }
    return tw_codec_exact_element(how->codec);
}

size_t tw_node_quick(const tw_comm_t *comm, const tw_how_t *how)
{
    if (comm->node->state != TW_NODE_THERE || comm->config.check || comm->progress_thread != NULL ||
        (how != NULL && (how->exec != NULL || (how->flags & ~TW_BCAST_SAME) != 0))) {
        return 0;
    }
    return tw_node_identity(comm, how);
}

bool tw_node_exchange_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    tw_comm_t     *comm   = op->comm;
    const uint64_t ticket = tw_lane_ticket(op, lane);
    int            local  = comm->node->local;
    const bool     ready  = lane->stage == 0
                                ? tw_node_open(comm->node, ticket, &local)
                                : tw_node_all_raised(comm->node, ticket, (unsigned)lane->stage, &local);

    if (!ready) {
        *peer_p = tw_nodes_rank(comm->nodes, comm->nodes->mine, local);
    }
    return ready;
}
