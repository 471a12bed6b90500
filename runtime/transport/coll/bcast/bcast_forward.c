/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/bcast/bcast_forward.c - forwarding of encoded fragments in a tree or a chain: the
 * root encodes them once, and each rank decodes them while it forwards them.
 *
 * One quantisation. Ranks are counted from the root: v = (rank - root) mod P.
 *
 *   tree   binomial: the parent of v is v without its lowest set bit; its children are v + 2^k for
 *          all 2^k below that bit (any 2^k for the root). ceil(log2 P) steps, but the root sends
 *          the encoded vector as many times: for short vectors.
 *   chain  v forwards to v + 1. Every rank sends and receives the vector once, at the same time, so
 *          the time is that of one vector and P - 2 fragments: for long vectors, in small
 *          fragments.
 */
#include "config.h"

#include "runtime/transport/coll/bcast/bcast.h"

static int tw_from_root(const tw_request_t *op)
{
    return (op->comm->rank - op->root + op->comm->size) % op->comm->size;
}

static uint8_t *tw_forward_codes(const tw_request_t *op, const tw_lane_t *lane)
{
    return tw_lane_codes(op, lane, 0, tw_lane_at(op, lane, op->recv, 0));
}

static tw_status_t tw_forward_to(tw_request_t *op, tw_lane_t *lane, size_t n, unsigned child)
{
    const unsigned size = (unsigned)op->comm->size;

    if (child >= size) {
        return TW_OK;
    }
    return tw_lane_send(op, lane, lane->stage, 0, tw_forward_codes(op, lane), tw_op_size(op, n),
                        (int)((child + (unsigned)op->root) % size), n);
}

static tw_status_t tw_tree_send(tw_request_t *op, tw_lane_t *lane, size_t n)
{
    const unsigned v      = (unsigned)tw_from_root(op);
    tw_status_t    status = TW_OK;
    unsigned       bit    = 1;

    while (bit < (unsigned)op->comm->size && (v & bit) == 0) {
        bit <<= 1;
    }
    for (bit >>= 1; bit > 0 && status == TW_OK; bit >>= 1) { /* the largest subtree first */
        status = tw_forward_to(op, lane, n, v + bit);
    }
    return status;
}

/* By a rank that has the fragment. */
typedef tw_status_t (*tw_forward_t)(tw_request_t *op, tw_lane_t *lane, size_t n);

static tw_status_t tw_chain_send(tw_request_t *op, tw_lane_t *lane, size_t n)
{
    return tw_forward_to(op, lane, n, (unsigned)tw_from_root(op) + 1);
}

static tw_status_t tw_forward_recv(tw_request_t *op, tw_lane_t *lane, size_t n, int parent)
{
    return tw_lane_recv(op, lane, 0, tw_forward_codes(op, lane), tw_op_size(op, n),
                        (parent + op->root) % op->comm->size);
}

/* Stage 0: the root encodes and sends, the others receive; stage 1: the others send on and decode.
 * Whatever stage posts a message, its tag is that of stage 0, where its receiver waits for it. */
static tw_status_t tw_forward_step(tw_request_t *op, tw_lane_t *lane, int parent, tw_forward_t send)
{
    const size_t n       = tw_lane_fragment(op, lane, op->count);
    uint8_t     *values  = tw_lane_at(op, lane, op->recv, 0);
    const bool   is_root = op->comm->rank == op->root;
    tw_status_t  status  = TW_OK;

    if (is_root && op->comm->size == 1 && (op->flags & TW_BCAST_SAME) == 0) {
        return TW_OK; /* nobody to encode for */
    }
    if (lane->stage == 0 && is_root) {
        tw_op_encode(op, values, n, tw_forward_codes(op, lane));
        return send(op, lane, n);
    }
    if (lane->stage == 0) {
        return tw_forward_recv(op, lane, n, parent);
    }
    if (lane->stage == 1) {
        if (!is_root) {
            status = send(op, lane, n);
        }
        if (!is_root || (op->flags & TW_BCAST_SAME) != 0) {
            tw_op_decode(op, tw_forward_codes(op, lane), n, values);
        }
    }
    return status;
}

static tw_status_t tw_tree_step(tw_request_t *op, tw_lane_t *lane)
{
    const int v = tw_from_root(op);

    return tw_forward_step(op, lane, v & (v - 1), tw_tree_send);
}

static tw_status_t tw_chain_step(tw_request_t *op, tw_lane_t *lane)
{
    return tw_forward_step(op, lane, tw_from_root(op) - 1, tw_chain_send);
}

static const tw_algorithm_ops_t tw_tree_ops = {
    .name = "tree", .stages = 2, .step = tw_tree_step, .fill = tw_collective_fill_whole};
static const tw_algorithm_ops_t tw_chain_ops = {
    .name = "chain", .stages = 2, .step = tw_chain_step, .fill = tw_collective_fill_whole};

static void tw_tree_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    shape->algorithm = &tw_tree_ops;
    shape->longest   = call->count;
    shape->slots     = 1;
}

static bool tw_chain_usual(const tw_collective_call_t *call)
{
    return tw_policy_chain(&call->comm->policy, call->encoded, call->comm->size);
}

static void tw_chain_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    shape->algorithm = &tw_chain_ops;
    shape->longest   = call->count;
    shape->slots     = 1;
    shape->fragment  = tw_chain_fragment(call, call->comm->size);
}

const tw_algorithm_row_t tw_bcast_tree  = {.name = "tree", .shape = tw_tree_shape};
const tw_algorithm_row_t tw_bcast_chain = {
    .name = "chain", .usual = tw_chain_usual, .shape = tw_chain_shape};
