/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/reduction.c - arguments and shares.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/transport/coll/allreduce/reduction.h"

/* The residual from position `first` on; NULL: there is none. */
static void *tw_reduction_residual(const tw_request_t *op, bool second, size_t first)
{
    const tw_feedback_t *fb = op->feedback;

    return fb != NULL ? (second ? fb->second : fb->first) + first * fb->element : NULL;
}

void tw_reduction_encode_first(tw_request_t *op, const void *sum, size_t first, size_t n,
                               uint8_t *codes)
{
    tw_op_encode_added(op, sum, n, tw_reduction_residual(op, false, first), codes);
}

void tw_reduction_encode_second(tw_request_t *op, void *sum, size_t first, size_t n, uint8_t *codes)
{
    if (op->identity && tw_op_widens(op)) {
        tw_op_average(op, n, sum);
        tw_op_encode_sum(op, sum, n, NULL, codes);
        return;
    }
    tw_op_encode_sum(op, sum, n, tw_reduction_residual(op, true, first), codes);
    if (op->identity) {
        tw_op_average(op, n, codes);
    }
}

void tw_reduction_decode_second(tw_request_t *op, const tw_lane_t *lane, const uint8_t *codes,
                                size_t n, uint8_t *out)
{
    if (n > 0 && op->identity) {
        tw_op_decode(op, codes, n, out);
    } else if (n > 0) {
        tw_op_decode_result(op, lane, codes, n, out);
    }
}

void tw_reduction_encode(tw_request_t *op, const tw_lane_t *lane, size_t first, size_t n,
                         uint8_t *codes)
{
    const void *values;

    first += lane->round * op->chunk;
    values = tw_op_at(op, op->send, first);
    if (op->feedback != NULL) {
        tw_op_encode_feedback(op, values, n, tw_reduction_residual(op, false, first), codes);
    } else {
        tw_op_encode(op, values, n, codes);
    }
}

/* The values of this node's ranks: ours where they are, the others' in their slots. */
typedef struct tw_node_terms {
    const tw_request_t *op;
    const tw_lane_t    *lane;
    const uint8_t      *mine;
    size_t              offset;
} tw_node_terms_t;

static const void *tw_node_term(const void *self, int local)
{
    const tw_node_terms_t *terms = self;

    return local == terms->op->comm->node->local
               ? terms->mine
               : tw_lane_room(terms->op, terms->lane, local) + terms->offset;
}

void tw_reduction_sum_node(tw_request_t *op, tw_lane_t *lane, const uint8_t *mine, size_t n,
                           size_t offset)
{
    const tw_node_terms_t self  = {op, lane, mine, offset};
    const tw_terms_t      terms = {tw_node_term, &self, op->comm->node->ranks};

    tw_op_combine(op, &terms, n, lane->sum);
}

void tw_reduction_sum(tw_request_t *op, const tw_lane_t *lane, int first_slot, size_t n, void *sum)
{
    tw_op_decode_sum(op, tw_lane_slot(op, lane, first_slot), n, sum);
    for (int r = 1; r < op->comm->size; r++) {
        tw_op_decode_combine(op, lane, tw_lane_slot(op, lane, first_slot + r), n, sum);
    }
}

void tw_reduction_encode_sum(tw_request_t *op, const tw_lane_t *lane, void *sum, size_t n,
                             uint8_t *codes)
{
    const size_t first = op->array[TW_SHARE_FIRST][op->comm->rank] + lane->round * op->chunk;

    tw_reduction_encode_second(op, sum, first, n, codes);
}

void tw_reduction_decode_sum(tw_request_t *op, const tw_lane_t *lane, int rank,
                             const uint8_t *codes)
{
    tw_reduction_decode_second(op, lane, codes, tw_share_fragment(op, lane, rank),
                               tw_share_at(op, lane, op->recv, rank));
}

void tw_shares_equal(size_t ranks, size_t count, size_t block, size_t *first, size_t *length)
{
    const size_t blocks = count / block + (count % block != 0);
    size_t       at     = 0;

    for (size_t r = 0; r < ranks; r++) {
        const size_t mine = (blocks / ranks + (r < blocks % ranks)) * block;

        first[r]  = at;
        length[r] = mine < count - at ? mine : count - at;
        at += length[r];
    }
}

static bool tw_scatters(const tw_collective_call_t *call)
{
    return call->collective->operation == TW_OPERATION_REDUCE_SCATTER;
}

size_t tw_share_longest(const tw_collective_call_t *call, size_t block, size_t ranks)
{
    const size_t    blocks  = call->count / block + (call->count % block != 0);
    const size_t    longest = (blocks / ranks + (blocks % ranks != 0)) * block;
    tw_blocks_sum_t shares;

    if (!tw_scatters(call)) {
        return longest < call->count ? longest : call->count;
    }
    (void)tw_blocks_sum(&call->in, call->comm->size, &shares); /* checked before */
    return shares.longest;
}

void tw_reduction_fill_shares(tw_request_t *op, const tw_collective_call_t *call, size_t block)
{
    const int rank    = op->comm->rank;
    size_t   *first   = op->array[TW_SHARE_FIRST];
    size_t   *length  = op->array[TW_SHARE_LENGTH];
    size_t    longest = 0;

    if (tw_scatters(call)) {
        tw_blocks_fill(&call->in, op->comm->size, length, first);
    } else {
        tw_shares_equal((size_t)op->comm->size, call->count, block, first, length);
        op->own_first = first[rank];
        op->own_count = length[rank];
    }
    for (int r = 0; r < op->comm->size; r++) {
        longest = length[r] > longest ? length[r] : longest;
    }
    op->rounds = tw_op_rounds(op, longest);
}

void tw_reduction_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    tw_reduction_fill_shares(op, call, tw_codec_block(call->codec));
}

/* Values that this rank receives, if it receives anything. */
static size_t tw_reduction_out(const tw_collective_call_t *call)
{
    return tw_scatters(call) ? tw_blocks_count(&call->in, call->comm->rank) : call->count;
}

/* The buffers of which this rank reads or writes anything. */
static void tw_reduction_values(tw_collective_call_t *call, bool receives)
{
    const bool   in_place = call->send == TW_IN_PLACE;
    const size_t out      = tw_reduction_out(call);

    call->compared  = call->count;
    call->extent[0] = call->count;
    call->extent[1] = in_place ? call->count : out;
    call->values[0] = !in_place && call->count > 0 ? call->send : NULL;
    call->values[1] = call->count > 0 && (in_place || (receives && out > 0)) ? call->recv : NULL;
}

tw_status_t tw_reduction_check(tw_collective_call_t *call)
{
    const tw_comm_t *comm     = call->comm;
    const bool       in_place = call->send == TW_IN_PLACE;
    const bool       receives = call->root < 0 || call->root == comm->rank;

    const tw_reduction_row_t *row = tw_reduction_row((int)call->reduction);
    tw_blocks_sum_t           shares;

    if (tw_scatters(call)) {
        if (tw_blocks_sum(&call->in, comm->size, &shares) != TW_OK) {
            return TW_ERR_RANGE;
        }
        call->count = shares.total;
    }
    if (row == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    if (call->root >= comm->size || (in_place && !receives)) {
        return TW_ERR_INVALID_ARG;
    }
    if (call->count > 0 && (call->send == NULL || (in_place && call->recv == NULL))) {
        return TW_ERR_INVALID_ARG;
    }
    if (receives && tw_reduction_out(call) > 0 && call->recv == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    tw_reduction_values(call, receives);
    if (!row->feedback && call->how != NULL && call->how->feedback != NULL) {
        TW_ERROR(&comm->log, "%s: there is no error feedback for '%s'; accepted: sum, average",
                 call->name, row->name);
        return TW_ERR_INVALID_ARG;
    }
    return call->how == NULL || call->how->feedback == NULL
               ? TW_OK
               : tw_feedback_check(call->how->feedback, comm, call->how->codec, call->count);
}
