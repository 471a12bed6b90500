/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/alltoall/alltoall_node.c - uncompressed values through the memory of one node:
 * every rank writes a fragment for each other rank to its slot and reads the others' fragments for
 * it. For lossless codecs and equal blocks: not all ranks know the counts of an alltoallv, so it
 * uses messages.
 *
 * In place is supported: a round copies its fragments out before it overwrites them, and rounds do
 * not overlap. Long blocks are read directly, if the system permits it. A rank in place, which its
 * peers do not know, copies its blocks for them.
 */
#include "config.h"

#include "runtime/transport/coll/alltoall/alltoall.h"
#include "runtime/transport/coll/node.h"
#include "runtime/transport/shm/relay.h"

/* Where the fragment of a rank for another lies. */
static uint8_t *tw_alltoall_room(const tw_request_t *op, const tw_lane_t *lane, int from, int to)
{
    return tw_node_room(op, lane, from, (size_t)op->comm->size) +
           (size_t)to * op->chunk * op->element;
}

static void tw_alltoall_put(tw_request_t *op, tw_lane_t *lane, size_t bytes)
{
    const int mine = op->comm->rank;

    for (int r = 0; r < op->comm->size; r++) {
        if (r != mine) {
            tw_op_copy(op, tw_alltoall_room(op, lane, mine, r),
                       tw_lane_at(op, lane, op->send, op->array[TW_SEND_FIRST][r]), bytes);
        }
    }
}

static void tw_alltoall_take(tw_request_t *op, tw_lane_t *lane, size_t bytes)
{
    const int mine = op->comm->rank;

    for (int r = 0; r < op->comm->size; r++) {
        uint8_t       *into = tw_lane_at(op, lane, op->recv, op->array[TW_RECV_FIRST][r]);
        const uint8_t *from = r == mine
                                  ? tw_lane_at(op, lane, op->send, op->array[TW_SEND_FIRST][r])
                                  : tw_alltoall_room(op, lane, r, mine);

        if (from != into) {
            tw_op_copy(op, into, from, bytes);
        }
    }
}

static tw_status_t tw_alltoall_node_step(tw_request_t *op, tw_lane_t *lane)
{
    const size_t bytes = tw_lane_fragment(op, lane, op->count) * op->element;

    if (lane->stage == 1) {
        tw_alltoall_put(op, lane, bytes);
        tw_lane_raise(op, lane, 1);
    } else if (lane->stage == 2) {
        tw_alltoall_take(op, lane, bytes);
        tw_lane_done(op, lane);
    }
    return TW_OK;
}

static const tw_algorithm_ops_t tw_alltoall_slots = {.name   = "node",
                                                     .stages = 2,
                                                     .values = true,
                                                     .step   = tw_alltoall_node_step,
                                                     .ready  = tw_node_exchange_ready,
                                                     .fill   = tw_alltoall_fill};

/* ---- read where they are: one round ---------------------------------------------------------- */

static tw_relay_t tw_alltoall_relay(const tw_request_t *op, const tw_lane_t *lane)
{
    return (tw_relay_t){.ticket = tw_lane_ticket(op, lane),
                        .send   = op->send,
                        .recv   = op->recv,
                        .bytes  = op->count * op->element};
}

static tw_status_t tw_alltoall_read_step(tw_request_t *op, tw_lane_t *lane)
{
    tw_segment_t    *node  = op->comm->node;
    const tw_relay_t relay = tw_alltoall_relay(op, lane);
    tw_relay_phase_t phase = TW_RELAY_READ;

    switch (lane->stage) {
    case 0:
        return TW_OK;
    case 1:
        tw_relay_offer_all(node, &relay);
        return TW_OK;
    case 2:
        for (int i = 0; i < node->ranks && phase == TW_RELAY_READ; i++) {
            phase = tw_relay_read_from(op->comm, &relay, (node->local + i) % node->ranks);
        }
        tw_relay_answer(node, &relay, phase);
        return TW_OK;
    default:
        tw_node_complete(node, relay.ticket);
        return TW_OK;
    }
}

/* Stage 0: our slot is free; 1: all have told their addresses; 2: all have all blocks. */
static bool tw_alltoall_read_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    const tw_relay_t relay = tw_alltoall_relay(op, lane);
    int              local;

    if (lane->stage < 2) {
        return tw_node_exchange_ready(op, lane, peer_p);
    }
    if (tw_relay_alltoall(op->comm, &relay, &local)) {
        return true;
    }
    *peer_p = tw_nodes_rank(op->comm->nodes, op->comm->nodes->mine, local);
    return false;
}

static void tw_alltoall_read_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    tw_alltoall_fill(op, call);
    op->rounds = 1;
}

static const tw_algorithm_ops_t tw_alltoall_read = {.name   = "node",
                                                    .stages = 3,
                                                    .values = true,
                                                    .step   = tw_alltoall_read_step,
                                                    .ready  = tw_alltoall_read_ready,
                                                    .fill   = tw_alltoall_read_fill};

static void tw_alltoall_node_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    const size_t element = tw_node_identity(call->comm, call->how);

    const bool reads =
        tw_node_reads(call->comm, call->in.each * element) && !tw_collective_on_slots(call);

    shape->algorithm = reads ? &tw_alltoall_read : &tw_alltoall_slots;
    shape->longest   = call->in.each;
    shape->most      = tw_collective_values_room(call) / element / (size_t)call->comm->size;
}

/* Values as they are, without a request, where that may be. */
static bool tw_alltoall_at_once(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_comm_t   *comm    = call->comm;
    const size_t element = tw_node_quick(comm, call->how), bytes = call->in.each * element;
    const void  *send = call->send == TW_IN_PLACE ? call->recv : call->send;
    const bool   fits = tw_node_fits(comm, element, call->in.each, comm->size);

    if ((!fits && !(element > 0 && tw_node_reads(comm, bytes))) ||
        tw_comm_device_owns(comm, call->values)) {
        return false;
    }
    *status_p = fits ? tw_quick_alltoall(comm, send, call->recv, bytes)
                     : tw_quick_alltoall_read(comm, send, call->recv, bytes);
    return true;
}

const tw_algorithm_row_t tw_alltoall_node = {.name    = "node",
                                             .in_node = true,
                                             .serves  = tw_collective_in_node,
                                             .needs   = TW_IN_NODE_NEEDS,
                                             .at_once = tw_alltoall_at_once,
                                             .shape   = tw_alltoall_node_shape};
