/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/bcast/bcast_node.c - uncompressed values through the memory of one node: the root
 * writes fragments to its slots, which stay in cache, and the others read them. For lossless
 * codecs. No messages; the root may be ahead of the slowest reader by TW_NODE_SLOTS fragments. Long
 * vectors are read directly as a whole, if the system permits it: the root then completes when all
 * ranks have the vector.
 */
#include "config.h"

#include "runtime/transport/coll/bcast/bcast.h"
#include "runtime/transport/coll/node.h"
#include "runtime/transport/shm/relay.h"

static int tw_bcast_root_local(const tw_request_t *op)
{
    return tw_nodes_local(op->comm->nodes, op->root);
}

static tw_status_t tw_bcast_node_step(tw_request_t *op, tw_lane_t *lane)
{
    const size_t bytes  = tw_lane_fragment(op, lane, op->count) * op->element;
    uint8_t     *values = tw_lane_at(op, lane, op->recv, 0);
    uint8_t     *room   = tw_node_room(op, lane, tw_bcast_root_local(op), 1);

    if (lane->stage == 1 && op->comm->rank == op->root) {
        tw_op_copy(op, room, values, bytes);
        tw_lane_raise(op, lane, 1);
    } else if (lane->stage == 2) {
        if (op->comm->rank != op->root) {
            tw_op_copy(op, values, room, bytes);
        }
        tw_lane_done(op, lane);
    }
    return TW_OK;
}

/* Stage 0: the root's slot is free. Stage 1: it is full. */
static bool tw_bcast_node_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    tw_segment_t  *node   = op->comm->node;
    const uint64_t ticket = tw_lane_ticket(op, lane);
    const bool     root   = op->comm->rank == op->root;
    int            local  = tw_bcast_root_local(op);
    bool           ready;

    if (lane->stage == 0) {
        ready = root ? tw_node_open(node, ticket, &local) : tw_node_near(node, ticket);
    } else {
        ready = root || tw_node_raised(node, local, ticket, 1);
    }
    if (!ready) {
        *peer_p = tw_nodes_rank(op->comm->nodes, op->comm->nodes->mine, local);
    }
    return ready;
}

static const tw_algorithm_ops_t tw_bcast_slots = {.name   = "node",
                                                  .stages = 2,
                                                  .values = true,
                                                  .step   = tw_bcast_node_step,
                                                  .ready  = tw_bcast_node_ready,
                                                  .fill   = tw_collective_fill_whole};

/* ---- read where it is: one round ------------------------------------------------------------- */

static tw_status_t tw_bcast_read_step(tw_request_t *op, tw_lane_t *lane)
{
    tw_segment_t  *node   = op->comm->node;
    const uint64_t ticket = tw_lane_ticket(op, lane);
    const bool     root   = op->comm->rank == op->root;

    if (lane->stage == 1 && root) {
        tw_relay_offer(node, ticket, op->recv);
    } else if (lane->stage == 2 && !root) {
        tw_relay_read(op->comm, ticket, tw_bcast_root_local(op), op->count * op->element, op->recv);
    } else if (lane->stage == 3) {
        tw_node_complete(node, ticket);
    }
    return TW_OK;
}

/* As above; and stage 2: all have it, by reading or, where they cannot, by copies of the root's. */
static bool tw_bcast_read_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    int local;

    if (lane->stage < 2) {
        return tw_bcast_node_ready(op, lane, peer_p);
    }
    if (tw_relay_bcast(op->comm, tw_lane_ticket(op, lane), tw_bcast_root_local(op),
                       op->count * op->element, op->recv, &local)) {
        return true;
    }
    *peer_p = tw_nodes_rank(op->comm->nodes, op->comm->nodes->mine, local);
    return false;
}

static void tw_bcast_read_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    (void)call;
    op->rounds = 1;
}

static const tw_algorithm_ops_t tw_bcast_read = {.name   = "node",
                                                 .stages = 3,
                                                 .values = true,
                                                 .step   = tw_bcast_read_step,
                                                 .ready  = tw_bcast_read_ready,
                                                 .fill   = tw_bcast_read_fill};

static void tw_bcast_node_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    const size_t element = tw_node_identity(call->comm, call->how);

    const bool reads =
        tw_node_reads(call->comm, call->count * element) && !tw_collective_on_slots(call);

    shape->algorithm = reads ? &tw_bcast_read : &tw_bcast_slots;
    shape->longest   = call->count;
    shape->most      = tw_collective_values_room(call) / element;
}

/* Values as they are, without a request, where that may be. */
static bool tw_bcast_at_once(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_comm_t   *comm    = call->comm;
    const size_t element = tw_node_quick(comm, call->how);
    const bool   fits    = tw_node_fits(comm, element, call->count, 1);

    if ((!fits && (tw_interval_check(0, call->count) != TW_OK || element == 0 ||
                   !tw_node_reads(comm, call->count * element))) ||
        tw_comm_device_owns(comm, call->values)) {
        return false;
    }
    *status_p = fits ? tw_quick_bcast(comm, call->recv, call->count * element, call->root)
                     : tw_quick_bcast_read(comm, call->recv, call->count * element, call->root);
    return true;
}

const tw_algorithm_row_t tw_bcast_node = {.name    = "node",
                                          .number  = TW_ALGORITHM_NODE,
                                          .in_node = true,
                                          .serves  = tw_collective_in_node,
                                          .needs   = TW_IN_NODE_NEEDS,
                                          .at_once = tw_bcast_at_once,
                                          .shape   = tw_bcast_node_shape};
