/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/reduce_scatter/hierarchical.c - see hierarchical.h.
 */
#include "config.h"

#include "runtime/base/clock.h"
#include "runtime/transport/coll/reduce_scatter/hierarchical.h"

bool tw_scatter_in_order(const tw_comm_t *comm, const tw_blocks_t *shares)
{
    tw_blocks_sum_t sum;
    int             lowest = comm->size;
    size_t          first;

    if (shares->counts == NULL) {
        return true;
    }
    (void)tw_blocks_sum(shares, comm->size, &sum); /* checked before */
    first = sum.total;
    for (int r = comm->size - 1; r >= 0; r--) {
        const int node = comm->nodes->node_of[r];

        first -= shares->counts[r];
        if (shares->counts[r] > 0 && node > lowest && first < sum.longest) {
            return false;
        }
        lowest = node < lowest ? node : lowest;
    }
    return true;
}

void tw_scatter_publish(tw_request_t *op, tw_lane_t *lane, bool all)
{
    const int      ranks = op->comm->node->ranks, mine = op->comm->nodes->local;
    const uint64_t start = tw_clock_ns();

    for (int q = 0; q < tw_turn_ranks(op, lane); q++) {
        size_t       n;
        const size_t first = tw_scatter_fragment(op, lane, tw_turn_rank(op, lane, q), &n);

        if ((all || q % ranks != mine) && n > 0) {
            tw_op_copy(op, tw_scatter_room(op, lane, mine, q),
                       tw_op_at(op, tw_scatter_values(op), first), n * op->element);
        }
    }
    tw_lane_raise(op, lane, TW_INPUTS);
    op->comm->stats.encode_ns += tw_clock_ns() - start;
}

tw_status_t tw_scatter_begin(tw_request_t *op, const tw_lane_t *lane)
{
    const tw_blocks_t shares = {.counts = op->array[TW_SHARE_LENGTH]};

    if (lane->round > 0 || op->send != op->recv || tw_scatter_in_order(op->comm, &shares)) {
        return TW_OK;
    }
    tw_pool_put(&op->comm->pool, op->copy); /* of an earlier start */
    op->copy = NULL;
    return tw_comm_copy_in_place(op->comm, op->recv, op->count * op->element, &op->copy);
}

bool tw_scatter_may_write(const tw_request_t *op, const tw_lane_t *lane, int *peer_p)
{
    bool may = true;

    for (int l = 0; l < op->lanes && op->send == op->recv && op->copy == NULL; l++) {
        const tw_lane_t *other = &op->lane[l];

        may = may && !(other->busy && other->round < lane->round && other->stage < TW_READ);
    }
    if (!may) {
        *peer_p = op->comm->rank;
    }
    return may;
}

void tw_scatter_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    tw_reduction_fill(op, call);
    op->rounds *= (size_t)op->comm->nodes->count;
}
