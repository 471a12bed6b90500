/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/bcast/bcast_hierarchical.c - encoded fragments from node to node, along a chain or
 * a tree of nodes; inside a node every rank decodes them from its memory. The root encodes once.
 *
 * Round c arrives in the slot of rank c % L of a node of L ranks and is forwarded from there; on
 * the root's node, rank c % L sends it from the root's slot. Nodes are counted from the root's:
 * v = (node - root's) mod N; chain and tree as in bcast_forward.c. Sent per node: the encoded
 * vector (chain).
 */
#include "config.h"

#include "runtime/transport/coll/bcast/bcast.h"

static const tw_algorithm_ops_t tw_hier_chain;

static int tw_hier_from_root(const tw_request_t *op)
{
    const tw_nodes_t *nodes = op->comm->nodes;

    return (nodes->mine - nodes->node_of[op->root] + nodes->count) % nodes->count;
}

/* The number, on a node, of the rank that exchanges this round with other nodes. */
static int tw_hier_carrier(const tw_request_t *op, const tw_lane_t *lane, int node)
{
    return (int)(lane->round % (size_t)tw_nodes_ranks(op->comm->nodes, node));
}

/* The rank of node v that does. */
static int tw_hier_rank(const tw_request_t *op, const tw_lane_t *lane, int v)
{
    const tw_nodes_t *nodes = op->comm->nodes;
    const int         node  = (v + nodes->node_of[op->root]) % nodes->count;

    return tw_nodes_rank(nodes, node, tw_hier_carrier(op, lane, node));
}

/* The number of the rank in whose slot our node has the fragment. */
static int tw_hier_holder(const tw_request_t *op, const tw_lane_t *lane)
{
    return tw_hier_from_root(op) == 0 ? tw_nodes_local(op->comm->nodes, op->root)
                                      : tw_hier_carrier(op, lane, op->comm->nodes->mine);
}

static tw_status_t tw_hier_forward(tw_request_t *op, tw_lane_t *lane, size_t n,
                                   const uint8_t *codes)
{
    const unsigned nodes  = (unsigned)op->comm->nodes->count;
    const unsigned v      = (unsigned)tw_hier_from_root(op);
    const size_t   bytes  = tw_op_size(op, n);
    tw_status_t    status = TW_OK;
    unsigned       bit    = 1;

    if (op->algorithm == &tw_hier_chain) {
        return v + 1 < nodes ? tw_lane_send(op, lane, 2, 1, codes, bytes,
                                            tw_hier_rank(op, lane, (int)v + 1), n)
                             : TW_OK;
    }
    while (bit < nodes && (v & bit) == 0) {
        bit <<= 1;
    }
    for (bit >>= 1; bit > 0 && status == TW_OK; bit >>= 1) { /* the largest subtree first */
        if (v + bit < nodes) {
            status = tw_lane_send(op, lane, 2, 1, codes, bytes,
                                  tw_hier_rank(op, lane, (int)(v + bit)), n);
        }
    }
    return status;
}

/* Codes that are made, sent and decoded: where the holder has them for its node, or, in memory of a
 * device, in our lane, from where they can be staged. */
static uint8_t *tw_hier_codes(const tw_request_t *op, const tw_lane_t *lane)
{
    return op->device != NULL ? tw_lane_slot(op, lane, 0)
                              : tw_lane_room(op, lane, tw_hier_holder(op, lane));
}

/* They are in our lane: for the node. */
static void tw_hier_show(tw_request_t *op, tw_lane_t *lane, size_t n, const uint8_t *codes)
{
    uint8_t *room = tw_lane_room(op, lane, op->comm->node->local);

    if (room != codes) {
        tw_op_copy(op, room, codes, tw_op_size(op, n));
    }
    tw_lane_raise(op, lane, 1);
}

/* The fragment comes into being in our slot, or arrives there. */
static tw_status_t tw_hier_put(tw_request_t *op, tw_lane_t *lane, size_t n, uint8_t *codes)
{
    const int v      = tw_hier_from_root(op);
    const int parent = op->algorithm == &tw_hier_chain ? v - 1 : v & (v - 1);

    if (op->comm->rank == op->root) {
        tw_op_encode(op, tw_lane_at(op, lane, op->recv, 0), n, codes);
        tw_hier_show(op, lane, n, codes);
        return TW_OK;
    }
    return tw_lane_recv(op, lane, 1, codes, tw_op_size(op, n), tw_hier_rank(op, lane, parent));
}

static tw_status_t tw_hier_pass(tw_request_t *op, tw_lane_t *lane, size_t n, uint8_t *codes)
{
    const tw_segment_t *node   = op->comm->node;
    const bool          root   = op->comm->rank == op->root;
    const int           holder = tw_hier_holder(op, lane);
    const uint8_t      *room   = tw_lane_room(op, lane, holder);
    tw_status_t         status = TW_OK;

    if (!root && holder == node->local) {
        tw_hier_show(op, lane, n, codes);
    } else if (holder != node->local && room != codes) {
        tw_op_copy(op, codes, room, tw_op_size(op, n));
    }
    if (tw_hier_carrier(op, lane, op->comm->nodes->mine) == node->local) {
        status = tw_hier_forward(op, lane, n, codes);
    }
    if (!root || (op->flags & TW_BCAST_SAME) != 0) {
        tw_op_decode(op, codes, n, tw_lane_at(op, lane, op->recv, 0));
    }
    return status;
}

static tw_status_t tw_hier_bcast_step(tw_request_t *op, tw_lane_t *lane)
{
    const size_t n      = tw_lane_fragment(op, lane, op->count);
    const int    holder = tw_hier_holder(op, lane);
    uint8_t     *codes  = tw_hier_codes(op, lane);

    switch (lane->stage) {
    case 0:
        return TW_OK;
    case 1:
        return holder == op->comm->node->local ? tw_hier_put(op, lane, n, codes) : TW_OK;
    case 2:
        return tw_hier_pass(op, lane, n, codes);
    default:
        tw_lane_done(op, lane);
        return TW_OK;
    }
}

/* Stage 0: the slot is free. Stage 1: the fragment is there. */
static bool tw_hier_bcast_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    tw_comm_t     *comm   = op->comm;
    tw_segment_t  *node   = comm->node;
    const uint64_t ticket = tw_lane_ticket(op, lane);
    int            local  = tw_hier_holder(op, lane);
    const bool     holds  = local == node->local;
    bool           ready  = true;

    if (lane->stage == 0) {
        ready = holds ? tw_node_open(node, ticket, &local) : tw_node_near(node, ticket);
    } else if (lane->stage == 1 && !holds) {
        ready = tw_node_raised(node, local, ticket, 1);
    }
    if (!ready) {
        *peer_p = tw_nodes_rank(comm->nodes, comm->nodes->mine, local);
    }
    return ready;
}

static const tw_algorithm_ops_t tw_hier_chain = {.name   = "hierarchical",
                                                 .stages = 3,
                                                 .step   = tw_hier_bcast_step,
                                                 .ready  = tw_hier_bcast_ready,
                                                 .fill   = tw_collective_fill_whole};
static const tw_algorithm_ops_t tw_hier_tree  = {.name   = "hierarchical",
                                                 .stages = 3,
                                                 .step   = tw_hier_bcast_step,
                                                 .ready  = tw_hier_bcast_ready,
                                                 .fill   = tw_collective_fill_whole};

static tw_status_t tw_hier_serves(const tw_collective_call_t *call)
{
    return tw_collective_codes_most(call, 1) > 0 ? tw_node_ready(call->comm) : TW_ERR_UNSUPPORTED;
}

static void tw_hier_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    const bool chain =
        tw_policy_chain(&call->comm->policy, call->encoded, call->comm->nodes->count);

    shape->algorithm = chain ? &tw_hier_chain : &tw_hier_tree;
    shape->longest   = call->count;
    shape->most      = tw_collective_codes_most(call, 1);
    shape->slots     = tw_collective_on_slots(call) ? 1 : 0;
    shape->fragment  = chain ? tw_chain_fragment(call, call->comm->nodes->count) : call->fragment;
}

const tw_algorithm_row_t tw_bcast_hierarchical = {.name    = "hierarchical",
                                                  .number  = TW_ALGORITHM_HIERARCHICAL,
                                                  .in_node = true,
                                                  .serves  = tw_hier_serves,
                                                  .needs   = TW_NODES_NEED,
                                                  .usual   = tw_collective_of_nodes,
                                                  .shape   = tw_hier_shape};
