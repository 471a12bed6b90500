/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allgather/allgather.c - the calls of allgather and allgatherv.
 */
#include "config.h"

#include "runtime/transport/coll/allgather/allgather.h"
#include "runtime/transport/shm/quick.h"

size_t tw_gather_longest(const tw_collective_call_t *call)
{
    tw_blocks_sum_t blocks;

    (void)tw_blocks_sum(&call->in, call->comm->size, &blocks); /* checked before */
    return blocks.longest;
}

void tw_gather_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    tw_blocks_fill(&call->in, op->comm->size, op->array[TW_GATHER_COUNT],
                   op->array[TW_GATHER_FIRST]);
    if (call->send == TW_IN_PLACE) {
        op->send = op->recv + op->array[TW_GATHER_FIRST][op->comm->rank] * op->element;
    }
    op->rounds = tw_op_rounds(op, tw_gather_longest(call));
}

static tw_status_t tw_gather_check(tw_collective_call_t *call)
{
    const size_t    mine = tw_blocks_count(&call->in, call->comm->rank);
    tw_blocks_sum_t blocks;

    if (tw_blocks_sum(&call->in, call->comm->size, &blocks) != TW_OK) {
        return TW_ERR_RANGE;
    }
    if ((blocks.total > 0 && call->recv == NULL) || (call->send == NULL && mine > 0)) {
        return TW_ERR_INVALID_ARG;
    }
    call->count     = blocks.total / (size_t)call->comm->size;
    call->compared  = blocks.total;
    call->extent[0] = mine;
    call->extent[1] = blocks.extent;
    call->values[0] = call->send != TW_IN_PLACE && mine > 0 ? call->send : NULL;
    call->values[1] = blocks.total > 0 ? call->recv : NULL;
    return TW_OK;
}

static bool tw_gather_quick(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_comm_t     *comm    = call->comm;
    const size_t   element = call->in.counts == NULL ? tw_node_quick(comm, call->how) : 0;
    const size_t   bytes   = call->in.each * element;
    const uint8_t *mine    = call->send;

    if (!tw_node_fits(comm, element, call->in.each, 1) || tw_comm_device_owns(comm, call->values)) {
        return false;
    }
    if (call->send == TW_IN_PLACE) {
        mine = (const uint8_t *)call->recv + (size_t)comm->rank * bytes;
    }
    *status_p = tw_quick_allgather(comm, mine, call->recv, bytes);
    return true;
}

#define TW_ALLGATHER_REF(x, name, usual) &tw_allgather_##name,

static const tw_algorithm_row_t *const tw_gather_rows[] = {
    TW_ALLGATHER_ALGORITHMS(TW_ALLGATHER_REF, ) NULL};

const tw_collective_t tw_collective_allgather = {.operation = TW_OPERATION_ALLGATHER,
                                                 .rows      = tw_gather_rows,
                                                 .arrays    = 2,
                                                 .moves     = true,
                                                 .check     = tw_gather_check,
                                                 .quick     = tw_gather_quick};

static tw_status_t tw_gather(tw_comm_t *comm, const char *name, const void *send, void *recv,
                             tw_blocks_t blocks, const tw_how_t *how, tw_form_t form,
                             tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_allgather, name, send, recv, how);
    call.in = blocks;
    return tw_collective(&call, form, request_p);
}

static tw_status_t tw_allgather_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                     const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    return tw_gather(comm, "allgather", send, recv, (tw_blocks_t){.each = count}, how, form,
                     request_p);
}

tw_status_t tw_allgather(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         const tw_how_t *how)
{
    return tw_allgather_form(comm, send, recv, count, how, TW_BLOCKING, NULL);
}

tw_status_t tw_iallgather(tw_comm_t *comm, const void *send, void *recv, size_t count,
                          const tw_how_t *how, tw_request_t **request_p)
{
    return tw_allgather_form(comm, send, recv, count, how, TW_NONBLOCKING, request_p);
}

tw_status_t tw_allgather_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                              const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_allgather_form(comm, send, recv, count, how, TW_PLAN, plan_p);
}

static tw_status_t tw_allgatherv_form(tw_comm_t *comm, const void *send, void *recv,
                                      const size_t *counts, const size_t *displacements,
                                      const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    if (counts == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    return tw_gather(comm, "allgatherv", send, recv, (tw_blocks_t){0, counts, displacements}, how,
                     form, request_p);
}

tw_status_t tw_allgatherv(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                          const size_t *displacements, const tw_how_t *how)
{
    return tw_allgatherv_form(comm, send, recv, counts, displacements, how, TW_BLOCKING, NULL);
}

tw_status_t tw_iallgatherv(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                           const size_t *displacements, const tw_how_t *how,
                           tw_request_t **request_p)
{
    return tw_allgatherv_form(comm, send, recv, counts, displacements, how, TW_NONBLOCKING,
                              request_p);
}

tw_status_t tw_allgatherv_init(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                               const size_t *displacements, const tw_how_t *how,
                               tw_request_t **plan_p)
{
    return tw_allgatherv_form(comm, send, recv, counts, displacements, how, TW_PLAN, plan_p);
}
