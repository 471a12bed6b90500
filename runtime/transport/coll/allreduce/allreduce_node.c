/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/allreduce_node.c - sums of uncompressed values in the memory of one
 * node, for lossless codecs, which give the same results by definition. No messages.
 *
 *   direct  every rank writes its whole vector to its slot; every rank (or the root) adds all of
 *           them in rank order. One exchange of flags, for vectors that fit a slot (shm/quick.h).
 *   shares  every rank writes its fragments of all other ranks' shares to its slot; the owner of a
 *           share adds the fragments in rank order and writes the sum to the position of its own
 *           fragment; all ranks (or the root) copy the sums. Two exchanges of flags; each value is
 *           added once. A reduce-scatter ends with the owner's sum.
 *
 * Sums are computed in rank order, so all ranks get the bits of the serial sum.
 */
#include "config.h"

#include "runtime/base/clock.h"
#include "runtime/transport/coll/allreduce/reduction.h"
#include "runtime/transport/coll/node.h"

enum { TW_INPUTS = 1, TW_SUMS = 2 }; /* phases of a ticket */

static const tw_algorithm_ops_t tw_reduce_node_direct, tw_reduce_node, tw_reduce_scatter_node;

static bool tw_node_receives(const tw_request_t *op)
{
    return op->root < 0 || op->root == op->comm->rank;
}

/* Where a rank's contribution to a share is: our own is still where the caller put it, except in a
 * reduce-scatter, whose result may come to lie there. */
static const uint8_t *tw_node_input(const tw_request_t *op, const tw_lane_t *lane, int from,
                                    int share)
{
    const tw_segment_t *node = op->comm->node;

    if (from == node->local && op->algorithm == &tw_reduce_node) {
        return tw_lane_at(op, lane, op->send, op->array[TW_SHARE_FIRST][share]);
    }
    return tw_lane_room(op, lane, from) + (size_t)share * op->chunk * op->element;
}

static void tw_node_timed(uint64_t *sum, uint64_t start)
{
    *sum += tw_clock_ns() - start;
}

/* What the ranks have written, of which a share. */
typedef struct tw_node_inputs {
    const tw_request_t *op;
    const tw_lane_t    *lane;
    int                 share;
} tw_node_inputs_t;

static const void *tw_node_share_of(const void *self, int rank)
{
    const tw_node_inputs_t *in = self;

    return tw_node_input(in->op, in->lane, rank, in->share);
}

/* out = the sum of the n values of a share of all ranks, divided for an average. */
static void tw_node_sum(tw_request_t *op, const tw_lane_t *lane, int share, size_t n, uint8_t *out)
{
    const tw_node_inputs_t self  = {op, lane, share};
    const tw_terms_t       terms = {tw_node_share_of, &self, op->comm->size};

    tw_op_combine_result(op, &terms, n, out);
}

/* ---- direct --------------------------------------------------------------------------------- */

static const void *tw_direct_of(const void *self, int rank)
{
    const tw_node_inputs_t *in = self;

    return tw_node_room(in->op, in->lane, rank, 1);
}

static void tw_direct_sum(tw_request_t *op, const tw_lane_t *lane)
{
    const tw_node_inputs_t self  = {op, lane, 0};
    const tw_terms_t       terms = {tw_direct_of, &self, op->comm->size};

    tw_op_combine_result(op, &terms, op->count, op->recv);
}

static tw_status_t tw_node_direct_step(tw_request_t *op, tw_lane_t *lane)
{
    if (lane->stage == 1) {
        tw_op_copy(op, tw_node_room(op, lane, op->comm->node->local, 1), op->send,
                   op->count * op->element);
        tw_lane_raise(op, lane, TW_INPUTS);
    } else if (lane->stage == 2) {
        if (tw_node_receives(op)) {
            tw_direct_sum(op, lane);
        }
        tw_lane_done(op, lane);
    }
    return TW_OK;
}

/* ---- shares --------------------------------------------------------------------------------- */

static void tw_node_publish(tw_request_t *op, tw_lane_t *lane)
{
    const int      mine  = op->comm->node->local;
    const uint64_t start = tw_clock_ns();

    for (int s = 0; s < op->comm->size; s++) {
        const size_t n = tw_lane_fragment(op, lane, op->array[TW_SHARE_LENGTH][s]);

        if ((s != mine || op->algorithm == &tw_reduce_scatter_node) && n > 0) {
            tw_op_copy(op, tw_lane_room(op, lane, mine) + (size_t)s * op->chunk * op->element,
                       tw_lane_at(op, lane, op->send, op->array[TW_SHARE_FIRST][s]),
                       n * op->element);
        }
    }
    tw_lane_raise(op, lane, TW_INPUTS);
    tw_node_timed(&op->comm->stats.encode_ns, start);
}

/* The sum of our share, for the others to take. */
static void tw_node_add_up(tw_request_t *op, tw_lane_t *lane)
{
    const int    mine = op->comm->node->local;
    const size_t n    = tw_lane_fragment(op, lane, op->array[TW_SHARE_LENGTH][mine]);
    uint8_t     *sum  = tw_lane_room(op, lane, mine) + (size_t)mine * op->chunk * op->element;

    tw_node_sum(op, lane, mine, n, sum);
    tw_lane_raise(op, lane, TW_SUMS);
    if (tw_node_receives(op)) {
        tw_op_copy(op, tw_lane_at(op, lane, op->recv, op->array[TW_SHARE_FIRST][mine]), sum,
                   n * op->element);
    }
}

static void tw_node_collect(tw_request_t *op, const tw_lane_t *lane)
{
    const uint64_t start = tw_clock_ns();

    for (int s = 0; s < op->comm->size; s++) {
        const size_t n = tw_lane_fragment(op, lane, op->array[TW_SHARE_LENGTH][s]);

        if (s != op->comm->node->local && n > 0) {
            tw_op_copy(op, tw_lane_at(op, lane, op->recv, op->array[TW_SHARE_FIRST][s]),
                       tw_lane_room(op, lane, s) + (size_t)s * op->chunk * op->element,
                       n * op->element);
        }
    }
    tw_node_timed(&op->comm->stats.decode_ns, start);
}

static tw_status_t tw_node_step(tw_request_t *op, tw_lane_t *lane)
{
    switch (lane->stage) {
    case 0:
        break;
    case 1:
        tw_node_publish(op, lane);
        break;
    case 2:
        tw_node_add_up(op, lane);
        break;
    default:
        if (tw_node_receives(op)) {
            tw_node_collect(op, lane);
        }
        tw_lane_done(op, lane);
        break;
    }
    return TW_OK;
}

static tw_status_t tw_node_scatter_step(tw_request_t *op, tw_lane_t *lane)
{
    const int mine = op->comm->node->local;

    if (lane->stage == 1) {
        tw_node_publish(op, lane);
    } else if (lane->stage == 2) {
        tw_node_sum(op, lane, mine, tw_lane_fragment(op, lane, op->array[TW_SHARE_LENGTH][mine]),
                    tw_lane_at(op, lane, op->recv, 0));
        tw_lane_done(op, lane);
    }
    return TW_OK;
}

/* Our slot is free; and, in place, a reduce-scatter's rounds take their input in order, since the
 * result of a round lies where earlier ones and itself had theirs. */
static bool tw_node_may_publish(tw_request_t *op, const tw_lane_t *lane, int *local_p)
{
    tw_segment_t  *node   = op->comm->node;
    const uint64_t ticket = tw_lane_ticket(op, lane);

    *local_p = node->local;
    if (op->algorithm == &tw_reduce_scatter_node && lane->round > 0 &&
        !tw_node_raised(node, node->local, ticket - 1, TW_INPUTS)) {
        return false;
    }
    return tw_node_open(node, ticket, local_p);
}

/* Stage 0: we may write. Stage s: phase s of all whose data we want. */
static bool tw_node_reduce_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    tw_comm_t     *comm   = op->comm;
    const uint64_t ticket = tw_lane_ticket(op, lane);
    int            local;
    bool           ready;

    if (lane->stage == 0) {
        ready = tw_node_may_publish(op, lane, &local);
    } else if ((lane->stage == TW_SUMS || op->algorithm == &tw_reduce_node_direct) &&
               !tw_node_receives(op)) {
        return true;
    } else {
        ready = tw_node_all_raised(comm->node, ticket, (unsigned)lane->stage, &local);
    }
    if (!ready) {
        *peer_p = tw_nodes_rank(comm->nodes, comm->nodes->mine, local);
    }
    return ready;
}

static void tw_node_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    tw_reduction_fill_shares(op, call, TW_NODE_BLOCK);
}

static const tw_algorithm_ops_t tw_reduce_node_direct  = {.name   = "node",
                                                          .stages = 2,
                                                          .values = true,
                                                          .step   = tw_node_direct_step,
                                                          .ready  = tw_node_reduce_ready,
                                                          .fill   = tw_collective_fill_whole};
static const tw_algorithm_ops_t tw_reduce_node         = {.name   = "node",
                                                          .stages = 3,
                                                          .values = true,
                                                          .step   = tw_node_step,
                                                          .ready  = tw_node_reduce_ready,
                                                          .fill   = tw_node_fill};
static const tw_algorithm_ops_t tw_reduce_scatter_node = {.name   = "node",
                                                          .stages = 2,
                                                          .values = true,
                                                          .step   = tw_node_scatter_step,
                                                          .ready  = tw_node_reduce_ready,
                                                          .fill   = tw_node_fill};

static void tw_node_shape_of(const tw_collective_call_t *call, const tw_algorithm_ops_t *algorithm,
                             tw_request_shape_t *shape)
{
    const size_t ranks = (size_t)call->comm->size;

    shape->algorithm = algorithm;
    shape->longest   = tw_share_longest(call, TW_NODE_BLOCK, ranks);
    shape->most = tw_collective_values_room(call) / tw_node_identity(call->comm, call->how) / ranks;
}

static void tw_node_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    if (tw_node_direct(call->comm, call->count * tw_node_identity(call->comm, call->how))) {
        shape->algorithm = &tw_reduce_node_direct;
        shape->longest   = call->count;
    } else {
        tw_node_shape_of(call, &tw_reduce_node, shape);
    }
}

static void tw_node_scatter_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    tw_node_shape_of(call, &tw_reduce_scatter_node, shape);
}

/* Values as they are, without a request, where that may be. */
static bool tw_reduction_at_once(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_comm_t   *comm    = call->comm;
    const size_t element = tw_node_quick(comm, call->how);

    if (!tw_node_fits(comm, element, call->count, 1) || tw_comm_device_owns(comm, call->values)) {
        return false;
    }
    *status_p = tw_quick_reduce(
        comm, call->name, call->send == TW_IN_PLACE ? call->recv : call->send, call->recv,
        call->count, tw_how_codec(comm, call->how), call->reduction, call->root);
    return true;
}

const tw_algorithm_row_t tw_reduction_node = {.name    = "node",
                                              .number  = TW_ALGORITHM_NODE,
                                              .in_node = true,
                                              .serves  = tw_collective_in_node,
                                              .needs   = TW_IN_NODE_NEEDS,
                                              .at_once = tw_reduction_at_once,
                                              .shape   = tw_node_shape};
const tw_algorithm_row_t tw_scatter_node   = {.name    = "node",
                                              .in_node = true,
                                              .serves  = tw_collective_in_node,
                                              .needs   = TW_IN_NODE_NEEDS,
                                              .shape   = tw_node_scatter_shape};
