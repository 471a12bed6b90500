/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/alltoall/alltoall_hierarchical.c - short blocks from the ranks of a node to those
 * of another travel in one message; long ones as `pairwise` sends them. Both ranks of a pair know
 * by its count which it is, so alltoallv has it, too.
 *
 *     stage 1   every rank encodes its short blocks into its slot, with the counts of what it
 *               sends and receives                                                  phase 1
 *     stage 2   number t % K of a node of K ranks packs the blocks for node t, sends them, and
 *               receives those of node t into its slot
 *     stage 3   the messages have arrived                                           phase 3
 *     stage 4   every rank decodes
 *
 * Only the first round does this, with the ticket of the operation; further rounds have fragments
 * of long blocks. One quantisation, the bits of `pairwise`, and its bytes. Slots of a lane as
 * there. Slot of a rank: counts (out, in) of each rank | codes for each rank | packed messages |
 * messages that arrived; of `most` bytes for a pair. In host memory only.
 */
#include "config.h"

#include "runtime/policy/grid.h"
#include "runtime/transport/coll/alltoall/alltoall.h"
#include "runtime/transport/coll/node.h"

/* Phases of the ticket: each is the stage that waits for it. */
enum { TW_ENCODED = 1, TW_ARRIVED = 3 };

/* Bytes of codes of a short block in a slot of few bytes, which holds no more than that. */
#define TW_PAIR_LEAST ((size_t)64)

typedef struct tw_pair_counts {
    uint32_t out, in; /* values of short blocks */
} tw_pair_counts_t;

/* Nodes with which one rank exchanges messages, at most, and pairs of a message. */
static size_t tw_pair_messages(const tw_nodes_t *nodes)
{
    return (size_t)((nodes->count + nodes->least - 1) / nodes->least);
}

static size_t tw_pair_bundle(const tw_nodes_t *nodes)
{
    return (size_t)nodes->most * (size_t)nodes->most;
}

/* Bytes of a slot for each pair. */
static size_t tw_pair_room(const tw_nodes_t *nodes, size_t ranks)
{
    const size_t pairs  = ranks + 2 * tw_pair_messages(nodes) * tw_pair_bundle(nodes);
    const size_t room   = tw_node_slot_bytes(nodes->most);
    const size_t counts = ranks * sizeof(tw_pair_counts_t);

    return room > counts ? (room - counts) / pairs / 8 * 8 : 0;
}

/* Most bytes of codes of a short block; equal on all ranks. A message is not cut: a stage has no
 * room for its parts. */
static size_t tw_pair_most(const tw_comm_t *comm)
{
    const size_t whole = comm->config.message_limit / tw_pair_bundle(comm->nodes) / 8 * 8;
    const size_t room  = tw_pair_room(comm->nodes, (size_t)comm->size);
    const size_t most  = room < whole ? room : whole;

    return most < TW_PAIR_MOST ? most : TW_PAIR_MOST;
}

static bool tw_pair_is_short(const tw_request_t *op, size_t n)
{
    return n <= op->chunk && tw_op_size(op, n) <= tw_pair_most(op->comm);
}

/* ---- the slot of a rank ---------------------------------------------------------------------- */

static tw_pair_counts_t *tw_pair_counts(const tw_request_t *op, const tw_lane_t *lane, int local)
{
    return (tw_pair_counts_t *)(void *)tw_lane_room(op, lane, local);
}

/* What follows the counts: pair number i. */
static uint8_t *tw_pair_area(const tw_request_t *op, const tw_lane_t *lane, int local, size_t i)
{
    return (uint8_t *)(tw_pair_counts(op, lane, local) + op->comm->size) +
           i * tw_pair_most(op->comm);
}

/* The message to another node in the slot of the rank that sends it, or from it. */
static uint8_t *tw_pair_message(const tw_request_t *op, const tw_lane_t *lane, int node, bool in)
{
    const tw_nodes_t *nodes = op->comm->nodes;
    const int         ranks = op->comm->node->ranks;
    const size_t      at    = (size_t)(node / ranks) + (in ? tw_pair_messages(nodes) : 0);

    return tw_pair_area(op, lane, node % ranks,
                        (size_t)op->comm->size + at * tw_pair_bundle(nodes));
}

static uint32_t tw_pair_values(const tw_request_t *op, const tw_lane_t *lane, int local, int rank,
                               bool in)
{
    const tw_pair_counts_t *counts = tw_pair_counts(op, lane, local) + rank;

    return in ? counts->in : counts->out;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void tw_pair_encode(tw_request_t *op, tw_lane_t *lane)
{
    const tw_nodes_t *nodes  = op->comm->nodes;
    const int         mine   = nodes->local;
    tw_pair_counts_t *counts = tw_pair_counts(op, lane, mine);

    for (int r = 0; r < op->comm->size; r++) {
        const size_t out = op->array[TW_SEND_COUNT][r], in = op->array[TW_RECV_COUNT][r];

        counts[r].out = tw_pair_is_short(op, out) ? (uint32_t)out : 0;
        counts[r].in  = tw_pair_is_short(op, in) ? (uint32_t)in : 0;
        if (counts[r].out > 0 && r != op->comm->rank && nodes->node_of[r] == nodes->mine) {
            op->comm->stats.bytes_memory += tw_op_size(op, out);
        }
        if (counts[r].out > 0) {
            tw_op_encode(op, tw_op_at(op, op->send, op->array[TW_SEND_FIRST][r]), out,
                         tw_pair_area(op, lane, mine, (size_t)r));
        }
    }
    tw_lane_raise(op, lane, TW_ENCODED);
}

/* The codes of this node's ranks for another node's, one after the other. @return bytes. */
static size_t tw_pair_pack(tw_request_t *op, tw_lane_t *lane, int node, size_t *values_p)
{
    const tw_nodes_t *nodes = op->comm->nodes;
    uint8_t          *to    = tw_pair_message(op, lane, node, false);
    size_t            bytes = 0;

    *values_p = 0;
    for (int from = 0; from < op->comm->node->ranks; from++) {
        for (int q = 0; q < tw_nodes_ranks(nodes, node); q++) {
            const int    rank = tw_nodes_rank(nodes, node, q);
            const size_t n    = tw_pair_values(op, lane, from, rank, false);

            tw_op_copy(op, to + bytes, tw_pair_area(op, lane, from, (size_t)rank),
                       tw_op_size(op, n));
            bytes += tw_op_size(op, n);
            *values_p += n;
        }
    }
    return bytes;
}

/* Bytes of the blocks from a rank for all ranks of this node with numbers below `local`. */
static size_t tw_pair_before(const tw_request_t *op, const tw_lane_t *lane, int rank, int local)
{
    size_t bytes = 0;

    for (int i = 0; i < local; i++) {
        bytes += tw_op_size(op, tw_pair_values(op, lane, i, rank, true));
    }
    return bytes;
}

/* Bytes of the message from another node. */
static size_t tw_pair_bytes(const tw_request_t *op, const tw_lane_t *lane, int node)
{
    const tw_nodes_t *nodes = op->comm->nodes;
    size_t            bytes = 0;

    for (int q = 0; q < tw_nodes_ranks(nodes, node); q++) {
        bytes += tw_pair_before(op, lane, tw_nodes_rank(nodes, node, q), op->comm->node->ranks);
    }
    return bytes;
}

static tw_status_t tw_pair_exchange(tw_request_t *op, tw_lane_t *lane)
{
    const tw_nodes_t *nodes  = op->comm->nodes;
    tw_status_t       status = TW_OK;
    size_t            values;

    for (int t = nodes->local; t < nodes->count && status == TW_OK; t += op->comm->node->ranks) {
        const int ranks = tw_nodes_ranks(nodes, t);
        const int peer  = tw_nodes_rank(nodes, t, nodes->mine % ranks);

        if (t == nodes->mine) {
            continue;
        }
        status = tw_lane_recv(op, lane, 2, tw_pair_message(op, lane, t, true),
                              tw_pair_bytes(op, lane, t), peer);
        if (status == TW_OK) {
            const size_t bytes = tw_pair_pack(op, lane, t, &values);

            status = tw_lane_send(op, lane, 2, 2, tw_pair_message(op, lane, t, false), bytes, peer,
                                  values);
        }
    }
    return status;
}

/* The blocks for this rank from one node. */
static void tw_pair_decode(tw_request_t *op, tw_lane_t *lane, int node)
{
    const tw_nodes_t *nodes = op->comm->nodes;
    const int         local = nodes->local, ranks = op->comm->node->ranks;
    size_t            at = 0;

    for (int q = 0; q < tw_nodes_ranks(nodes, node); q++) {
        const int      rank  = tw_nodes_rank(nodes, node, q);
        const size_t   n     = tw_pair_values(op, lane, local, rank, true);
        const uint8_t *codes = node == nodes->mine
                                   ? tw_pair_area(op, lane, q, (size_t)op->comm->rank)
                                   : tw_pair_message(op, lane, node, true) + at +
                                         tw_pair_before(op, lane, rank, local);

        if (n > 0) {
            tw_op_decode(op, codes, n, tw_op_at(op, op->recv, op->array[TW_RECV_FIRST][rank]));
        }
        at += tw_pair_before(op, lane, rank, ranks);
    }
}

static void tw_pair_finish(tw_request_t *op, tw_lane_t *lane)
{
    for (int node = 0; node < op->comm->nodes->count; node++) {
        tw_pair_decode(op, lane, node);
    }
    tw_lane_done(op, lane);
}

/* The short blocks, in the first round. */
static tw_status_t tw_pair_step_short(tw_request_t *op, tw_lane_t *lane)
{
    switch (lane->stage) {
    case 1:
        tw_pair_encode(op, lane);
        return TW_OK;
    case 2:
        return tw_pair_exchange(op, lane);
    case 3:
        tw_lane_raise(op, lane, TW_ARRIVED);
        return TW_OK;
    default:
        tw_pair_finish(op, lane);
        return TW_OK;
    }
}

static tw_status_t tw_pair_step(tw_request_t *op, tw_lane_t *lane)
{
    if (lane->stage == 0) {
        return tw_alltoall_exchange(op, lane, 3, tw_pair_is_short);
    }
    if (lane->stage == 4) {
        tw_alltoall_decode(op, lane, tw_pair_is_short);
    }
    return lane->round == 0 ? tw_pair_step_short(op, lane) : TW_OK;
}

static bool tw_pair_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    return lane->round > 0 || lane->stage == 2 || tw_node_exchange_ready(op, lane, peer_p);
}

static void tw_pair_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    tw_alltoall_fill(op, call);
    op->rounds = op->rounds > 0 ? op->rounds : 1;
}

static const tw_algorithm_ops_t tw_pair_ops = {.name       = "hierarchical",
                                               .stages     = 4,
                                               .one_ticket = true,
                                               .step       = tw_pair_step,
                                               .ready      = tw_pair_ready,
                                               .fill       = tw_pair_fill};

/* ---- the row --------------------------------------------------------------------------------- */

/* Are there short blocks? Not all ranks know the counts of an alltoallv. */
static bool tw_pair_pays(const tw_collective_call_t *call)
{
    return call->collective->unequal || call->encoded <= tw_pair_most(call->comm);
}

static tw_status_t tw_pair_serves(const tw_collective_call_t *call)
{
    const tw_comm_t *comm = call->comm;

    return tw_how_on_device(call->how) ||
                   tw_pair_room(comm->nodes, (size_t)comm->size) < TW_PAIR_LEAST
               ? TW_ERR_UNSUPPORTED
               : tw_node_ready(call->comm);
}

/* The grid sends fewer messages where there are very many nodes of few ranks. */
static bool tw_pair_usual(const tw_collective_call_t *call)
{
    const tw_nodes_t *nodes = call->comm->nodes;
    const int         ranks = call->comm->size;

    return nodes->count > 1 && nodes->least > 1 && tw_pair_pays(call) &&
           (call->collective->unequal ||
            tw_pair_messages(nodes) <= (size_t)tw_grid_messages(ranks) ||
            !tw_policy_alltoall_grid(&call->comm->policy, call->encoded, ranks));
}

static void tw_pair_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    tw_alltoall_shape(call, shape);
    shape->algorithm = &tw_pair_ops;
}

const tw_algorithm_row_t tw_alltoall_hierarchical = {
    .name    = "hierarchical",
    .number  = TW_ALGORITHM_HIERARCHICAL,
    .in_node = true,
    .serves  = tw_pair_serves,
    .needs =
        "shared memory on every node, whose slots have room for a block of each pair of ranks of "
        "two nodes, and host memory",
    .usual = tw_pair_usual,
    .shape = tw_pair_shape};
