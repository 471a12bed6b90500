/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/reduce_scatter/reduce_scatter_hierarchical.c - uncompressed sums inside each node,
 * in its memory; every node's sum of a share goes once, encoded, to the share's owner.
 *
 * Rounds cycle through the N nodes: round c has fragment c / N of the shares of all ranks of node
 * c % N. On a node of K ranks, number q % K carries the share of that node's number q.
 *
 *     stage 1   every rank writes its values of the shares to its slot                phase 1
 *     stage 2   carrier: adds its node's values in rank order, encodes the sum (the only
 *               quantisation), sends it to the owner
 *     stage 3   owner: decodes and adds in the order of nodes
 *
 * Sent per node: (N-1)/N x encoded vector, for nodes of equal size. These are stages 1 to 3 of
 * allreduce_hierarchical.c: with equal block boundaries the sums have the same bits. The carrier
 * has the residual of its node's sum, at the positions of the shares that it carries. Slots of a
 * lane: [0, N) node j's codes of this rank's share | [N, ...) codes for the shares it carries.
 */
#include "config.h"

#include "runtime/transport/coll/reduce_scatter/hierarchical.h"

/* ---- stages ---------------------------------------------------------------------------------- */

/* The other nodes' sums of this rank's share, from their carriers. */
static tw_status_t tw_scatter_receives(tw_request_t *op, tw_lane_t *lane)
{
    const tw_nodes_t *nodes  = op->comm->nodes;
    tw_status_t       status = TW_OK;
    size_t            n;

    (void)tw_scatter_fragment(op, lane, op->comm->rank, &n);
    for (int i = 1; i < nodes->count && status == TW_OK; i++) {
        const int from    = (nodes->mine + nodes->count - i) % nodes->count;
        const int carrier = nodes->local % tw_nodes_ranks(nodes, from);

        status = tw_lane_recv(op, lane, 2, tw_lane_slot(op, lane, from), tw_op_added_size(op, n),
                              tw_nodes_rank(nodes, from, carrier));
    }
    return status;
}

/* Add, encode and send the share of the owner with number q. */
static tw_status_t tw_scatter_carry(tw_request_t *op, tw_lane_t *lane, int q)
{
    const tw_nodes_t *nodes = op->comm->nodes;
    const int         owner = tw_turn_rank(op, lane, q);
    const bool        ours  = tw_turn_is_ours(op, lane);
    const int         slot  = ours ? nodes->mine : nodes->count + q / op->comm->node->ranks;
    uint8_t          *codes = tw_lane_slot(op, lane, slot);
    size_t            n;
    const size_t      first = tw_scatter_fragment(op, lane, owner, &n);

    if (n == 0) {
        return TW_OK;
    }
    tw_reduction_sum_node(op, lane, tw_op_at(op, tw_scatter_values(op), first), n,
                          (size_t)q * op->chunk * op->element);
    tw_reduction_encode_first(op, lane->sum, first, n, codes);
    return ours ? TW_OK : tw_lane_send(op, lane, 2, 2, codes, tw_op_added_size(op, n), owner, n);
}

static tw_status_t tw_scatter_carries(tw_request_t *op, tw_lane_t *lane)
{
    tw_status_t status = TW_OK;

    if (tw_turn_is_ours(op, lane)) {
        status = tw_scatter_receives(op, lane);
    }
    for (int q = op->comm->nodes->local; q < tw_turn_ranks(op, lane) && status == TW_OK;
         q += op->comm->node->ranks) {
        status = tw_scatter_carry(op, lane, q);
    }
    tw_lane_done(op, lane);
    return status;
}

static void tw_scatter_add(tw_request_t *op, tw_lane_t *lane)
{
    uint8_t *out = tw_op_at(op, op->recv, tw_turn_start(op, lane));
    uint8_t *sum = tw_op_sum(op, lane, out);
    size_t   n;

    (void)tw_scatter_fragment(op, lane, op->comm->rank, &n);
    if (n == 0) {
        return;
    }
    tw_op_decode_sum(op, tw_lane_slot(op, lane, 0), n, sum);
    for (int j = 1; j < op->comm->nodes->count; j++) {
        tw_op_decode_combine(op, lane, tw_lane_slot(op, lane, j), n, sum);
    }
    tw_op_sum_result(op, sum, n, out);
}

static tw_status_t tw_scatter_step(tw_request_t *op, tw_lane_t *lane)
{
    switch (lane->stage) {
    case 0:
        return tw_scatter_begin(op, lane);
    case 1:
        tw_scatter_publish(op, lane, false);
        return TW_OK;
    case 2:
        return tw_scatter_carries(op, lane);
    default:
        if (tw_turn_is_ours(op, lane)) {
            tw_scatter_add(op, lane);
        }
        return TW_OK;
    }
}

static bool tw_scatter_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    return lane->stage == TW_READ ? tw_scatter_may_write(op, lane, peer_p)
                                  : tw_node_exchange_ready(op, lane, peer_p);
}

static const tw_algorithm_ops_t tw_scatter_hierarchical_ops = {.name   = "hierarchical",
                                                               .stages = 3,
                                                               .step   = tw_scatter_step,
                                                               .ready  = tw_scatter_ready,
                                                               .fill   = tw_scatter_fill};

/* ---- the row --------------------------------------------------------------------------------- */

/* Values of a fragment, so that one for every rank of the largest node fits in a slot. */
static size_t tw_scatter_most(const tw_collective_call_t *call, size_t room)
{
    return room / (size_t)call->comm->nodes->most / call->codec->element;
}

static tw_status_t tw_scatter_serves(const tw_collective_call_t *call)
{
    const size_t room = tw_node_slot_bytes(call->comm->nodes->most);

    if (tw_scatter_most(call, room) < call->codec->block ||
        tw_partial_codec(call->comm, call->codec) == NULL ||
        (tw_how_on_device(call->how) && !tw_scatter_in_order(call->comm, &call->in))) {
        return TW_ERR_UNSUPPORTED;
    }
    return tw_node_ready(call->comm);
}

/* A slot has room for the values of all owners, and behind them for the messages that arrive. */
static bool tw_scatter_bundles(const tw_collective_call_t *call, size_t longest)
{
    const tw_nodes_t *nodes    = call->comm->nodes;
    const size_t      block    = call->codec->block;
    const size_t      whole    = (longest + block - 1) / block * block;
    const size_t      messages = (size_t)(nodes->count + nodes->least - 1) / (size_t)nodes->least;
    size_t            bytes;

    return tw_collective_bundles(call, longest) &&
           tw_codec_size(tw_partial_codec(call->comm, call->codec), whole, &bytes) == TW_OK &&
           (size_t)nodes->most *
                   (whole * call->codec->element + messages * (bytes + TW_POOL_ALIGN)) <=
               tw_node_slot_bytes(nodes->most);
}

static void tw_scatter_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    const tw_nodes_t *nodes = call->comm->nodes;

    shape->algorithm = &tw_scatter_hierarchical_ops;
    shape->sum       = true;
    shape->partial   = true;
    shape->slots     = nodes->count + tw_turn_carried(nodes);
    shape->turns     = nodes->count;
    shape->longest   = tw_share_longest(call, 1, (size_t)call->comm->size);
    shape->most      = tw_scatter_most(call, tw_collective_room(call));
    if ((call->how == NULL || call->how->feedback == NULL) &&
        tw_scatter_bundles(call, shape->longest)) {
        shape->algorithm = &tw_scatter_bundle;
        shape->slots     = nodes->most + 1;
    }
}

const tw_algorithm_row_t tw_scatter_hierarchical = {
    .name    = "hierarchical",
    .number  = TW_ALGORITHM_HIERARCHICAL,
    .in_node = true,
    .serves  = tw_scatter_serves,
    .needs   = TW_NODES_NEED ", and in device memory nodes of consecutive ranks or equal counts",
    .usual   = tw_collective_of_nodes,
    .shape   = tw_scatter_shape};
