/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/choose.c - the lower half of the driver: choose the algorithm and create the
 * operation. See collective.h.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "runtime/transport/coll/node.h"
#include "runtime/transport/coll/traffic.h"

const tw_algorithm_row_t *tw_collective_row(const tw_collective_t *collective, const char *name)
{
    for (int i = 0; name != NULL && collective->rows[i] != NULL; i++) {
        if (strcmp(collective->rows[i]->name, name) == 0) {
            return collective->rows[i];
        }
    }
    return NULL;
}

tw_status_t tw_collective_in_node(const tw_collective_call_t *call)
{
    return tw_node_identity(call->comm, call->how) > 0 ? tw_node_ready(call->comm)
                                                       : TW_ERR_UNSUPPORTED;
}

bool tw_collective_of_nodes(const tw_collective_call_t *call)
{
    const tw_nodes_t    *nodes     = call->comm->nodes;
    const tw_operation_t operation = call->collective->operation;

    if (operation != TW_OPERATION_ALLREDUCE && operation != TW_OPERATION_REDUCE) {
        return nodes->count > 1 && nodes->least > 1; /* as many steps as without */
    }
    return tw_policy_hierarchical(&call->comm->policy, call->encoded, nodes->count, nodes->least);
}

size_t tw_collective_values_room(const tw_collective_call_t *call)
{
    return tw_collective_on_slots(call) ? TW_DEVICE_SLOT : TW_NODE_FRAGMENT;
}

size_t tw_collective_codes_most(const tw_collective_call_t *call, int times)
{
    const size_t share = tw_node_slot_bytes(call->comm->nodes->most) / (size_t)times;
    const size_t room  = share / TW_POOL_ALIGN * TW_POOL_ALIGN; /* as slots of lanes are aligned */
    const size_t block = tw_codec_block(call->codec);
    size_t       most  = room / block * block, bytes;

    while (most > 0 && (tw_codec_size(call->codec, most, &bytes) != TW_OK || bytes > room)) {
        most = most / 2 / block * block;
    }
    return most;
}

bool tw_collective_bundles(const tw_collective_call_t *call, size_t longest)
{
    size_t bytes;

    return !tw_collective_on_slots(call) && tw_codec_size(call->codec, longest, &bytes) == TW_OK &&
           bytes <= TW_BUNDLE_MOST / (size_t)call->comm->nodes->most;
}

void tw_collective_fill_whole(tw_request_t *op, const tw_collective_call_t *call)
{
    op->rounds = tw_op_rounds(op, call->count);
}

static tw_status_t tw_row_serves(const tw_algorithm_row_t *row, const tw_collective_call_t *call)
{
    return row->serves != NULL ? row->serves(call) : TW_OK;
}

/* Slots of the devices for a row that serves: does it want none, or are they there? */
static tw_status_t tw_row_slots(const tw_algorithm_row_t *row, const tw_collective_call_t *call,
                                bool *there_p)
{
    *there_p = true;
    return row->in_node && tw_how_on_device(call->how) ? tw_device_slots_ready(call->comm, there_p)
                                                       : TW_OK;
}

static bool tw_not_here(tw_status_t status)
{
    return status == TW_ERR_UNSUPPORTED || status == TW_ERR_BUSY;
}

/* What is named, if it serves; else the last one that serves and is usual for such a call. */
static tw_status_t tw_collective_choose(tw_collective_call_t *call)
{
    const tw_algorithm_row_t *const *rows = call->collective->rows;
    tw_status_t status                    = tw_codec_size(call->codec, call->count, &call->encoded);
    int         last                      = 0;
    bool        there;

    if (status != TW_OK) {
        return status;
    }
    if (call->algorithm != NULL) {
        status = tw_row_serves(call->algorithm, call);
        if (status == TW_OK) { /* without slots, too */
            return tw_row_slots(call->algorithm, call, &there);
        }
        if (!tw_not_here(status)) {
            return status;
        }
        if (call->algorithm == call->named) {
            TW_ERROR(&call->comm->log,
                     "%s: algorithm %s was named where it cannot serve: it needs %s", call->name,
                     call->named->name, call->named->needs);
            return TW_ERR_UNSUPPORTED;
        }
    }
    while (rows[last + 1] != NULL) {
        last++;
    }
    for (; last > 0; last--) {
        if (rows[last]->usual != NULL && !rows[last]->usual(call)) {
            continue;
        }
        status = tw_row_serves(rows[last], call);
        if (status == TW_OK) {
            status = tw_row_slots(rows[last], call, &there);
            if (status != TW_OK || there) {
                break;
            }
        } else if (!tw_not_here(status)) {
            break;
        }
    }
    call->algorithm = rows[last];
    return last > 0 ? status : TW_OK;
}

static tw_status_t tw_collective_create(tw_collective_call_t *call, tw_form_t form,
                                        tw_request_t **request_p)
{
    tw_status_t        status = tw_collective_choose(call);
    tw_request_shape_t shape  = {.operation = call->name,
                                 .root      = call->root,
                                 .reduction = call->reduction,
                                 .count     = call->compared,
                                 .arrays    = call->collective->arrays,
                                 .fragment  = call->fragment,
                                 .room      = call->room,
                                 .values    = {call->values[0], call->values[1]},
                                 .extent    = {call->extent[0], call->extent[1]}};
    tw_request_t      *op;

    if (status != TW_OK) {
        return status;
    }
    call->algorithm->shape(call, &shape);
    assert(shape.algorithm->stages <= TW_STAGES_MAX);
    status = tw_request_create(call->comm, call->how, &shape, form == TW_PLAN, &op);
    if (status != TW_OK) {
        return status;
    }
    op->recv  = call->recv;
    op->send  = call->send == TW_IN_PLACE ? call->recv : call->send;
    op->after = call->after;
    op->algorithm->fill(op, call);
    op->traffic =
        tw_traffic(call, op->algorithm->ready != NULL && !op->algorithm->one_ticket, op->element);
    return tw_request_finish(op, form, request_p);
}

/* The row that the call names, or else the setting. */
static const tw_algorithm_row_t *tw_collective_wish(const tw_collective_call_t *call)
{
    const tw_operation_t operation = call->collective->operation;
    const int            number    = tw_policy_named(&call->comm->policy, operation);

    return call->named != NULL || number == 0
               ? call->named
               : tw_collective_row(call->collective, tw_policy_name(operation, number));
}

tw_status_t tw_collective_run(tw_collective_call_t *call, tw_form_t form, tw_request_t **request_p)
{
    const tw_algorithm_row_t *row;
    tw_status_t               status;

    if (call->algorithm == NULL) {
        call->algorithm = tw_collective_wish(call);
    }
    row = call->algorithm != NULL ? call->algorithm : call->collective->first;
    if (form == TW_BLOCKING && row != NULL && row->at_once != NULL && row->at_once(call, &status)) {
        if (row->in_node && status == TW_OK) {
            const tw_traffic_t traffic =
                tw_traffic(call, true, tw_node_identity(call->comm, call->how));

            tw_comm_count(call->comm, &traffic);
        }
        return status;
    }
    call->codec = tw_how_codec(call->comm, call->how);
    return tw_collective_create(call, form, request_p);
}
