/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/allreduce_two_pass.c - pass 1: each rank sends its encoded fragment of
 * every share to the share's owner, which decodes and adds in rank order; pass 2: the owner encodes
 * the sum and sends it to all ranks (or to the root of a reduce). S1 section 4.5 (B13), with both
 * residuals.
 *
 * Two quantisations (one for a reduce-scatter, which ends after pass 1 with the sum unencoded).
 * Sent per rank: 2 (P-1)/P x encoded vector.
 * Slots of a lane: [0, P) codes for owner r | [P, 2P) rank r's codes of this rank's share |
 * [2P, 3P) the encoded sum of share r.
 */
#include "config.h"

#include "runtime/transport/coll/allreduce/reduction.h"

static tw_status_t tw_pass1_receives(tw_request_t *op, tw_lane_t *lane)
{
    const tw_comm_t *comm   = op->comm;
    const size_t     bytes  = tw_op_size(op, tw_share_fragment(op, lane, comm->rank));
    tw_status_t      status = TW_OK;

    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int peer = tw_comm_source(comm, i);

        status = tw_lane_recv(op, lane, 0, tw_lane_slot(op, lane, comm->size + peer), bytes, peer);
    }
    return status;
}

static tw_status_t tw_pass2_receives(tw_request_t *op, tw_lane_t *lane)
{
    const tw_comm_t *comm   = op->comm;
    tw_status_t      status = TW_OK;

    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int    peer  = tw_comm_source(comm, i);
        const size_t bytes = tw_op_size(op, tw_share_fragment(op, lane, peer));

        status =
            tw_lane_recv(op, lane, 1, tw_lane_slot(op, lane, 2 * comm->size + peer), bytes, peer);
    }
    return status;
}

/* May elements that need no encoding be sent, and added, where they are? Where sums are sent on, a
 * round receives only where it has sent from; the result of a reduce-scatter in place covers what
 * other rounds may still send. */
static bool tw_pass1_zero_copy(const tw_request_t *op)
{
    return op->feedback == NULL && (op->own_count > 0 || op->send != op->recv);
}

/* Where our codes for an owner are: our own are at home among the others' of it. */
static uint8_t *tw_pass1_codes(const tw_request_t *op, const tw_lane_t *lane, int owner)
{
    const int slot = owner == op->comm->rank ? op->comm->size + owner : owner;

    return tw_pass1_zero_copy(op)
               ? tw_lane_codes(op, lane, slot, tw_share_at(op, lane, op->send, owner))
               : tw_lane_slot(op, lane, slot);
}

/* Rank r's codes of our share. */
static const uint8_t *tw_pass1_term(const tw_request_t *op, const tw_lane_t *lane, int r)
{
    return r == op->comm->rank ? tw_pass1_codes(op, lane, r)
                               : tw_lane_slot(op, lane, op->comm->size + r);
}

/* Encode our fragment of every share, and send it to the share's owner. */
static tw_status_t tw_pass1_sends(tw_request_t *op, tw_lane_t *lane)
{
    const tw_comm_t *comm   = op->comm;
    tw_status_t      status = TW_OK;

    for (int i = 1; i <= comm->size && status == TW_OK; i++) {
        const int    owner = tw_comm_peer(comm, i);
        const size_t n     = tw_share_fragment(op, lane, owner);
        uint8_t     *codes;

        if (n == 0) {
            continue;
        }
        codes = tw_pass1_codes(op, lane, owner);
        tw_reduction_encode(op, lane, op->array[TW_SHARE_FIRST][owner], n, codes);
        if (owner != comm->rank) {
            status = tw_lane_send(op, lane, 0, 0, codes, tw_op_size(op, n), owner, n);
        }
    }
    return status;
}

typedef struct tw_pass1 {
    const tw_request_t *op;
    const tw_lane_t    *lane;
} tw_pass1_t;

static const void *tw_pass1_values(const void *self, int rank)
{
    const tw_pass1_t *pass = self;

    return tw_pass1_term(pass->op, pass->lane, rank);
}

/* sum[n] = the sum of our share, in rank order. */
static void tw_pass1_sum(tw_request_t *op, const tw_lane_t *lane, size_t n, void *sum)
{
    const tw_pass1_t self  = {op, lane};
    const tw_terms_t terms = {tw_pass1_values, &self, op->comm->size};

    if (tw_op_as_is(op)) {
        tw_op_combine(op, &terms, n, sum);
        return;
    }
    tw_op_decode_sum(op, tw_pass1_term(op, lane, 0), n, sum);
    for (int r = 1; r < op->comm->size; r++) {
        tw_op_decode_combine(op, lane, tw_pass1_term(op, lane, r), n, sum);
    }
}

/* Add up our share, encode the sum, send it. */
static tw_status_t tw_pass2_sends(tw_request_t *op, tw_lane_t *lane)
{
    const tw_comm_t *comm  = op->comm;
    const size_t     n     = tw_share_fragment(op, lane, comm->rank);
    const int        slot  = 2 * comm->size + comm->rank;
    uint8_t         *codes = tw_lane_slot(op, lane, slot);
    /* A sum that needs no encoding is made where it is sent from. */
    const bool  there  = tw_op_as_is(op) && op->feedback == NULL && !tw_op_widens(op);
    uint8_t    *sum    = there ? codes : lane->sum;
    tw_status_t status = TW_OK;

    if (n == 0) {
        return TW_OK;
    }
    tw_pass1_sum(op, lane, n, sum);
    tw_reduction_encode_sum(op, lane, sum, n, codes);
    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int peer = tw_comm_peer(comm, i);

        if (op->root < 0 || op->root == peer) {
            status = tw_lane_send(op, lane, 1, 1, codes, tw_op_size(op, n), peer, n);
        }
    }
    return status;
}

static void tw_pass2_decode(tw_request_t *op, const tw_lane_t *lane)
{
    for (int r = 0; r < op->comm->size; r++) {
        tw_reduction_decode_sum(op, lane, r, tw_lane_slot(op, lane, 2 * op->comm->size + r));
    }
}

static tw_status_t tw_two_pass_step(tw_request_t *op, tw_lane_t *lane)
{
    const bool  receives = op->root < 0 || op->root == op->comm->rank;
    tw_status_t status;

    switch (lane->stage) {
    case 0:
        status = tw_pass1_receives(op, lane);
        if (status == TW_OK && receives) {
            status = tw_pass2_receives(op, lane);
        }
        return status == TW_OK ? tw_pass1_sends(op, lane) : status;
    case 1:
        return tw_pass2_sends(op, lane);
    default:
        if (receives) {
            tw_pass2_decode(op, lane);
        }
        return TW_OK;
    }
}

static tw_status_t tw_one_pass_step(tw_request_t *op, tw_lane_t *lane)
{
    const size_t n   = tw_share_fragment(op, lane, op->comm->rank);
    uint8_t     *out = tw_lane_at(op, lane, op->recv, 0), *sum = tw_op_sum(op, lane, out);
    tw_status_t  status;

    if (lane->stage == 0) {
        status = tw_pass1_receives(op, lane);
        return status == TW_OK ? tw_pass1_sends(op, lane) : status;
    }
    if (n > 0) {
        tw_pass1_sum(op, lane, n, sum);
        tw_op_sum_result(op, sum, n, out);
    }
    return TW_OK;
}

static const tw_algorithm_ops_t tw_reduce_two_pass = {
    .name = "two_pass", .stages = 2, .step = tw_two_pass_step, .fill = tw_reduction_fill};
static const tw_algorithm_ops_t tw_reduce_scatter_one_pass = {
    .name = "one_pass", .stages = 1, .step = tw_one_pass_step, .fill = tw_reduction_fill};

static bool tw_two_pass_usual(const tw_collective_call_t *call)
{
    return tw_policy_two_pass(&call->comm->policy, call->encoded, call->comm->size);
}

static void tw_passes_shape(const tw_collective_call_t *call, const tw_algorithm_ops_t *algorithm,
                            tw_request_shape_t *shape)
{
    shape->algorithm = algorithm;
    shape->sum       = true;
    shape->slots     = 3 * call->comm->size;
    shape->longest = tw_share_longest(call, tw_codec_block(call->codec), (size_t)call->comm->size);
}

static void tw_two_pass_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    tw_passes_shape(call, &tw_reduce_two_pass, shape);
}

static void tw_one_pass_shape(const tw_collective_call_t *call, tw_request_shape_t *shape)
{
    tw_passes_shape(call, &tw_reduce_scatter_one_pass, shape);
}

const tw_algorithm_row_t tw_reduction_two_pass = {.name   = "two_pass",
                                                  .number = TW_ALGORITHM_TWO_PASS,
                                                  .usual  = tw_two_pass_usual,
                                                  .shape  = tw_two_pass_shape};
const tw_algorithm_row_t tw_scatter_one_pass   = {.name = "one_pass", .shape = tw_one_pass_shape};
