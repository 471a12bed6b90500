/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/reduce_scatter/reduce_scatter_bundle.c - `hierarchical` for short shares: those of
 * all ranks of a node travel in one message from each other node, since messages would cost more
 * than they carry.
 *
 * In the rounds of node j, number j % K of node i adds and encodes all shares and sends them, and
 * number i % K of node j receives them into its slot (phase 3), where their owners decode them.
 * With residuals each carrier sends its own instead.
 */
#include "config.h"

#include "runtime/transport/coll/reduce_scatter/hierarchical.h"

/* Bytes of the codes of the owners with numbers below `owners`, and how many values they are. */
static size_t tw_bundle_bytes(const tw_request_t *op, const tw_lane_t *lane, int owners,
                              size_t *values_p)
{
    size_t bytes = 0, n;

    *values_p = 0;
    for (int q = 0; q < owners; q++) {
        (void)tw_scatter_fragment(op, lane, tw_turn_rank(op, lane, q), &n);
        bytes += tw_op_added_size(op, n);
        *values_p += n;
    }
    return bytes;
}

/* Where the message of a node arrives: behind the values in the slot of the rank that receives. */
static uint8_t *tw_bundle_arrived(const tw_request_t *op, const tw_lane_t *lane, int node)
{
    const int    ranks  = op->comm->node->ranks;
    const size_t most   = (size_t)op->comm->nodes->most;
    const size_t behind = most * op->chunk * op->element;

    return tw_lane_room(op, lane, node % ranks) + behind +
           (size_t)(node / ranks) * most * op->slot_bytes;
}

static void tw_bundle_add(tw_request_t *op, tw_lane_t *lane, int q, uint8_t *codes)
{
    size_t       n;
    const size_t first = tw_scatter_fragment(op, lane, tw_turn_rank(op, lane, q), &n);

    if (n > 0) {
        tw_reduction_sum_node(op, lane, tw_op_at(op, tw_scatter_values(op), first), n,
                              (size_t)q * op->chunk * op->element);
        tw_op_encode_added(op, lane->sum, n, NULL, codes);
    }
}

/* Slots of the lane: [0, ...) the message to send | the last one: this node's codes of this rank's
 * share. */
static uint8_t *tw_bundle_own(const tw_request_t *op, const tw_lane_t *lane)
{
    return tw_lane_slot(op, lane, op->comm->nodes->most);
}

static tw_status_t tw_bundle_receive(tw_request_t *op, tw_lane_t *lane, size_t bytes)
{
    const tw_nodes_t *nodes  = op->comm->nodes;
    tw_status_t       status = TW_OK;

    for (int i = nodes->local; i < nodes->count && status == TW_OK; i += op->comm->node->ranks) {
        if (i != nodes->mine) {
            status = tw_lane_recv(op, lane, 2, tw_bundle_arrived(op, lane, i), bytes,
                                  tw_nodes_rank(nodes, i, nodes->mine % tw_nodes_ranks(nodes, i)));
        }
    }
    tw_bundle_add(op, lane, nodes->local, tw_bundle_own(op, lane));
    return status;
}

static tw_status_t tw_bundle_exchange(tw_request_t *op, tw_lane_t *lane)
{
    const tw_nodes_t *nodes = op->comm->nodes;
    const int         turn = tw_turn_node(op, lane), owners = tw_turn_ranks(op, lane);
    size_t            values, ahead;
    const size_t      bytes = tw_bundle_bytes(op, lane, owners, &values);

    if (turn == nodes->mine) {
        return tw_bundle_receive(op, lane, bytes);
    }
    if (turn % op->comm->node->ranks != nodes->local) {
        return TW_OK;
    }
    for (int q = 0; q < owners; q++) {
        const size_t at = tw_bundle_bytes(op, lane, q, &ahead);

        tw_bundle_add(op, lane, q, tw_lane_slot(op, lane, 0) + at);
    }
    return tw_lane_send(op, lane, 2, 2, tw_lane_slot(op, lane, 0), bytes,
                        tw_turn_rank(op, lane, nodes->mine % owners), values);
}

static void tw_bundle_total(tw_request_t *op, tw_lane_t *lane)
{
    const tw_nodes_t *nodes = op->comm->nodes;
    uint8_t          *out   = tw_op_at(op, op->recv, tw_turn_start(op, lane));
    uint8_t          *sum   = tw_op_sum(op, lane, out);
    size_t            values, n;
    const size_t      at = tw_bundle_bytes(op, lane, nodes->local, &values);

    (void)tw_scatter_fragment(op, lane, op->comm->rank, &n);
    for (int j = 0; j < nodes->count && n > 0; j++) {
        const uint8_t *codes =
            j == nodes->mine ? tw_bundle_own(op, lane) : tw_bundle_arrived(op, lane, j) + at;

        if (j == 0) {
            tw_op_decode_sum(op, codes, n, sum);
        } else {
            tw_op_decode_combine(op, lane, codes, n, sum);
        }
    }
    tw_op_sum_result(op, sum, n, out);
}

static tw_status_t tw_bundle_step(tw_request_t *op, tw_lane_t *lane)
{
    switch (lane->stage) {
    case 0:
        return tw_scatter_begin(op, lane);
    case 1:
        tw_scatter_publish(op, lane, true);
        return TW_OK;
    case 2:
        return tw_bundle_exchange(op, lane);
    case 3:
        tw_lane_raise(op, lane, TW_ARRIVED);
        return TW_OK;
    default:
        if (tw_turn_is_ours(op, lane)) {
            tw_bundle_total(op, lane);
        }
        tw_lane_done(op, lane);
        return TW_OK;
    }
}

/* Ranks of other nodes have no message to wait for. */
static bool tw_bundle_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    return lane->stage == TW_READ || (lane->stage == 3 && !tw_turn_is_ours(op, lane)) ||
           (tw_node_exchange_ready(op, lane, peer_p) &&
            (lane->stage < 3 || tw_scatter_may_write(op, lane, peer_p)));
}

const tw_algorithm_ops_t tw_scatter_bundle = {.name   = "hierarchical",
                                              .stages = 4,
                                              .step   = tw_bundle_step,
                                              .ready  = tw_bundle_ready,
                                              .fill   = tw_scatter_fill};
