/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allgather/allgather_node.c - uncompressed values through the memory of one node:
 * every rank writes its block to its slots, fragment by fragment, and reads the others' fragments.
 * For lossless codecs.
 */
#include "config.h"

#include "runtime/transport/coll/allgather/allgather.h"
#include "runtime/transport/coll/node.h"

static void tw_gather_take(tw_request_t *op, tw_lane_t *lane)
{
    const int mine = op->comm->node->local;

    for (int r = 0; r < op->comm->size; r++) {
        const size_t   n    = tw_lane_fragment(op, lane, op->array[TW_GATHER_COUNT][r]);
        uint8_t       *into = tw_lane_at(op, lane, op->recv, op->array[TW_GATHER_FIRST][r]);
        const uint8_t *from =
            r == mine ? tw_lane_at(op, lane, op->send, 0) : tw_node_room(op, lane, r, 1);

        if (n > 0 && from != into) {
            tw_op_copy(op, into, from, n * op->element);
        }
    }
}

static tw_status_t tw_gather_node_step(tw_request_t *op, tw_lane_t *lane)
{
    const int    mine = op->comm->node->local;
    const size_t n    = tw_lane_fragment(op, lane, op->array[TW_GATHER_COUNT][mine]);

    if (lane->stage == 1) {
        if (n > 0) {
            tw_op_copy(op, tw_node_room(op, lane, mine, 1), tw_lane_at(op, lane, op->send, 0),
                       n * op->element);
        }
        tw_lane_raise(op, lane, 1);
    } else if (lane->stage == 2) {
        tw_gather_take(op, lane);
        tw_lane_done(op, lane);
    }
    return TW_OK;
}

static const tw_algorithm_ops_t tw_gather_node_ops = {.name   = "node",
                                                      .stages = 2,
                                                      .values = true,
                                                      .step   = tw_gather_node_step,
                                                      .ready  = tw_node_exchange_ready,
                                                      .fill   = tw_gather_fill};

static void tw_gather_node_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    shape->algorithm = &tw_gather_node_ops;
    shape->longest   = tw_gather_longest(call);
    shape->most      = tw_collective_values_room(call) / tw_node_identity(call->comm, call->how);
}

/* Values as they are, without a request, where that may be. */
static bool tw_gather_at_once(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_comm_t     *comm    = call->comm;
    const size_t   element = call->in.counts == NULL ? tw_node_quick(comm, call->how) : 0;
    const size_t   bytes   = call->in.each * element;
    const uint8_t *mine    = call->send;

    if (!tw_node_fits(comm, element, call->in.each, 1) || tw_comm_device_owns(comm, call->values)) {
        return false;
    }
    if (call->send == TW_IN_PLACE) {
        mine = (const uint8_t *)call->recv + (size_t)comm->rank * bytes;
    }
    *status_p = tw_quick_allgather(comm, mine, call->recv, bytes);
    return true;
}

const tw_algorithm_row_t tw_allgather_node = {.name    = "node",
                                              .in_node = true,
                                              .serves  = tw_collective_in_node,
                                              .needs   = TW_IN_NODE_NEEDS,
                                              .at_once = tw_gather_at_once,
                                              .shape   = tw_gather_node_shape};
