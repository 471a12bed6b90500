/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bcast/bcast_tree.c - binomial tree of encoded pieces: encoded once at the root, forwarded
 * as they are, decoded by each rank while they travel on.
 *
 * One quantisation. Sent per rank: (number of children) x encoded vector, at most log2(P).
 * Ranks are counted from the root: v = (rank - root) mod P. The parent of v is v without its lowest
 * set bit; its children are v + 2^k for all 2^k below that bit (any 2^k for the root).
 */
#include "config.h"

#include "runtime/transport/bcast/bcast.h"

static tw_status_t tw_tree_send(tw_request_t *op, tw_lane_t *lane, size_t n)
{
    const tw_comm_t *comm   = op->comm;
    const int        v      = (comm->rank - op->root + comm->size) % comm->size;
    const size_t     bytes  = tw_op_size(op, n);
    tw_status_t      status = TW_OK;
    unsigned         bit    = 1;

    while (bit < (unsigned)comm->size && ((unsigned)v & bit) == 0) {
        bit <<= 1;
    }
    for (bit >>= 1; bit > 0 && status == TW_OK; bit >>= 1) { /* the largest subtree first */
        const unsigned child = (unsigned)v + bit;

        if (child < (unsigned)comm->size) {
            status = tw_lane_send(op, lane, lane->stage, 0, tw_lane_slot(op, lane, 0), bytes,
                                  (int)((child + (unsigned)op->root) % (unsigned)comm->size), n);
        }
    }
    return status;
}

static tw_status_t tw_tree_recv(tw_request_t *op, tw_lane_t *lane, size_t n)
{
    const tw_comm_t *comm   = op->comm;
    const int        v      = (comm->rank - op->root + comm->size) % comm->size;
    const int        parent = (v & (v - 1)) + op->root;

    return tw_lane_recv(op, lane, 0, tw_lane_slot(op, lane, 0), tw_op_size(op, n),
                        parent % comm->size);
}

/* Stage 0: the root encodes and sends, the others receive; stage 1: the others send on and decode.
 * Whatever stage posts a message, its tag is that of stage 0, where its receiver waits for it. */
static tw_status_t tw_tree_step(tw_request_t *op, tw_lane_t *lane)
{
    const size_t n       = tw_lane_piece(op, lane, op->count);
    uint8_t     *values  = tw_lane_at(op, lane, op->recv, 0);
    const bool   is_root = op->comm->rank == op->root;
    tw_status_t  status  = TW_OK;

    if (is_root && op->comm->size == 1 && (op->flags & TW_BCAST_SAME) == 0) {
        return TW_OK; /* nobody to encode for */
    }
    if (lane->stage == 0 && is_root) {
        tw_op_encode(op, values, n, tw_lane_slot(op, lane, 0));
        return tw_tree_send(op, lane, n);
    }
    if (lane->stage == 0) {
        return tw_tree_recv(op, lane, n);
    }
    if (lane->stage == 1) {
        if (!is_root) {
            status = tw_tree_send(op, lane, n);
        }
        if (!is_root || (op->flags & TW_BCAST_SAME) != 0) {
            tw_op_decode(op, tw_lane_slot(op, lane, 0), n, values);
        }
    }
    return status;
}

const tw_algorithm_ops_t tw_bcast_tree = {"tree", 2, tw_tree_step};
