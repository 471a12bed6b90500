/* SPDX-License-Identifier: BSD-3-Clause
 * transport/alltoall/alltoall_pairwise.c - every pair of ranks exchanges its two blocks, piece by
 * piece; the own block too is encoded and decoded.
 *
 * One quantisation. Sent per rank: the encoded blocks for the others.
 * A pair agrees on the number of pieces of each direction, as it knows the count; ranks may have
 * different numbers of rounds. Room for pieces does not depend on the counts of alltoallv, which
 * are not known everywhere. Slots of a lane, P each: [0, P) codes for rank r | [P, 2P) codes from
 * rank r. Where codes are the elements themselves they go from buffer to buffer, unless these are
 * one.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/transport/alltoall/alltoall.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/grid/route.h"
#include "runtime/transport/node/quick.h"

/* Where this lane's piece of the block for, or from, a rank lies. */
static uint8_t *tw_block_out(const tw_request_t *op, const tw_lane_t *lane, int peer)
{
    return tw_lane_at(op, lane, op->send, op->array[TW_SEND_FIRST][peer]);
}

static uint8_t *tw_block_in(const tw_request_t *op, const tw_lane_t *lane, int peer)
{
    return tw_lane_at(op, lane, op->recv, op->array[TW_RECV_FIRST][peer]);
}

/* Where its codes lie. In place, what arrives must not overwrite what is still to be sent. */
static uint8_t *tw_codes_out(const tw_request_t *op, const tw_lane_t *lane, int peer)
{
    return op->send == op->recv ? tw_lane_slot(op, lane, peer)
                                : tw_lane_codes(op, lane, peer, tw_block_out(op, lane, peer));
}

static uint8_t *tw_codes_in(const tw_request_t *op, const tw_lane_t *lane, int peer)
{
    const int slot = op->comm->size + peer;

    return op->send == op->recv ? tw_lane_slot(op, lane, slot)
                                : tw_lane_codes(op, lane, slot, tw_block_in(op, lane, peer));
}

static tw_status_t tw_alltoall_exchange(tw_request_t *op, tw_lane_t *lane)
{
    const tw_comm_t *comm   = op->comm;
    tw_status_t      status = TW_OK;

    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int    peer = (comm->rank + comm->size - i) % comm->size;
        const size_t n    = tw_lane_piece(op, lane, op->array[TW_RECV_COUNT][peer]);

        status = tw_lane_recv(op, lane, 0, tw_codes_in(op, lane, peer), tw_op_size(op, n), peer);
    }
    for (int i = 1; i <= comm->size && status == TW_OK; i++) {
        const int    peer = (comm->rank + i) % comm->size;
        const size_t n    = tw_lane_piece(op, lane, op->array[TW_SEND_COUNT][peer]);
        uint8_t     *codes =
            peer == comm->rank ? tw_codes_in(op, lane, peer) : tw_codes_out(op, lane, peer);

        if (n > 0) {
            tw_op_encode(op, tw_block_out(op, lane, peer), n, codes);
        }
        if (n > 0 && peer != comm->rank) {
            status = tw_lane_send(op, lane, 0, 0, codes, tw_op_size(op, n), peer, n);
        }
    }
    return status;
}

static tw_status_t tw_alltoall_step(tw_request_t *op, tw_lane_t *lane)
{
    if (lane->stage == 0) {
        return tw_alltoall_exchange(op, lane);
    }
    for (int r = 0; r < op->comm->size; r++) {
        const size_t n = tw_lane_piece(op, lane, op->array[TW_RECV_COUNT][r]);

        if (n > 0) {
            tw_op_decode(op, tw_codes_in(op, lane, r), n, tw_block_in(op, lane, r));
        }
    }
    return TW_OK;
}

const tw_algorithm_ops_t tw_alltoall_pairwise = {
    .name = "pairwise", .stages = 1, .step = tw_alltoall_step};

static size_t tw_blocks_count(const tw_blocks_t *blocks, int rank)
{
    return blocks->counts != NULL ? blocks->counts[rank] : blocks->each;
}

static tw_status_t tw_blocks_totals(const tw_blocks_t *blocks, int ranks, size_t *longest,
                                    size_t *total)
{
    *total = 0;
    for (int r = 0; r < ranks; r++) {
        const size_t n     = tw_blocks_count(blocks, r);
        const size_t first = blocks->displacements != NULL ? blocks->displacements[r] : *total;

        *longest = n > *longest ? n : *longest;
        if (!tw_size_add(*total, n, total) || tw_interval_check(first, n) != TW_OK) {
            return TW_ERR_RANGE;
        }
    }
    return TW_OK;
}

/* Elements from the buffer's first to the last block's last. */
static size_t tw_blocks_extent(const tw_blocks_t *blocks, int ranks)
{
    size_t at = 0, extent = 0;

    for (int r = 0; r < ranks; r++) {
        const size_t n     = tw_blocks_count(blocks, r);
        const size_t first = blocks->displacements != NULL ? blocks->displacements[r] : at;

        at += n;
        extent = n > 0 && first + n > extent ? first + n : extent;
    }
    return extent;
}

static void tw_blocks_fill(const tw_blocks_t *blocks, int ranks, size_t *count, size_t *first)
{
    size_t at = 0;

    for (int r = 0; r < ranks; r++) {
        count[r] = tw_blocks_count(blocks, r);
        first[r] = blocks->displacements != NULL ? blocks->displacements[r] : at;
        at += count[r];
    }
}

/* The memory of the node, bundles through the grid, or pairs; where all ranks know all counts. */
static tw_status_t tw_alltoall_shape(const tw_alltoall_args_t *args, tw_request_shape_t *shape)
{
    const tw_comm_t  *comm  = args->comm;
    const tw_codec_t *codec = args->how != NULL ? args->how->codec : NULL;
    size_t            bytes, element = 0;
    tw_status_t       status = TW_OK;

    if (args->in.counts != NULL) {
        return TW_OK;
    }
    if (tw_policy_may_node(comm->policy.alltoall)) {
        status = tw_node_choose(args->comm, args->how, &element);
    }
    if (element > 0) {
        shape->algorithm = tw_node_reads(comm, args->in.each * element) ? &tw_alltoall_read_node
                                                                        : &tw_alltoall_node;
        shape->slots     = 0;
        shape->most      = TW_NODE_PIECE / element / (size_t)comm->size;
    } else if (tw_codec_size(codec != NULL ? codec : comm->fp32, args->in.each, &bytes) == TW_OK &&
               tw_policy_alltoall(&comm->policy, bytes, comm->size) == TW_POLICY_BUNDLES) {
        shape->algorithm = &tw_alltoall_grid;
        shape->slots     = TW_DELIVER_SLOTS(comm->size);
        shape->piece     = tw_route_piece(comm->size);
    }
    return status;
}

static tw_status_t tw_alltoall_own(const tw_alltoall_args_t *args, tw_form_t form,
                                   tw_request_t **request_p)
{
    const bool         in_place = args->send == TW_IN_PLACE;
    const tw_blocks_t *out      = in_place ? &args->in : &args->out;
    tw_request_shape_t shape    = {.algorithm = &tw_alltoall_pairwise,
                                   .operation = args->operation,
                                   .count     = args->in.each,
                                   .root      = -1,
                                   .arrays    = 4};
    tw_status_t        status   = tw_comm_check(args->comm);
    size_t             longest  = 0, sent, received;
    tw_request_t      *op;

    if (status == TW_OK) {
        status = tw_blocks_totals(out, args->comm->size, &longest, &sent);
    }
    if (status == TW_OK) {
        status = tw_blocks_totals(&args->in, args->comm->size, &longest, &received);
    }
    if (status != TW_OK) {
        return status;
    }
    if ((form != TW_BLOCKING && request_p == NULL) || (sent > 0 && args->send == NULL) ||
        (received > 0 && args->recv == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    shape.values[0] = !in_place && sent > 0 ? args->send : NULL;
    shape.values[1] = received > 0 ? args->recv : NULL;
    shape.extent[0] = tw_blocks_extent(out, args->comm->size);
    shape.extent[1] = tw_blocks_extent(&args->in, args->comm->size);
    shape.slots     = 2 * args->comm->size;
    shape.longest   = args->in.counts != NULL ? SIZE_MAX / 16 : longest;
    status          = tw_movement_check(args->comm, args->how);
    if (status == TW_OK && form == TW_BLOCKING && args->in.counts == NULL &&
        tw_policy_may_node(args->comm->policy.alltoall) &&
        tw_node_fits(args->comm, args->how, shape.count, args->comm->size) &&
        !tw_comm_device_owns(args->comm, shape.values)) {
        return tw_quick_alltoall(args->comm, in_place ? args->recv : args->send, args->recv,
                                 shape.count * tw_node_plain(args->comm, args->how));
    }
    if (status == TW_OK && form == TW_BLOCKING && args->in.counts == NULL &&
        tw_policy_may_node(args->comm->policy.alltoall) &&
        tw_node_reads(args->comm, shape.count * tw_node_quick(args->comm, args->how)) &&
        !tw_comm_device_owns(args->comm, shape.values)) {
        return tw_quick_alltoall_read(args->comm, in_place ? args->recv : args->send, args->recv,
                                      shape.count * tw_node_plain(args->comm, args->how));
    }
    if (status == TW_OK) {
        status = tw_alltoall_shape(args, &shape);
    }
    if (status == TW_OK) {
        shape.piece = args->piece > 0 ? args->piece : shape.piece;
        status      = tw_request_create(args->comm, args->how, &shape, form == TW_PLAN, &op);
    }
    if (status != TW_OK) {
        return status;
    }
    tw_blocks_fill(out, op->comm->size, op->array[TW_SEND_COUNT], op->array[TW_SEND_FIRST]);
    tw_blocks_fill(&args->in, op->comm->size, op->array[TW_RECV_COUNT], op->array[TW_RECV_FIRST]);
    op->recv   = args->recv;
    op->send   = in_place ? args->recv : args->send;
    op->rounds = op->algorithm == &tw_alltoall_read_node
                     ? 1
                     : longest / op->chunk + (longest % op->chunk != 0);
    return tw_request_finish(op, form, request_p);
}

/* `auto`, or MPI's own collective: decide, then as if that had been asked for. */
static tw_status_t tw_alltoall_auto(const tw_alltoall_args_t *call, tw_form_t form,
                                    tw_request_t **request_p)
{
    tw_comm_t            *comm  = call->comm;
    const tw_plain_args_t plain = {.operation = TW_OPERATION_ALLTOALL,
                                   .name      = call->operation,
                                   .send      = call->send,
                                   .recv      = call->recv,
                                   .count     = call->in.each,
                                   .root      = -1};
    tw_alltoall_args_t    args  = *call;
    tw_auto_choice_t      choice;
    tw_policy_config_t    policy;
    tw_status_t           status;

    status = call->in.counts != NULL
                 ? tw_auto_resolve_unequal(comm, call->how, &choice)
                 : tw_auto_resolve(comm, TW_OPERATION_ALLTOALL, call->in.each, call->how, &choice);
    if (status != TW_OK || tw_auto_plain(comm, &plain, &choice, form, request_p, &status)) {
        return status;
    }
    args.how     = &choice.how;
    args.piece   = choice.piece;
    policy       = tw_auto_force(comm, TW_OPERATION_ALLTOALL, choice.algorithm);
    status       = tw_alltoall_own(&args, form, request_p);
    comm->policy = policy;
    return status;
}

tw_status_t tw_alltoall_any(const tw_alltoall_args_t *args, tw_form_t form,
                            tw_request_t **request_p)
{
    tw_status_t status;

    if (!tw_auto_asked(args->how)) {
        return tw_alltoall_own(args, form, request_p);
    }
    status = tw_comm_check(args->comm);
    if (status == TW_OK && ((form != TW_BLOCKING && request_p == NULL) ||
                            (args->in.counts == NULL && args->in.each > 0 &&
                             (args->send == NULL || args->recv == NULL)))) {
        status = TW_ERR_INVALID_ARG;
    }
    if (status == TW_OK) {
        status = tw_movement_check(args->comm, args->how);
    }
    return status == TW_OK ? tw_alltoall_auto(args, form, request_p) : status;
}
