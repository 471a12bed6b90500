/* SPDX-License-Identifier: BSD-3-Clause
 * transport/allgather/allgather_pairwise.c - each rank encodes its block once and sends it to every
 * other; everyone decodes all blocks, the own one too, so that all hold the same.
 *
 * One quantisation. Sent per rank: (P-1) x encoded block. Slots of a lane: r holds rank r's codes,
 * unless these are the elements themselves: then they go from buffer to buffer.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/transport/allgather/allgather.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/grid/route.h"
#include "runtime/transport/node/quick.h"

/* Where rank r's piece ends up. */
static uint8_t *tw_gather_at(const tw_request_t *op, const tw_lane_t *lane, int r)
{
    return tw_lane_at(op, lane, op->recv, op->array[TW_GATHER_FIRST][r]);
}

/* Where its codes are: the own ones are sent from the send buffer. */
static uint8_t *tw_gather_codes(const tw_request_t *op, const tw_lane_t *lane, int r)
{
    return tw_lane_codes(op, lane, r,
                         r == op->comm->rank ? tw_lane_at(op, lane, op->send, 0)
                                             : tw_gather_at(op, lane, r));
}

static tw_status_t tw_gather_exchange(tw_request_t *op, tw_lane_t *lane)
{
    const tw_comm_t *comm   = op->comm;
    const size_t     n      = tw_lane_piece(op, lane, op->array[TW_GATHER_COUNT][comm->rank]);
    uint8_t         *mine   = tw_gather_codes(op, lane, comm->rank);
    tw_status_t      status = TW_OK;

    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        const int    peer  = (comm->rank + comm->size - i) % comm->size;
        const size_t count = tw_lane_piece(op, lane, op->array[TW_GATHER_COUNT][peer]);

        status =
            tw_lane_recv(op, lane, 0, tw_gather_codes(op, lane, peer), tw_op_size(op, count), peer);
    }
    if (n > 0) {
        tw_op_encode(op, tw_lane_at(op, lane, op->send, 0), n, mine);
    }
    for (int i = 1; i < comm->size && status == TW_OK; i++) {
        status =
            tw_lane_send(op, lane, 0, 0, mine, tw_op_size(op, n), (comm->rank + i) % comm->size, n);
    }
    return status;
}

static tw_status_t tw_gather_step(tw_request_t *op, tw_lane_t *lane)
{
    if (lane->stage == 0) {
        return tw_gather_exchange(op, lane);
    }
    for (int r = 0; r < op->comm->size; r++) {
        const size_t n = tw_lane_piece(op, lane, op->array[TW_GATHER_COUNT][r]);

        if (n > 0) {
            tw_op_decode(op, tw_gather_codes(op, lane, r), n, tw_gather_at(op, lane, r));
        }
    }
    return TW_OK;
}

const tw_algorithm_ops_t tw_allgather_pairwise = {
    .name = "pairwise", .stages = 1, .step = tw_gather_step};

static size_t tw_gather_count(const tw_gather_args_t *args, int rank)
{
    return args->counts != NULL ? args->counts[rank] : args->each;
}

/* Longest block and sum of all; TW_ERR_RANGE where they exceed size_t. */
static tw_status_t tw_gather_totals(const tw_gather_args_t *args, size_t *longest, size_t *total)
{
    *longest = *total = 0;
    for (int r = 0; r < args->comm->size; r++) {
        const size_t n     = tw_gather_count(args, r);
        const size_t first = args->displacements != NULL ? args->displacements[r] : *total;

        *longest = n > *longest ? n : *longest;
        if (!tw_size_add(*total, n, total) || tw_interval_check(first, n) != TW_OK) {
            return TW_ERR_RANGE;
        }
    }
    return TW_OK;
}

static void tw_gather_fill(tw_request_t *op, const tw_gather_args_t *args)
{
    const int rank = op->comm->rank;
    size_t    at   = 0;

    for (int r = 0; r < op->comm->size; r++) {
        op->array[TW_GATHER_COUNT][r] = tw_gather_count(args, r);
        op->array[TW_GATHER_FIRST][r] = args->displacements != NULL ? args->displacements[r] : at;
        at += op->array[TW_GATHER_COUNT][r];
    }
    op->recv = args->recv;
    op->send = args->send != TW_IN_PLACE
                   ? args->send
                   : op->recv + op->array[TW_GATHER_FIRST][rank] * op->element;
}

/* The memory of the node, bundles through the grid, or pairs. */
static tw_status_t tw_gather_shape(const tw_gather_args_t *args, tw_request_shape_t *shape)
{
    const tw_comm_t *comm    = args->comm;
    size_t           element = 0;
    tw_status_t      status  = TW_OK;

    shape->slots = comm->size;
    if (tw_policy_may_node(comm->policy.allgather)) {
        status = tw_node_choose(args->comm, args->how, &element);
    }
    if (element > 0) {
        shape->algorithm = &tw_allgather_node;
        shape->slots     = 0;
        shape->most      = TW_NODE_PIECE / element;
    } else if (tw_policy_allgather(&comm->policy, comm->size) == TW_POLICY_BUNDLES) {
        shape->algorithm = &tw_allgather_grid;
        shape->slots     = TW_SPREAD_SLOTS(comm->size);
        shape->piece     = tw_route_piece(comm->size);
    }
    return status;
}

/* The buffers that this rank uses. */
static void tw_gather_values(const tw_gather_args_t *args, tw_request_shape_t *shape)
{
    const size_t mine = tw_gather_count(args, args->comm->rank);
    size_t       at   = 0;

    for (int r = 0; r < args->comm->size; r++) {
        const size_t n     = tw_gather_count(args, r);
        const size_t first = args->displacements != NULL ? args->displacements[r] : at;

        at += n;
        shape->extent[1] = n > 0 && first + n > shape->extent[1] ? first + n : shape->extent[1];
    }
    shape->extent[0] = mine;
    shape->values[0] = args->send != TW_IN_PLACE && mine > 0 ? args->send : NULL;
    shape->values[1] = shape->count > 0 ? args->recv : NULL;
}

static tw_status_t tw_gather_check(const tw_gather_args_t *args, size_t total, tw_form_t form,
                                   tw_request_t **request_p)
{
    if ((form != TW_BLOCKING && request_p == NULL) || (total > 0 && args->recv == NULL) ||
        (args->send == NULL && tw_gather_count(args, args->comm->rank) > 0)) {
        return TW_ERR_INVALID_ARG;
    }
    return tw_movement_check(args->comm, args->how);
}

static tw_status_t tw_gather_own(const tw_gather_args_t *args, tw_form_t form,
                                 tw_request_t **request_p)
{
    tw_request_shape_t shape = {
        .algorithm = &tw_allgather_pairwise, .operation = args->operation, .root = -1, .arrays = 2};
    tw_status_t   status = tw_comm_check(args->comm);
    tw_request_t *op;

    if (status == TW_OK) {
        status = tw_gather_totals(args, &shape.longest, &shape.count);
    }
    if (status != TW_OK) {
        return status;
    }
    tw_gather_values(args, &shape);
    status = tw_gather_check(args, shape.count, form, request_p);
    if (status == TW_OK && form == TW_BLOCKING && args->counts == NULL &&
        tw_policy_may_node(args->comm->policy.allgather) &&
        tw_node_fits(args->comm, args->how, args->each, 1) &&
        !tw_comm_device_owns(args->comm, shape.values)) {
        const size_t bytes = args->each * tw_node_plain(args->comm, args->how);

        return tw_quick_allgather(args->comm,
                                  args->send != TW_IN_PLACE ? args->send
                                                            : (const uint8_t *)args->recv +
                                                                  (size_t)args->comm->rank * bytes,
                                  args->recv, bytes);
    }
    if (status == TW_OK) {
        status = tw_gather_shape(args, &shape);
    }
    if (status == TW_OK) {
        shape.piece = args->piece > 0 ? args->piece : shape.piece;
        status      = tw_request_create(args->comm, args->how, &shape, form == TW_PLAN, &op);
    }
    if (status != TW_OK) {
        return status;
    }
    tw_gather_fill(op, args);
    op->rounds = shape.longest / op->chunk + (shape.longest % op->chunk != 0);
    return tw_request_finish(op, form, request_p);
}

/* `auto`, or MPI's own collective: decide, then as if that had been asked for. */
static tw_status_t tw_gather_auto(const tw_gather_args_t *call, size_t total, tw_form_t form,
                                  tw_request_t **request_p)
{
    const tw_plain_args_t plain = {.operation     = TW_OPERATION_ALLGATHER,
                                   .name          = call->operation,
                                   .send          = call->send,
                                   .recv          = call->recv,
                                   .count         = call->each,
                                   .counts        = call->counts,
                                   .displacements = call->displacements,
                                   .root          = -1};
    tw_gather_args_t      args  = *call;
    tw_auto_choice_t      choice;
    tw_policy_config_t    policy;
    tw_status_t           status = tw_auto_resolve(call->comm, TW_OPERATION_ALLGATHER,
                                                   total / (size_t)call->comm->size, call->how, &choice);

    if (status != TW_OK || tw_auto_plain(call->comm, &plain, &choice, form, request_p, &status)) {
        return status;
    }
    args.how           = &choice.how;
    args.piece         = choice.piece;
    policy             = tw_auto_force(call->comm, TW_OPERATION_ALLGATHER, choice.algorithm);
    status             = tw_gather_own(&args, form, request_p);
    call->comm->policy = policy;
    return status;
}

tw_status_t tw_gather(const tw_gather_args_t *args, tw_form_t form, tw_request_t **request_p)
{
    size_t      longest, total;
    tw_status_t status;

    if (!tw_auto_asked(args->how)) {
        return tw_gather_own(args, form, request_p);
    }
    status = tw_comm_check(args->comm);
    if (status == TW_OK) {
        status = tw_gather_totals(args, &longest, &total);
    }
    if (status == TW_OK) {
        status = tw_gather_check(args, total, form, request_p);
    }
    return status == TW_OK ? tw_gather_auto(args, total, form, request_p) : status;
}
