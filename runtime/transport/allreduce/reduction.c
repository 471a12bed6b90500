/* SPDX-License-Identifier: BSD-3-Clause
 * transport/allreduce/reduction.c - arguments, shares and the choice of an algorithm.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/transport/allreduce/reduction.h"
#include "runtime/transport/auto/auto.h"
#include "runtime/transport/grid/route.h"
#include "runtime/transport/node/quick.h"

void tw_reduction_encode(tw_request_t *op, const tw_lane_t *lane, size_t first, size_t n,
                         uint8_t *codes)
{
    const uint8_t *values = tw_lane_at(op, lane, op->send, first);

    if (op->feedback != NULL) {
        tw_op_encode_feedback(op, values, n, tw_lane_at(op, lane, op->feedback->first, first),
                              codes);
    } else {
        tw_op_encode(op, values, n, codes);
    }
}

void tw_reduction_sum(tw_request_t *op, const tw_lane_t *lane, int first_slot, size_t n,
                      void *values)
{
    tw_op_decode(op, tw_lane_slot(op, lane, first_slot), n, values);
    for (int r = 1; r < op->comm->size; r++) {
        tw_op_decode_add(op, tw_lane_slot(op, lane, first_slot + r), n, values);
    }
}

void tw_reduction_encode_sum(tw_request_t *op, const tw_lane_t *lane, size_t n, uint8_t *codes)
{
    if (op->feedback != NULL) {
        tw_op_encode_feedback(op, lane->sum, n,
                              tw_share_at(op, lane, op->feedback->second, op->comm->rank), codes);
    } else {
        tw_op_encode(op, lane->sum, n, codes);
    }
}

void tw_reduction_decode_sum(tw_request_t *op, const tw_lane_t *lane, int rank,
                             const uint8_t *codes)
{
    const size_t n   = tw_share_piece(op, lane, rank);
    uint8_t     *out = tw_share_at(op, lane, op->recv, rank);

    if (n > 0) {
        tw_op_decode(op, codes, n, out);
        tw_op_average(op, n, out);
    }
}

/* Equal shares in whole blocks, the first ranks taking the remainder; the last block may be short.
 */
static void tw_shares_equal(size_t ranks, size_t count, size_t block, size_t *first, size_t *length)
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

/* The shares of a reduce-scatter: counts, or equal parts. */
static void tw_shares_given(const tw_reduction_args_t *args, size_t *first, size_t *length)
{
    size_t at = 0;

    for (int r = 0; r < args->comm->size; r++) {
        first[r]  = at;
        length[r] = args->counts != NULL ? args->counts[r] : args->count / (size_t)args->comm->size;
        at += length[r];
    }
}

/* The longest share, without memory for the shares themselves. */
static size_t tw_share_longest(const tw_reduction_args_t *args, size_t block, size_t ranks)
{
    const size_t blocks  = args->count / block + (args->count % block != 0);
    size_t       longest = (blocks / ranks + (blocks % ranks != 0)) * block;

    if (args->scatter && args->counts == NULL) {
        return args->count / ranks;
    }
    if (args->counts != NULL) {
        longest = 0;
        for (size_t r = 0; r < ranks; r++) {
            longest = args->counts[r] > longest ? args->counts[r] : longest;
        }
    }
    return longest < args->count ? longest : args->count;
}

/* Values that a rank that receives anything receives. */
static size_t tw_reduction_out(const tw_reduction_args_t *args)
{
    if (args->counts != NULL) {
        return args->counts[args->comm->rank];
    }
    return args->scatter ? args->count / (size_t)args->comm->size : args->count;
}

static tw_status_t tw_reduction_check(const tw_reduction_args_t *args)
{
    const tw_comm_t *comm     = args->comm;
    const bool       in_place = args->send == TW_IN_PLACE;
    const bool       receives = args->scatter || args->root < 0 || args->root == comm->rank;
    const size_t     out      = tw_reduction_out(args);

    if (args->reduction != TW_SUM && args->reduction != TW_AVERAGE) {
        return TW_ERR_INVALID_ARG;
    }
    if (args->root >= comm->size || (args->root >= 0 && in_place && !receives)) {
        return TW_ERR_INVALID_ARG;
    }
    if (args->count > 0 && (args->send == NULL || (in_place && args->recv == NULL))) {
        return TW_ERR_INVALID_ARG;
    }
    if (receives && out > 0 && args->count > 0 && args->recv == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    return tw_feedback_check(args->how != NULL ? args->how->feedback : NULL, comm,
                             args->how != NULL ? args->how->codec : NULL, args->count);
}

/* The buffers of which this rank reads or writes anything. */
static void tw_reduction_values(const tw_reduction_args_t *args, tw_request_shape_t *shape)
{
    const int  rank     = args->comm->rank;
    const bool receives = args->scatter || args->root < 0 || args->root == rank;
    const bool in_place = args->send == TW_IN_PLACE;

    shape->extent[0] = args->count;
    shape->extent[1] = in_place ? args->count : tw_reduction_out(args);
    shape->values[0] = !in_place && args->count > 0 ? args->send : NULL;
    shape->values[1] = args->count > 0 && (in_place || (receives && tw_reduction_out(args) > 0))
                           ? args->recv
                           : NULL;
}

/* What the call names, else what the setting names. */
static tw_policy_algorithm_t tw_reduction_wish(const tw_reduction_args_t *args)
{
    if (args->how != NULL && args->how->algorithm != TW_ALGORITHM_AUTO) {
        return (tw_policy_algorithm_t)args->how->algorithm;
    }
    return tw_policy_allreduce_wish(&args->comm->policy);
}

/* May the call go through the memory of one node? A reduce-scatter names no algorithm. */
static bool tw_reduction_may_node(const tw_reduction_args_t *args)
{
    const tw_policy_algorithm_t wish = tw_reduction_wish(args);

    return wish == TW_POLICY_AUTO || wish == TW_POLICY_NODE || args->scatter;
}

/* The algorithm in the memory of one node, or NULL where it cannot serve. */
static tw_status_t tw_reduction_node(const tw_reduction_args_t *args,
                                     const tw_algorithm_ops_t **algorithm_p)
{
    size_t      element = 0;
    tw_status_t status  = TW_OK;

    if (tw_reduction_may_node(args)) {
        status = tw_node_choose(args->comm, args->how, &element);
    }
    if (element > 0) {
        *algorithm_p = args->scatter                                       ? &tw_reduce_scatter_node
                       : tw_node_direct(args->comm, args->count * element) ? &tw_reduce_node_direct
                                                                           : &tw_reduce_node;
    }
    return status;
}

/* Where nobody names it: do the sizes speak for it? Not on device memory: it adds in host memory,
 * and would have all elements copied there and back, where two_pass makes codes on the device. */
static bool tw_reduction_takes_nodes(const tw_reduction_args_t *args, size_t encoded)
{
    const tw_nodes_t *nodes = &args->comm->nodes;

    return !tw_how_on_device(args->how) &&
           tw_policy_hierarchical(&args->comm->policy, encoded, nodes->count, nodes->least);
}

/* Hierarchical, where the call or the setting names it or auto takes it: *taken_p. */
static tw_status_t tw_reduction_nodes(const tw_reduction_args_t *args, const tw_codec_t *codec,
                                      size_t encoded, bool *taken_p)
{
    const tw_policy_algorithm_t wish = tw_reduction_wish(args);
    tw_status_t                 status;

    *taken_p = false;
    if (args->scatter || (wish != TW_POLICY_HIERARCHICAL &&
                          (wish != TW_POLICY_AUTO || !tw_reduction_takes_nodes(args, encoded)))) {
        return TW_OK;
    }
    status   = tw_hierarchical_carriers(args->comm, codec) > 0 ? tw_node_ready(args->comm)
                                                               : TW_ERR_UNSUPPORTED;
    *taken_p = status == TW_OK;
    if (status != TW_ERR_UNSUPPORTED && status != TW_ERR_BUSY) {
        return status;
    }
    return args->how != NULL && args->how->algorithm == TW_ALGORITHM_HIERARCHICAL
               ? tw_node_refuse(args->comm, "hierarchical")
               : TW_OK;
}

static tw_status_t tw_reduction_choose(const tw_reduction_args_t *args, const tw_codec_t *codec,
                                       const tw_algorithm_ops_t **algorithm_p)
{
    const tw_comm_t      *comm   = args->comm;
    tw_policy_algorithm_t choice = tw_reduction_wish(args);
    size_t                encoded;
    bool                  nodes  = false;
    tw_status_t           status = tw_codec_size(codec, args->count, &encoded);

    *algorithm_p = NULL;
    if (status == TW_OK) {
        status = tw_reduction_node(args, algorithm_p);
    }
    if (status == TW_OK && *algorithm_p == NULL) {
        status = tw_reduction_nodes(args, codec, encoded, &nodes);
    }
    if (nodes) {
        *algorithm_p = &tw_reduce_hierarchical;
    }
    if (status != TW_OK || *algorithm_p != NULL) {
        return status;
    }
    if (args->scatter) {
        *algorithm_p = &tw_reduce_scatter_one_pass;
        return TW_OK;
    }
    if (choice == TW_POLICY_NODE && args->how != NULL &&
        args->how->algorithm == TW_ALGORITHM_NODE) {
        return tw_node_refuse(args->comm, "node");
    }
    if (choice == TW_POLICY_AUTO || choice == TW_POLICY_NODE || choice == TW_POLICY_HIERARCHICAL) {
        choice = tw_policy_allreduce(&comm->policy, encoded, comm->size);
    }
    *algorithm_p = choice == TW_POLICY_DIRECT ? &tw_reduce_direct
                   : choice == TW_POLICY_GRID ? &tw_reduce_grid
                                              : &tw_reduce_two_pass;
    return TW_OK;
}

/* Values that a piece of every share may have, so that all fit a slot of the node. */
static size_t tw_reduction_most(const tw_reduction_args_t *args)
{
    return TW_NODE_PIECE / tw_node_plain(args->comm, args->how) / (size_t)args->comm->size;
}

static void tw_hierarchical_shape(const tw_reduction_args_t *args, const tw_codec_t *codec,
                                  size_t block, tw_request_shape_t *shape)
{
    const tw_nodes_t *nodes    = &args->comm->nodes;
    const size_t      carriers = (size_t)tw_hierarchical_carriers(args->comm, codec);
    tw_codec_traits_t traits;

    tw_codec_traits(codec, &traits);
    shape->slots   = nodes->count + 1;
    shape->longest = tw_share_longest(args, block, carriers * (size_t)nodes->count);
    shape->most    = args->comm->node.slot_bytes / carriers / tw_dtype_size(traits.dtype);
}

/* Room and messages, by the algorithm. */
static void tw_reduction_shape(const tw_reduction_args_t *args, const tw_codec_t *codec,
                               size_t block, tw_request_shape_t *shape)
{
    const int ranks = args->comm->size;

    if (shape->algorithm == &tw_reduce_hierarchical) {
        tw_hierarchical_shape(args, codec, block, shape);
        return;
    }
    if (shape->algorithm == &tw_reduce_direct || shape->algorithm == &tw_reduce_node_direct) {
        shape->slots   = shape->algorithm == &tw_reduce_direct ? ranks : 0;
        shape->longest = args->count;
        return;
    }
    shape->slots   = 3 * ranks;
    shape->longest = tw_share_longest(args, block, (size_t)ranks);
    if (shape->algorithm == &tw_reduce_grid) {
        shape->slots = TW_DELIVER_SLOTS(ranks) + TW_SPREAD_SLOTS(ranks);
        shape->piece = tw_route_piece(ranks);
    } else if (shape->algorithm->ready != NULL) {
        shape->slots = 0;
        shape->most  = tw_reduction_most(args);
    }
}

/* Shares by carrier and owning node; rounds go round the owners. */
static void tw_hierarchical_fill(tw_request_t *op, const tw_reduction_args_t *args, size_t block)
{
    const tw_nodes_t *nodes  = &op->comm->nodes;
    const size_t      owners = (size_t)nodes->count;
    size_t           *length = op->array[TW_SHARE_LENGTH];

    op->carriers = tw_hierarchical_carriers(op->comm, op->codec);
    tw_shares_equal((size_t)op->carriers * owners, args->count, block, op->array[TW_SHARE_FIRST],
                    length);
    op->rounds = owners * (length[0] / op->chunk + (length[0] % op->chunk != 0)); /* the longest */
    if (nodes->local < op->carriers) {
        const size_t mine = (size_t)nodes->local * owners + (size_t)nodes->mine;

        op->own_first = op->array[TW_SHARE_FIRST][mine];
        op->own_count = length[mine];
    }
}

/* The fields of an operation that depend on the call; shares into the operation's own arrays. */
static void tw_reduction_fill(tw_request_t *op, const tw_reduction_args_t *args, size_t block)
{
    const size_t rank = (size_t)op->comm->rank;

    op->recv = args->recv;
    op->send = args->send == TW_IN_PLACE ? args->recv : args->send;
    if (op->algorithm == &tw_reduce_direct || op->algorithm == &tw_reduce_node_direct) {
        op->rounds = args->count / op->chunk + (args->count % op->chunk != 0);
        return;
    }
    if (op->algorithm == &tw_reduce_hierarchical) {
        tw_hierarchical_fill(op, args, block);
        return;
    }
    if (args->scatter) {
        tw_shares_given(args, op->array[TW_SHARE_FIRST], op->array[TW_SHARE_LENGTH]);
    } else {
        tw_shares_equal((size_t)op->comm->size, args->count, block, op->array[TW_SHARE_FIRST],
                        op->array[TW_SHARE_LENGTH]);
    }
    for (int r = 0; r < op->comm->size; r++) {
        const size_t length = op->array[TW_SHARE_LENGTH][r];
        const size_t rounds = length / op->chunk + (length % op->chunk != 0);

        op->rounds = rounds > op->rounds ? rounds : op->rounds;
    }
    if (!args->scatter) {
        op->own_first = op->array[TW_SHARE_FIRST][rank];
        op->own_count = op->array[TW_SHARE_LENGTH][rank];
    }
}

static tw_status_t tw_reduction_own(const tw_reduction_args_t *args, tw_form_t form,
                                    tw_request_t **request_p)
{
    const tw_codec_t  *codec;
    tw_request_shape_t shape = {.operation = args->operation,
                                .count     = args->count,
                                .root      = args->root,
                                .reduction = args->reduction,
                                .piece     = args->piece,
                                .sum       = true,
                                .arrays    = 2};
    tw_request_t      *op;
    size_t             block;
    tw_status_t        status = tw_comm_check(args->comm);

    if (status != TW_OK) {
        return status;
    }
    if (form != TW_BLOCKING && request_p == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    status = tw_reduction_check(args);
    if (status != TW_OK) {
        return status;
    }
    tw_reduction_values(args, &shape);
    if (form == TW_BLOCKING && !args->scatter && tw_reduction_may_node(args) &&
        tw_node_fits(args->comm, args->how, args->count, 1) &&
        !tw_comm_device_owns(args->comm, shape.values)) {
        return tw_quick_reduce(args->comm, args->operation,
                               args->send == TW_IN_PLACE ? args->recv : args->send, args->recv,
                               args->count, tw_node_plain(args->comm, args->how), args->reduction,
                               args->root);
    }
    codec  = args->how != NULL && args->how->codec != NULL ? args->how->codec : args->comm->fp32;
    block  = tw_codec_block(codec);
    status = tw_reduction_choose(args, codec, &shape.algorithm);
    if (status != TW_OK) {
        return status;
    }
    if (shape.algorithm->ready != NULL && shape.algorithm != &tw_reduce_hierarchical) {
        /* values as they are, in cache lines */
        block     = TW_NODE_BLOCK;
        shape.sum = false;
    }
    tw_reduction_shape(args, codec, block, &shape);
    status = tw_request_create(args->comm, args->how, &shape, form == TW_PLAN, &op);
    if (status != TW_OK) {
        return status;
    }
    tw_reduction_fill(op, args, block);
    return tw_request_finish(op, form, request_p);
}

/* `auto`, or MPI's own collective: decide, then as if that had been asked for. */
static tw_status_t tw_reduction_auto(const tw_reduction_args_t *call, tw_form_t form,
                                     tw_request_t **request_p)
{
    tw_comm_t            *comm      = call->comm;
    const tw_operation_t  operation = call->scatter     ? TW_OPERATION_REDUCE_SCATTER
                                      : call->root >= 0 ? TW_OPERATION_REDUCE
                                                        : TW_OPERATION_ALLREDUCE;
    const tw_plain_args_t plain     = {.operation = operation,
                                       .name      = call->operation,
                                       .send      = call->send,
                                       .recv      = call->recv,
                                       .count     = call->scatter ? call->count / (size_t)comm->size
                                                                  : call->count,
                                       .counts    = call->counts,
                                       .reduction = call->reduction,
                                       .root      = call->root};
    tw_reduction_args_t   args      = *call;
    tw_auto_choice_t      choice;
    tw_policy_config_t    policy;
    tw_status_t status = tw_auto_resolve(comm, operation, call->count, call->how, &choice);

    if (status != TW_OK || tw_auto_plain(comm, &plain, &choice, form, request_p, &status)) {
        return status;
    }
    args.how     = &choice.how;
    args.piece   = choice.piece;
    policy       = tw_auto_force(comm, operation, choice.algorithm);
    status       = tw_reduction_own(&args, form, request_p);
    comm->policy = policy;
    return status;
}

tw_status_t tw_reduction(const tw_reduction_args_t *args, tw_form_t form, tw_request_t **request_p)
{
    tw_status_t status;

    if (!tw_auto_asked(args->how)) {
        return tw_reduction_own(args, form, request_p);
    }
    status = tw_comm_check(args->comm);
    if (status == TW_OK) {
        status = form == TW_BLOCKING || request_p != NULL ? tw_reduction_check(args)
                                                          : TW_ERR_INVALID_ARG;
    }
    return status == TW_OK ? tw_reduction_auto(args, form, request_p) : status;
}
