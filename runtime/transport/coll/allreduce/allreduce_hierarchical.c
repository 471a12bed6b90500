/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/allreduce_hierarchical.c - uncompressed sums inside each node, in its
 * memory; two_pass of the encoded node sums between nodes, with the vector divided among the
 * carriers of a node.
 *
 * With N nodes, K ranks of each are carriers: those with the numbers 0 .. K-1 of their node. K is
 * tw_policy_carriers(), or less if blocks are too large for a slot. The vector is cut into K x N
 * equal shares of whole blocks. Share k N + j is carried by number k of every node and owned
 * by number k of node j. Rounds cycle through the owners: round c has fragment c / N of the shares
 * that node c % N owns.
 *
 *     stage 1   every rank writes its values of the K fragments to its slot           phase 1
 *     stage 2   carrier k: adds its node's values of fragment k in rank order, encodes the sum (1st
 *               quantisation), sends it to the owner
 *     stage 3   owner: decodes and adds in the order of nodes, encodes (2nd), sends it to all nodes
 *     stage 4   carrier k: decodes fragment k into its slot                         phase 2
 *     stage 5   every rank reads the K fragments
 *
 * Sent per node: 2 (N-1)/N x encoded vector; of 16-bit elements as they are, node sums are sent in
 * the type of sums, which is twice as long, and totals as elements. The resulting bits depend on
 * the layout of nodes, but not on K, since the rank that sums and encodes a block does not change
 * it, nor on the memory type
 * of the slots. Residuals: the carrier has the first, of the node's sum, in its shares; the owner
 * has the second, in its one share. Averages divide by the number of all ranks. Slots of a lane:
 * [0, N) node j's codes, if this rank owns the fragment | N the encoded sum.
 */
#include "config.h"

#include "runtime/base/clock.h"
#include "runtime/transport/coll/allreduce/reduction.h"

enum { TW_INPUTS = 1, TW_SUMS = 2 }; /* phases of a ticket */

/* Ranks of each node that exchange with other nodes; 0: the codec's blocks are too large. */
static int tw_hierarchical_carriers(const tw_collective_call_t *call)
{
    const tw_nodes_t *nodes = call->comm->nodes;
    const size_t      fit =
        tw_node_slot_bytes(nodes->most) / (call->codec->block * call->codec->element);
    const int pays = tw_policy_carriers(call->encoded, nodes->count, nodes->least);

    return fit < (size_t)pays ? (int)fit : pays;
}

/* ---- where things are ------------------------------------------------------------------------ */

static int tw_hier_owner(const tw_request_t *op, const tw_lane_t *lane)
{
    return (int)(lane->round % (size_t)op->comm->nodes->count);
}

static size_t tw_hier_share(const tw_request_t *op, const tw_lane_t *lane, int carrier)
{
    return (size_t)carrier * (size_t)op->comm->nodes->count + (size_t)tw_hier_owner(op, lane);
}

/* First value of a carrier's fragment, and how many there are. */
static size_t tw_hier_fragment(const tw_request_t *op, const tw_lane_t *lane, int carrier,
                               size_t *n_p)
{
    const size_t share  = tw_hier_share(op, lane, carrier);
    const size_t length = op->array[TW_SHARE_LENGTH][share];
    const size_t start  = lane->round / (size_t)op->comm->nodes->count * op->chunk;
    const size_t left   = start < length ? length - start : 0;

    *n_p = left < op->chunk ? left : op->chunk;
    return op->array[TW_SHARE_FIRST][share] + start;
}

/* A carrier's fragment in a rank's slot. */
static uint8_t *tw_hier_room(const tw_request_t *op, const tw_lane_t *lane, int local, int carrier)
{
    return tw_lane_room(op, lane, local) + (size_t)carrier * op->chunk * op->element;
}

static bool tw_hier_carries(const tw_request_t *op)
{
    return op->comm->nodes->local < op->carriers;
}

/* Does our node need the sums, and do we? */
static bool tw_hier_wanted(const tw_request_t *op, int node)
{
    return op->root < 0 || op->comm->nodes->node_of[op->root] == node;
}

static bool tw_hier_takes(const tw_request_t *op)
{
    return op->root < 0 || op->root == op->comm->rank;
}

/* The rank on a node with which we exchange: it has our number. */
static int tw_hier_peer(const tw_request_t *op, int node)
{
    return tw_nodes_rank(op->comm->nodes, node, op->comm->nodes->local);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void tw_hier_publish(tw_request_t *op, tw_lane_t *lane)
{
    const int      mine  = op->comm->nodes->local;
    const uint64_t start = tw_clock_ns();

    for (int k = 0; k < op->carriers; k++) {
        size_t       n;
        const size_t first = tw_hier_fragment(op, lane, k, &n);

        if (k != mine && n > 0) {
            tw_op_copy(op, tw_hier_room(op, lane, mine, k), tw_op_at(op, op->send, first),
                       n * op->element);
        }
    }
    tw_lane_raise(op, lane, TW_INPUTS);
    op->comm->stats.encode_ns += tw_clock_ns() - start;
}

/* Receives first: the owner's of all nodes' sums; the others' of the owner's total. */
static tw_status_t tw_hier_receives(tw_request_t *op, tw_lane_t *lane, size_t n)
{
    const tw_nodes_t *nodes  = op->comm->nodes;
    const int         owner  = tw_hier_owner(op, lane);
    tw_status_t       status = TW_OK;

    if (owner != nodes->mine) {
        return tw_hier_wanted(op, nodes->mine)
                   ? tw_lane_recv(op, lane, 3, tw_lane_slot(op, lane, nodes->count),
                                  tw_op_size(op, n), tw_hier_peer(op, owner))
                   : TW_OK;
    }
    for (int i = 1; i < nodes->count && status == TW_OK; i++) {
        const int from = (nodes->mine + nodes->count - i) % nodes->count;

        status = tw_lane_recv(op, lane, 2, tw_lane_slot(op, lane, from), tw_op_added_size(op, n),
                              tw_hier_peer(op, from));
    }
    return status;
}

static tw_status_t tw_hier_gather(tw_request_t *op, tw_lane_t *lane, size_t first, size_t n)
{
    const int         owner  = tw_hier_owner(op, lane);
    const size_t      bytes  = tw_op_added_size(op, n);
    uint8_t          *codes  = tw_lane_slot(op, lane, op->comm->nodes->mine);
    const tw_status_t status = tw_hier_receives(op, lane, n);

    if (status != TW_OK) {
        return status;
    }
    tw_reduction_sum_node(op, lane, tw_op_at(op, op->send, first), n,
                          (size_t)op->comm->nodes->local * op->chunk * op->element);
    tw_reduction_encode_first(op, lane->sum, first, n, codes);
    return owner == op->comm->nodes->mine
               ? TW_OK
               : tw_lane_send(op, lane, 2, 2, codes, bytes, tw_hier_peer(op, owner), n);
}

/* The owner adds the nodes' sums; the messages go out while it works on, and are waited for in
 * stage 4. */
static tw_status_t tw_hier_spread(tw_request_t *op, tw_lane_t *lane, size_t first, size_t n)
{
    const tw_nodes_t *nodes  = op->comm->nodes;
    uint8_t          *total  = tw_lane_slot(op, lane, nodes->count);
    tw_status_t       status = TW_OK;

    if (tw_hier_owner(op, lane) != nodes->mine) {
        return TW_OK;
    }
    tw_op_decode_sum(op, tw_lane_slot(op, lane, 0), n, lane->sum);
    for (int j = 1; j < nodes->count; j++) {
        tw_op_decode_combine(op, lane, tw_lane_slot(op, lane, j), n, lane->sum);
    }
    tw_reduction_encode_second(op, lane->sum, first, n, total);
    for (int i = 1; i < nodes->count && status == TW_OK; i++) {
        const int to = (nodes->mine + i) % nodes->count;

        if (tw_hier_wanted(op, to)) {
            status =
                tw_lane_send(op, lane, 4, 3, total, tw_op_size(op, n), tw_hier_peer(op, to), n);
        }
    }
    return status;
}

static void tw_hier_decode(tw_request_t *op, tw_lane_t *lane, size_t first, size_t n)
{
    const int mine = op->comm->nodes->local;
    uint8_t  *room = tw_hier_room(op, lane, mine, mine);

    tw_reduction_decode_second(op, lane, tw_lane_slot(op, lane, op->comm->nodes->count), n, room);
    tw_lane_raise(op, lane, TW_SUMS);
    if (tw_hier_takes(op) && n > 0) {
        tw_op_copy(op, tw_op_at(op, op->recv, first), room, n * op->element);
    }
}

static void tw_hier_take(tw_request_t *op, const tw_lane_t *lane)
{
    const uint64_t start = tw_clock_ns();

    for (int k = 0; k < op->carriers; k++) {
        size_t       n;
        const size_t first = tw_hier_fragment(op, lane, k, &n);

        if (k != op->comm->nodes->local && n > 0) {
            tw_op_copy(op, tw_op_at(op, op->recv, first), tw_hier_room(op, lane, k, k),
                       n * op->element);
        }
    }
    op->comm->stats.decode_ns += tw_clock_ns() - start;
}

static tw_status_t tw_hier_step(tw_request_t *op, tw_lane_t *lane)
{
    const bool carries = tw_hier_carries(op);
    size_t     n = 0, first = 0;

    if (carries) {
        first = tw_hier_fragment(op, lane, op->comm->nodes->local, &n);
    }
    switch (lane->stage) {
    case 0:
        return TW_OK;
    case 1:
        tw_hier_publish(op, lane);
        return TW_OK;
    case 2:
        return n > 0 ? tw_hier_gather(op, lane, first, n) : TW_OK;
    case 3:
        return n > 0 ? tw_hier_spread(op, lane, first, n) : TW_OK;
    case 4:
        if (carries && tw_hier_wanted(op, op->comm->nodes->mine)) {
            tw_hier_decode(op, lane, first, n);
        }
        return TW_OK;
    default:
        if (tw_hier_takes(op)) {
            tw_hier_take(op, lane);
        }
        tw_lane_done(op, lane);
        return TW_OK;
    }
}

static bool tw_hier_sums_there(const tw_request_t *op, const tw_lane_t *lane, int *local_p)
{
    for (int k = 0; k < op->carriers; k++) {
        if (k != op->comm->nodes->local &&
            !tw_node_raised(op->comm->node, k, tw_lane_ticket(op, lane), TW_SUMS)) {
            *local_p = k;
            return false;
        }
    }
    return true;
}

static bool tw_hier_ready(tw_request_t *op, tw_lane_t *lane, int *peer_p)
{
    tw_comm_t     *comm   = op->comm;
    const uint64_t ticket = tw_lane_ticket(op, lane);
    bool           ready  = true;
    int            local  = 0;

    if (lane->stage == 0) {
        ready = tw_node_open(comm->node, ticket, &local);
    } else if (lane->stage == 1 && tw_hier_carries(op)) {
        ready = tw_node_all_raised(comm->node, ticket, TW_INPUTS, &local);
    } else if (lane->stage == 4 && tw_hier_takes(op)) {
        ready = tw_hier_sums_there(op, lane, &local);
    }
    if (!ready) {
        *peer_p = tw_nodes_rank(comm->nodes, comm->nodes->mine, local);
    }
    return ready;
}

/* Shares by carrier and owning node; rounds go round the owners. */
static void tw_hier_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    const tw_nodes_t *nodes  = op->comm->nodes;
    const size_t      owners = (size_t)nodes->count;
    size_t           *length = op->array[TW_SHARE_LENGTH];

    op->carriers = tw_hierarchical_carriers(call);
    tw_shares_equal((size_t)op->carriers * owners, call->count, tw_codec_block(op->codec),
                    op->array[TW_SHARE_FIRST], length);
    op->rounds = owners * tw_op_rounds(op, length[0]); /* the longest */
    if (nodes->local < op->carriers) {
        const size_t mine = (size_t)nodes->local * owners + (size_t)nodes->mine;

        op->own_first = op->array[TW_SHARE_FIRST][mine];
        op->own_count = length[mine];
    }
}

static const tw_algorithm_ops_t tw_reduce_hierarchical = {.name   = "hierarchical",
                                                          .stages = 5,
                                                          .step   = tw_hier_step,
                                                          .ready  = tw_hier_ready,
                                                          .fill   = tw_hier_fill};

static tw_status_t tw_hier_serves(const tw_collective_call_t *call)
{
    return tw_hierarchical_carriers(call) > 0 && tw_partial_codec(call->comm, call->codec) != NULL
               ? tw_node_ready(call->comm)
               : TW_ERR_UNSUPPORTED;
}

static void tw_hier_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    const tw_nodes_t *nodes    = call->comm->nodes;
    const size_t      carriers = (size_t)tw_hierarchical_carriers(call);

    shape->algorithm = &tw_reduce_hierarchical;
    shape->sum       = true;
    shape->partial   = true;
    shape->slots     = nodes->count + 1;
    shape->turns     = nodes->count;
    shape->longest   = tw_share_longest(call, call->codec->block, carriers * (size_t)nodes->count);
    shape->most      = tw_collective_room(call) / carriers / call->codec->element;
}

const tw_algorithm_row_t tw_reduction_hierarchical = {.name    = "hierarchical",
                                                      .number  = TW_ALGORITHM_HIERARCHICAL,
                                                      .in_node = true,
                                                      .serves  = tw_hier_serves,
                                                      .needs   = TW_NODES_NEED,
                                                      .usual   = tw_collective_of_nodes,
                                                      .shape   = tw_hier_shape};
