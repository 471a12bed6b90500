/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/node.h - conditions for calls through the memory of one node, and common code of
 * the algorithms there.
 */
#ifndef TW_TRANSPORT_COLL_NODE_H
#define TW_TRANSPORT_COLL_NODE_H

#include "runtime/transport/engine/request.h"
#include "runtime/transport/shm/quick.h"

/* Address of a rank's contribution to this lane's round in the engine's form, `fragments` fragments
 * of the operation's chunk: in host memory beside the flag if they are short. */
static inline uint8_t *tw_node_room(const tw_request_t *op, const tw_lane_t *lane, int local,
                                    size_t fragments)
{
    return lane->device == NULL && fragments * op->chunk * op->element <= TW_NODE_SHORT
               ? tw_node_slot(op->comm->node, local, tw_lane_ticket(op, lane))->data
               : tw_lane_room(op, lane, local);
}

/* The codec's element size, if a call with `how` may pass uncompressed values to all ranks through
 * shared memory: one node with several ranks, a lossless codec, no residuals. Else 0. `how` is not
 * checked. */
size_t tw_node_identity(const tw_comm_t *comm, const tw_how_t *how);

/* The same, if also the segment exists, THINWIRE_CHECK is off, there is no progress thread, and
 * `how` has no exec and no flags but TW_BCAST_SAME. */
size_t tw_node_quick(const tw_comm_t *comm, const tw_how_t *how);

/* tw_algorithm_ops_t.ready of a round in which all ranks write and read: in stage 0, this rank's
 * slot is free; in stage s, all others have raised phase s. */
bool tw_node_exchange_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p);

/* May long blocks be read directly? Requires tw_node_identity() > 0 and the segment. */
static inline bool tw_node_reads(const tw_comm_t *comm, size_t bytes)
{
    return comm->node->reads && bytes > TW_FETCH_MIN;
}

/* May a blocking call with `fragments` fragments of n values of tw_node_quick() bytes use a quick
 * form? */
static inline bool tw_node_fits(const tw_comm_t *comm, size_t element, size_t n, int fragments)
{
    return element > 0 && n <= TW_NODE_DIRECT &&
           tw_node_direct(comm, n * (size_t)fragments * element);
}

/* ---- rounds that take turns ------------------------------------------------------------------
 *
 * With N nodes, round c has fragment c / N of the intervals of all ranks of node c % N. On another
 * node of K ranks, number q % K works for that node's number q. */

static inline int tw_turn_node(const tw_request_t *op, const tw_lane_t *lane)
{
    return (int)(lane->round % (size_t)op->comm->nodes->count);
}

static inline bool tw_turn_is_ours(const tw_request_t *op, const tw_lane_t *lane)
{
    return tw_turn_node(op, lane) == op->comm->nodes->mine;
}

/* The rank with number q on the node whose turn it is, and how many it has. */
static inline int tw_turn_rank(const tw_request_t *op, const tw_lane_t *lane, int q)
{
    return tw_nodes_rank(op->comm->nodes, tw_turn_node(op, lane), q);
}

static inline int tw_turn_ranks(const tw_request_t *op, const tw_lane_t *lane)
{
    return tw_nodes_ranks(op->comm->nodes, tw_turn_node(op, lane));
}

/* Offset of this round's fragment in an interval, and its values of one of `length` values. */
static inline size_t tw_turn_start(const tw_request_t *op, const tw_lane_t *lane)
{
    return lane->round / (size_t)op->comm->nodes->count * op->chunk;
}

static inline size_t tw_turn_values(const tw_request_t *op, const tw_lane_t *lane, size_t length)
{
    const size_t start = tw_turn_start(op, lane), left = start < length ? length - start : 0;

    return left < op->chunk ? left : op->chunk;
}

/* Ranks of another node for which one rank works, at most. */
static inline int tw_turn_carried(const tw_nodes_t *nodes)
{
    return (nodes->most + nodes->least - 1) / nodes->least;
}

#endif /* TW_TRANSPORT_COLL_NODE_H */
