/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/reduce_scatter/hierarchical.h - common code of the two forms of the hierarchical
 * reduce-scatter: a message for each share, or one for all shares of a node.
 */
#ifndef TW_TRANSPORT_COLL_REDUCE_SCATTER_HIERARCHICAL_H
#define TW_TRANSPORT_COLL_REDUCE_SCATTER_HIERARCHICAL_H

#include "runtime/transport/coll/allreduce/reduction.h"
#include "runtime/transport/coll/node.h"

/* Phases of a ticket: each is the stage that waits for it. */
enum { TW_INPUTS = 1, TW_ARRIVED = 3 };

/* The stage whose step is the last one that reads values. */
enum { TW_READ = 2 };

/* First value of an owner's fragment in the vector, and how many there are. */
static inline size_t tw_scatter_fragment(const tw_request_t *op, const tw_lane_t *lane, int owner,
                                         size_t *n_p)
{
    *n_p = tw_turn_values(op, lane, op->array[TW_SHARE_LENGTH][owner]);
    return op->array[TW_SHARE_FIRST][owner] + tw_turn_start(op, lane);
}

static inline uint8_t *tw_scatter_room(const tw_request_t *op, const tw_lane_t *lane, int local,
                                       int q)
{
    return tw_lane_room(op, lane, local) + (size_t)q * op->chunk * op->element;
}

/* The values that this rank sends: a copy where results would cover them too early. */
static inline const void *tw_scatter_values(const tw_request_t *op)
{
    return op->copy != NULL ? op->copy : op->send;
}

/* In place, a rank's result covers the start of its vector. Is every value there read in an earlier
 * round, or an earlier stage, than it is overwritten? Not if a short share begins there, and a
 * later rank on a node with a lower number has a longer one. */
bool tw_scatter_in_order(const tw_comm_t *comm, const tw_blocks_t *shares);

/* Steps that both have: begin a start, write values to the slot (those of all owners, or of those
 * that other ranks of the node carry), fill an operation. */
tw_status_t tw_scatter_begin(tw_request_t *op, const tw_lane_t *lane);
void        tw_scatter_publish(tw_request_t *op, tw_lane_t *lane, bool all);
/* May this round write its result? In place, not before the values that it covers are read by the
 * earlier rounds, which began before but may wait longer for their slots (*peer_p: this rank). */
bool tw_scatter_may_write(const tw_request_t *op, const tw_lane_t *lane, int *peer_p);
void tw_scatter_fill(tw_request_t *op, const tw_collective_call_t *call);

/* One message for all shares of a node: reduce_scatter_bundle.c. */
extern const tw_algorithm_ops_t tw_scatter_bundle;

#endif /* TW_TRANSPORT_COLL_REDUCE_SCATTER_HIERARCHICAL_H */
