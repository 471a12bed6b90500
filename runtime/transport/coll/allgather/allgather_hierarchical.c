/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allgather/allgather_hierarchical.c - each rank's block is encoded once, its codes
 * are sent to one rank of every other node, and the ranks of a node read them from its memory.
 *
 * Rounds cycle through the N nodes: round c has fragment c / N of the blocks of all ranks of node
 * c % N. On another node of K ranks, number q % K receives the codes of that node's number q.
 *
 *     stage 1   the ranks of that node encode into their slots and send; carriers receive into
 *     theirs
 *     stage 2   on a device: they write the codes to their slots                     phase 2
 *     stage 3   every rank decodes all blocks, its own too, so that results are equal
 *
 * Short blocks of a node travel in one message to each other node, by way of one rank of each,
 * since messages would cost more than they carry: they are read from the slots in between (phases
 * 1, 3).
 *
 * One quantisation, the bits of `pairwise`. Sent per node: (N-1) x its encoded blocks. Host memory
 * is sent from and received in the slots of the node; a device's by way of slot q / K of the lane,
 * the last of which is for codes of other ranks: a device decodes from its own memory only.
 */
#include "config.h"

#include "runtime/transport/coll/allgather/allgather.h"
#include "runtime/transport/coll/node.h"

/* Phases of a ticket: each is the stage that waits for it. */
enum { TW_ENCODED = 1, TW_CODES = 2, TW_ARRIVED = 3 };

/* Values of a rank's fragment. */
static size_t tw_gather_values(const tw_request_t *op, const tw_lane_t *lane, int rank)
{
    return tw_turn_values(op, lane, op->array[TW_GATHER_COUNT][rank]);
}

/* Where all ranks of this node find the codes of number q, in the slot of their carrier. */
static uint8_t *tw_gather_room(const tw_request_t *op, const tw_lane_t *lane, int q)
{
    const int ranks = op->comm->node->ranks;

    return tw_lane_room(op, lane, q % ranks) + (size_t)(q / ranks) * op->slot_bytes;
}

/* Where this rank, their carrier, sends or receives them: messages from and to a device's memory
 * are staged by slots of the lane. */
static uint8_t *tw_gather_codes(const tw_request_t *op, const tw_lane_t *lane, int q)
{
    return op->device == NULL ? tw_gather_room(op, lane, q)
                              : tw_lane_slot(op, lane, q / op->comm->node->ranks);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static tw_status_t tw_gather_give(tw_request_t *op, tw_lane_t *lane)
{
    const tw_nodes_t *nodes  = op->comm->nodes;
    const size_t      n      = tw_gather_values(op, lane, op->comm->rank);
    uint8_t          *codes  = tw_gather_codes(op, lane, nodes->local);
    tw_status_t       status = TW_OK;

    if (n == 0) {
        return TW_OK;
    }
    tw_op_encode(op, tw_op_at(op, op->send, tw_turn_start(op, lane)), n, codes);
    for (int i = 1; i < nodes->count && status == TW_OK; i++) {
        const int to      = (nodes->mine + i) % nodes->count;
        const int carrier = nodes->local % tw_nodes_ranks(nodes, to);

        status = tw_lane_send(op, lane, 1, 1, codes, tw_op_size(op, n),
                              tw_nodes_rank(nodes, to, carrier), n);
    }
    return status;
}

static tw_status_t tw_gather_receives(tw_request_t *op, tw_lane_t *lane)
{
    tw_status_t status = TW_OK;

    for (int q = op->comm->nodes->local; q < tw_turn_ranks(op, lane) && status == TW_OK;
         q += op->comm->node->ranks) {
        const int from = tw_turn_rank(op, lane, q);

        status = tw_lane_recv(op, lane, 1, tw_gather_codes(op, lane, q),
                              tw_op_size(op, tw_gather_values(op, lane, from)), from);
    }
    return status;
}

static void tw_gather_publish(tw_request_t *op, tw_lane_t *lane)
{
    for (int q = op->comm->nodes->local; op->device != NULL && q < tw_turn_ranks(op, lane);
         q += op->comm->node->ranks) {
        const size_t n = tw_gather_values(op, lane, tw_turn_rank(op, lane, q));

        tw_op_copy(op, tw_gather_room(op, lane, q), tw_gather_codes(op, lane, q),
                   tw_op_size(op, n));
    }
    tw_lane_raise(op, lane, TW_CODES);
}

/* The codes of number q, to be decoded: a device decodes from its own memory only. */
static const uint8_t *tw_gather_from(tw_request_t *op, const tw_lane_t *lane, int q, size_t n)
{
    const uint8_t *room = tw_gather_room(op, lane, q);
    uint8_t       *copy;

    if (op->device == NULL) {
        return room;
    }
    if (q % op->comm->node->ranks == op->comm->nodes->local) {
        return tw_gather_codes(op, lane, q);
    }
    copy = tw_lane_slot(op, lane, tw_turn_carried(op->comm->nodes));
    tw_op_copy(op, copy, room, tw_op_size(op, n));
    return copy;
}

static void tw_gather_decode(tw_request_t *op, tw_lane_t *lane)
{
    for (int q = 0; q < tw_turn_ranks(op, lane); q++) {
        const int    rank = tw_turn_rank(op, lane, q);
        const size_t n    = tw_gather_values(op, lane, rank);
        const size_t to   = op->array[TW_GATHER_FIRST][rank] + tw_turn_start(op, lane);

        if (n > 0) {
            tw_op_decode(op, tw_gather_from(op, lane, q, n), n, tw_op_at(op, op->recv, to));
        }
    }
    tw_lane_done(op, lane);
}

static tw_status_t tw_gather_hier_step(tw_request_t *op, tw_lane_t *lane)
{
    switch (lane->stage) {
    case 0:
        return TW_OK;
    case 1:
        return tw_turn_is_ours(op, lane) ? tw_gather_give(op, lane) : tw_gather_receives(op, lane);
    case 2:
        tw_gather_publish(op, lane);
        return TW_OK;
    default:
        tw_gather_decode(op, lane);
        return TW_OK;
    }
}

static bool tw_gather_hier_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    return lane->stage == 1 || tw_node_exchange_ready(op, lane, peer_p);
}

static void tw_gather_hier_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    tw_gather_fill(op, call);
    op->rounds *= (size_t)op->comm->nodes->count;
}

static const tw_algorithm_ops_t tw_gather_hier_ops = {.name   = "hierarchical",
                                                      .stages = 3,
                                                      .step   = tw_gather_hier_step,
                                                      .ready  = tw_gather_hier_ready,
                                                      .fill   = tw_gather_hier_fill};

/* ---- a message for all blocks of a node ------------------------------------------------------ */

/* Where this rank, or the rank of this node that receives the message, has the codes of number q,
 * which are `at` bytes into the message. */
static uint8_t *tw_bundle_room(const tw_request_t *op, const tw_lane_t *lane, int q, size_t at)
{
    return tw_turn_is_ours(op, lane)
               ? tw_lane_room(op, lane, q)
               : tw_lane_room(op, lane, tw_turn_node(op, lane) % op->comm->node->ranks) + at;
}

/* Bytes of the message, and how many values it carries. */
static size_t tw_bundle_bytes(const tw_request_t *op, const tw_lane_t *lane, size_t *values_p)
{
    size_t bytes = 0;

    *values_p = 0;
    for (int q = 0; q < tw_turn_ranks(op, lane); q++) {
        const size_t n = tw_gather_values(op, lane, tw_turn_rank(op, lane, q));

        bytes += tw_op_size(op, n);
        *values_p += n;
    }
    return bytes;
}

static void tw_bundle_encode(tw_request_t *op, tw_lane_t *lane)
{
    const size_t n = tw_gather_values(op, lane, op->comm->rank);

    if (n > 0) {
        tw_op_encode(op, tw_op_at(op, op->send, tw_turn_start(op, lane)), n,
                     tw_lane_room(op, lane, op->comm->nodes->local));
    }
    tw_lane_raise(op, lane, TW_ENCODED);
}

static void tw_bundle_pack(tw_request_t *op, tw_lane_t *lane)
{
    uint8_t *to = tw_lane_slot(op, lane, 0);

    for (int q = 0; q < tw_turn_ranks(op, lane); q++) {
        const size_t bytes = tw_op_size(op, tw_gather_values(op, lane, tw_turn_rank(op, lane, q)));

        tw_op_copy(op, to, tw_lane_room(op, lane, q), bytes);
        to += bytes;
    }
}

/* Number t % K of the node sends to node t, whose number j % K receives from node j. */
static tw_status_t tw_bundle_exchange(tw_request_t *op, tw_lane_t *lane)
{
    const tw_nodes_t *nodes = op->comm->nodes;
    const int         turn = tw_turn_node(op, lane), ranks = op->comm->node->ranks;
    tw_status_t       status = TW_OK;
    bool              packed = false;
    size_t            values;
    const size_t      bytes = tw_bundle_bytes(op, lane, &values);

    if (turn != nodes->mine) {
        return turn % ranks == nodes->local
                   ? tw_lane_recv(op, lane, 2, tw_lane_room(op, lane, nodes->local), bytes,
                                  tw_turn_rank(op, lane, nodes->mine % tw_turn_ranks(op, lane)))
                   : TW_OK;
    }
    for (int t = nodes->local; t < nodes->count && status == TW_OK; t += ranks) {
        if (t == nodes->mine || bytes == 0) {
            continue;
        }
        if (!packed) {
            tw_bundle_pack(op, lane);
            packed = true;
        }
        status = tw_lane_send(op, lane, 2, 2, tw_lane_slot(op, lane, 0), bytes,
                              tw_nodes_rank(nodes, t, turn % tw_nodes_ranks(nodes, t)), values);
    }
    return status;
}

static void tw_bundle_decode(tw_request_t *op, tw_lane_t *lane)
{
    size_t at = 0;

    for (int q = 0; q < tw_turn_ranks(op, lane); q++) {
        const int    rank = tw_turn_rank(op, lane, q);
        const size_t n    = tw_gather_values(op, lane, rank);
        const size_t to   = op->array[TW_GATHER_FIRST][rank] + tw_turn_start(op, lane);

        if (n > 0) {
            tw_op_decode(op, tw_bundle_room(op, lane, q, at), n, tw_op_at(op, op->recv, to));
            at += tw_op_size(op, n);
        }
    }
    tw_lane_done(op, lane);
}

static tw_status_t tw_bundle_step(tw_request_t *op, tw_lane_t *lane)
{
    switch (lane->stage) {
    case 0:
        return TW_OK;
    case 1:
        if (tw_turn_is_ours(op, lane)) {
            tw_bundle_encode(op, lane);
        }
        return TW_OK;
    case 2:
        return tw_bundle_exchange(op, lane);
    case 3:
        tw_lane_raise(op, lane, TW_ARRIVED);
        return TW_OK;
    default:
        tw_bundle_decode(op, lane);
        return TW_OK;
    }
}

/* The node's own ranks wait for each other's codes, the others' for their message. */
static bool tw_bundle_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    const int waits = tw_turn_is_ours(op, lane) ? TW_ENCODED : TW_ARRIVED;

    return (lane->stage > 0 && lane->stage != waits) || tw_node_exchange_ready(op, lane, peer_p);
}

static const tw_algorithm_ops_t tw_gather_bundle_ops = {.name   = "hierarchical",
                                                        .stages = 4,
                                                        .step   = tw_bundle_step,
                                                        .ready  = tw_bundle_ready,
                                                        .fill   = tw_gather_hier_fill};

/* ---- the row --------------------------------------------------------------------------------- */

static tw_status_t tw_gather_hier_serves(const tw_collective_call_t *call)
{
    return tw_collective_codes_most(call, tw_turn_carried(call->comm->nodes)) > 0
               ? tw_node_ready(call->comm)
               : TW_ERR_UNSUPPORTED;
}

static void tw_gather_hier_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    const int carried = tw_turn_carried(call->comm->nodes);

    shape->longest = tw_gather_longest(call);
    shape->turns   = call->comm->nodes->count;
    if (tw_collective_bundles(call, shape->longest)) {
        shape->algorithm = &tw_gather_bundle_ops;
        shape->slots     = call->comm->nodes->most;
        return;
    }
    shape->algorithm = &tw_gather_hier_ops;
    shape->most      = tw_collective_codes_most(call, carried);
    shape->slots     = tw_collective_on_slots(call) ? carried + 1 : 0;
}

const tw_algorithm_row_t tw_allgather_hierarchical = {.name    = "hierarchical",
                                                      .number  = TW_ALGORITHM_HIERARCHICAL,
                                                      .in_node = true,
                                                      .serves  = tw_gather_hier_serves,
                                                      .needs   = TW_NODES_NEED,
                                                      .usual   = tw_collective_of_nodes,
                                                      .shape   = tw_gather_hier_shape};
