/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bcast/bcast.c - the calls.
 */
#include "config.h"

#include "runtime/transport/auto/auto.h"
#include "runtime/transport/bcast/bcast.h"
#include "runtime/transport/node/quick.h"

/* Bytes of codes in a message of a chain: one peer sends, so they may be longer than elsewhere. */
#define TW_CHAIN_PIECE ((size_t)128 << 10)

/* What the call names, else what the setting names; calls name only algorithms that use nodes. */
static tw_policy_bcast_t tw_bcast_wish(const tw_comm_t *comm, const tw_how_t *how)
{
    switch (how != NULL ? how->algorithm : TW_ALGORITHM_AUTO) {
    case TW_ALGORITHM_HIERARCHICAL:
        return TW_POLICY_BCAST_HIERARCHICAL;
    case TW_ALGORITHM_NODE:
        return TW_POLICY_BCAST_NODE;
    default:
        return (tw_policy_bcast_t)comm->policy.bcast;
    }
}

static bool tw_bcast_may_node(const tw_comm_t *comm, const tw_how_t *how)
{
    const tw_policy_bcast_t wish = tw_bcast_wish(comm, how);

    return wish == TW_POLICY_BCAST_AUTO || wish == TW_POLICY_BCAST_NODE;
}

/* Values whose codes fit a slot of the node; 0: not one block's do. */
static size_t tw_bcast_most(const tw_comm_t *comm, const tw_codec_t *codec)
{
    const size_t room = tw_node_slot_bytes(comm->nodes.most), block = tw_codec_block(codec);
    size_t       most = room / block * block, bytes;

    while (most > 0 && (tw_codec_size(codec, most, &bytes) != TW_OK || bytes > room)) {
        most = most / 2 / block * block;
    }
    return most;
}

/* From node to node, if it is wanted and serves: shape->algorithm. On device memory only by wish,
 * since all elements would be copied to host memory and back. */
static tw_status_t tw_bcast_nodes(tw_comm_t *comm, const tw_how_t *how, const tw_codec_t *codec,
                                  size_t encoded, tw_request_shape_t *shape)
{
    const tw_policy_bcast_t wish = tw_bcast_wish(comm, how);
    tw_status_t             status;

    if (wish != TW_POLICY_BCAST_HIERARCHICAL &&
        (wish != TW_POLICY_BCAST_AUTO || tw_how_on_device(how) ||
         !tw_policy_hierarchical(&comm->policy, encoded, comm->nodes.count, comm->nodes.least))) {
        return TW_OK;
    }
    shape->most = tw_bcast_most(comm, codec);
    status      = shape->most > 0 ? tw_node_ready(comm) : TW_ERR_UNSUPPORTED;
    if (status == TW_OK) {
        shape->algorithm =
            tw_policy_bcast(&comm->policy, encoded, comm->nodes.count) == TW_POLICY_CHAIN
                ? &tw_bcast_hierarchical_chain
                : &tw_bcast_hierarchical_tree;
        shape->slots = 0;
        return TW_OK;
    }
    if (status != TW_ERR_UNSUPPORTED && status != TW_ERR_BUSY) {
        return status;
    }
    shape->most = 0;
    return how != NULL && how->algorithm == TW_ALGORITHM_HIERARCHICAL
               ? tw_node_refuse(comm, "hierarchical")
               : TW_OK;
}

/* The node's memory, from node to node, tree or chain. */
static tw_status_t tw_bcast_choose(tw_comm_t *comm, const tw_how_t *how, tw_request_shape_t *shape)
{
    const tw_codec_t *codec = how != NULL && how->codec != NULL ? how->codec : comm->fp32;
    size_t            encoded, element = 0;
    tw_status_t       status = tw_codec_size(codec, shape->count, &encoded);

    if (status == TW_OK && tw_bcast_may_node(comm, how)) {
        status = tw_node_choose(comm, how, &element);
    }
    if (status != TW_OK) {
        return status;
    }
    if (element > 0) {
        shape->algorithm =
            tw_node_reads(comm, shape->count * element) ? &tw_bcast_read : &tw_bcast_node;
        shape->most  = TW_NODE_PIECE / element;
        shape->slots = 0;
        return TW_OK;
    }
    if (how != NULL && how->algorithm == TW_ALGORITHM_NODE) {
        return tw_node_refuse(comm, "node");
    }
    status = tw_bcast_nodes(comm, how, codec, encoded, shape);
    if (shape->algorithm == NULL) {
        shape->algorithm = tw_policy_bcast(&comm->policy, encoded, comm->size) == TW_POLICY_CHAIN
                               ? &tw_bcast_chain
                               : &tw_bcast_tree;
    }
    shape->piece =
        shape->algorithm == &tw_bcast_chain || shape->algorithm == &tw_bcast_hierarchical_chain
            ? TW_CHAIN_PIECE
            : 0;
    return status;
}

static tw_status_t tw_bcast_check(const tw_comm_t *comm, const void *buffer, size_t count, int root,
                                  const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    if (root < 0 || root >= comm->size || (buffer == NULL && count > 0) ||
        (form != TW_BLOCKING && request_p == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    return tw_movement_check(comm, how);
}

static tw_status_t tw_bcast_own(tw_comm_t *comm, void *buffer, size_t count, int root, size_t piece,
                                const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    tw_request_shape_t shape = {
        .operation = "bcast", .count = count, .root = root, .longest = count, .slots = 1};
    tw_status_t   status = tw_comm_check(comm);
    tw_request_t *op;

    if (status != TW_OK) {
        return status;
    }
    shape.values[1] = count > 0 ? buffer : NULL;
    shape.extent[1] = count;
    status          = tw_bcast_check(comm, buffer, count, root, how, form, request_p);
    if (status == TW_OK && form == TW_BLOCKING && tw_bcast_may_node(comm, how) &&
        tw_node_fits(comm, how, count, 1) && !tw_comm_device_owns(comm, shape.values)) {
        return tw_quick_bcast(comm, buffer, count * tw_node_plain(comm, how), root);
    }
    if (status == TW_OK && form == TW_BLOCKING && tw_bcast_may_node(comm, how) &&
        tw_interval_check(0, count) == TW_OK &&
        tw_node_reads(comm, count * tw_node_quick(comm, how)) &&
        !tw_comm_device_owns(comm, shape.values)) {
        return tw_quick_bcast_read(comm, buffer, count * tw_node_plain(comm, how), root);
    }
    if (status == TW_OK) {
        status = tw_bcast_choose(comm, how, &shape);
    }
    if (status == TW_OK) {
        shape.piece = piece > 0 ? piece : shape.piece;
        status      = tw_request_create(comm, how, &shape, form == TW_PLAN, &op);
    }
    if (status != TW_OK) {
        return status;
    }
    op->recv   = buffer;
    op->rounds = op->algorithm == &tw_bcast_read ? 1 : count / op->chunk + (count % op->chunk != 0);
    return tw_request_finish(op, form, request_p);
}

/* `auto`, or MPI's own collective: decide, then as if that had been asked for. */
static tw_status_t tw_bcast_form(tw_comm_t *comm, void *buffer, size_t count, int root,
                                 const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    const tw_plain_args_t plain = {.operation = TW_OPERATION_BCAST,
                                   .name      = "bcast",
                                   .send      = buffer,
                                   .recv      = buffer,
                                   .count     = count,
                                   .root      = root};
    tw_auto_choice_t      choice;
    tw_policy_config_t    policy;
    tw_status_t           status;

    if (!tw_auto_asked(how)) {
        return tw_bcast_own(comm, buffer, count, root, 0, how, form, request_p);
    }
    status = tw_comm_check(comm);
    if (status == TW_OK) {
        status = tw_bcast_check(comm, buffer, count, root, how, form, request_p);
    }
    if (status == TW_OK) {
        status = tw_auto_resolve(comm, TW_OPERATION_BCAST, count, how, &choice);
    }
    if (status != TW_OK || tw_auto_plain(comm, &plain, &choice, form, request_p, &status)) {
        return status;
    }
    policy = tw_auto_force(comm, TW_OPERATION_BCAST, choice.algorithm);
    status = tw_bcast_own(comm, buffer, count, root, choice.piece, &choice.how, form, request_p);
    comm->policy = policy;
    return status;
}

/* A short one within a node, for which the way through the choice of an algorithm would take
 * longest. What is wrong with a call is found where all calls are checked. */
static bool tw_bcast_short(const tw_comm_t *comm, const void *buffer, size_t count, int root,
                           const tw_how_t *how)
{
    return tw_comm_check(comm) == TW_OK && buffer != NULL && root >= 0 && root < comm->size &&
           (how == NULL || (how->feedback == NULL && how->algorithm == TW_ALGORITHM_AUTO)) &&
           comm->policy.bcast == TW_POLICY_BCAST_AUTO && !tw_auto_asked(how) &&
           tw_node_fits(comm, how, count, 1) &&
           !tw_comm_device_owns(comm, (const void *const[2]){buffer, NULL});
}

tw_status_t tw_bcast(tw_comm_t *comm, void *buffer, size_t count, int root, const tw_how_t *how)
{
    tw_plain_args_t plain = {.operation = TW_OPERATION_BCAST,
                             .name      = "bcast",
                             .send      = buffer,
                             .recv      = buffer,
                             .count     = count,
                             .root      = root};

    if (tw_bcast_short(comm, buffer, count, root, how)) {
        return tw_quick_bcast(comm, buffer, count * tw_node_plain(comm, how), root);
    }
    if (tw_auto_is_plain(comm, TW_OPERATION_BCAST, count, how, &plain.wide) && buffer != NULL &&
        root >= 0 && root < comm->size && how->feedback == NULL) {
        return tw_plain_run(comm, &plain);
    }
    return tw_bcast_form(comm, buffer, count, root, how, TW_BLOCKING, NULL);
}

tw_status_t tw_ibcast(tw_comm_t *comm, void *buffer, size_t count, int root, const tw_how_t *how,
                      tw_request_t **request_p)
{
    return tw_bcast_form(comm, buffer, count, root, how, TW_NONBLOCKING, request_p);
}

tw_status_t tw_bcast_init(tw_comm_t *comm, void *buffer, size_t count, int root,
                          const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_bcast_form(comm, buffer, count, root, how, TW_PLAN, plan_p);
}
