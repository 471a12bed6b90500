/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/alltoall/alltoall.c - the calls of alltoall and alltoallv.
 */
#include "config.h"

#include "runtime/transport/coll/alltoall/alltoall.h"
#include "runtime/transport/shm/quick.h"

/* What is sent: in place, what is received. */
static const tw_blocks_t *tw_blocks_out(const tw_collective_call_t *call)
{
    return call->send == TW_IN_PLACE ? &call->in : &call->out;
}

void tw_alltoall_fill(tw_request_t *op, const tw_collective_call_t *call)
{
    const int       ranks = op->comm->size;
    tw_blocks_sum_t out, in;

    tw_blocks_fill(tw_blocks_out(call), ranks, op->array[TW_SEND_COUNT], op->array[TW_SEND_FIRST]);
    tw_blocks_fill(&call->in, ranks, op->array[TW_RECV_COUNT], op->array[TW_RECV_FIRST]);
    (void)tw_blocks_sum(tw_blocks_out(call), ranks, &out); /* checked before */
    (void)tw_blocks_sum(&call->in, ranks, &in);
    op->rounds = tw_op_rounds(op, out.longest > in.longest ? out.longest : in.longest);
}

static tw_status_t tw_alltoall_check(tw_collective_call_t *call)
{
    tw_blocks_sum_t out, in;

    if (tw_blocks_sum(tw_blocks_out(call), call->comm->size, &out) != TW_OK ||
        tw_blocks_sum(&call->in, call->comm->size, &in) != TW_OK) {
        return TW_ERR_RANGE;
    }
    if ((out.total > 0 && call->send == NULL) || (in.total > 0 && call->recv == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    call->count     = call->in.each;
    call->compared  = call->in.each;
    call->values[0] = call->send != TW_IN_PLACE && out.total > 0 ? call->send : NULL;
    call->values[1] = in.total > 0 ? call->recv : NULL;
    call->extent[0] = out.extent;
    call->extent[1] = in.extent;
    return TW_OK;
}

static bool tw_alltoall_quick(const tw_collective_call_t *call, tw_status_t *status_p)
{
    tw_comm_t   *comm    = call->comm;
    const size_t element = tw_node_quick(comm, call->how), bytes = call->in.each * element;
    const void  *send = call->send == TW_IN_PLACE ? call->recv : call->send;
    const bool   fits = tw_node_fits(comm, element, call->in.each, comm->size);

    if ((!fits && !(element > 0 && tw_node_reads(comm, bytes))) ||
        tw_comm_device_owns(comm, call->values)) {
        return false;
    }
    *status_p = fits ? tw_quick_alltoall(comm, send, call->recv, bytes)
                     : tw_quick_alltoall_read(comm, send, call->recv, bytes);
    return true;
}

#define TW_ALLTOALL_REF(x, name, usual) &tw_alltoall_##name,

static const tw_algorithm_row_t *const tw_alltoall_rows[] = {
    TW_ALLTOALL_ALGORITHMS(TW_ALLTOALL_REF, ) NULL};
static const tw_algorithm_row_t *const tw_alltoallv_rows[] = {&tw_alltoall_pairwise, NULL};

const tw_collective_t tw_collective_alltoall  = {.operation = TW_OPERATION_ALLTOALL,
                                                 .rows      = tw_alltoall_rows,
                                                 .arrays    = 4,
                                                 .moves     = true,
                                                 .check     = tw_alltoall_check,
                                                 .quick     = tw_alltoall_quick};
const tw_collective_t tw_collective_alltoallv = {.operation = TW_OPERATION_ALLTOALL,
                                                 .rows      = tw_alltoallv_rows,
                                                 .arrays    = 4,
                                                 .moves     = true,
                                                 .unequal   = true,
                                                 .check     = tw_alltoall_check};

static tw_status_t tw_alltoall_form(tw_comm_t *comm, const void *send, void *recv, size_t count,
                                    const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_alltoall, "alltoall", send, recv, how);
    call.out.each = count;
    call.in.each  = count;
    return tw_collective(&call, form, request_p);
}

tw_status_t tw_alltoall(tw_comm_t *comm, const void *send, void *recv, size_t count,
                        const tw_how_t *how)
{
    return tw_alltoall_form(comm, send, recv, count, how, TW_BLOCKING, NULL);
}

tw_status_t tw_ialltoall(tw_comm_t *comm, const void *send, void *recv, size_t count,
                         const tw_how_t *how, tw_request_t **request_p)
{
    return tw_alltoall_form(comm, send, recv, count, how, TW_NONBLOCKING, request_p);
}

tw_status_t tw_alltoall_init(tw_comm_t *comm, const void *send, void *recv, size_t count,
                             const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_alltoall_form(comm, send, recv, count, how, TW_PLAN, plan_p);
}

static tw_status_t tw_alltoallv_form(tw_comm_t *comm, const void *send, tw_blocks_t out, void *recv,
                                     tw_blocks_t in, const tw_how_t *how, tw_form_t form,
                                     tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_alltoallv, "alltoallv", send, recv, how);
    call.out = out;
    call.in  = in;
    if (in.counts == NULL || (send != TW_IN_PLACE && out.counts == NULL)) {
        return TW_ERR_INVALID_ARG;
    }
    return tw_collective(&call, form, request_p);
}

tw_status_t tw_alltoallv(tw_comm_t *comm, const void *send, const size_t *send_counts,
                         const size_t *send_displacements, void *recv, const size_t *recv_counts,
                         const size_t *recv_displacements, const tw_how_t *how)
{
    return tw_alltoallv_form(comm, send, (tw_blocks_t){0, send_counts, send_displacements}, recv,
                             (tw_blocks_t){0, recv_counts, recv_displacements}, how, TW_BLOCKING,
                             NULL);
}

tw_status_t tw_ialltoallv(tw_comm_t *comm, const void *send, const size_t *send_counts,
                          const size_t *send_displacements, void *recv, const size_t *recv_counts,
                          const size_t *recv_displacements, const tw_how_t *how,
                          tw_request_t **request_p)
{
    return tw_alltoallv_form(comm, send, (tw_blocks_t){0, send_counts, send_displacements}, recv,
                             (tw_blocks_t){0, recv_counts, recv_displacements}, how, TW_NONBLOCKING,
                             request_p);
}

tw_status_t tw_alltoallv_init(tw_comm_t *comm, const void *send, const size_t *send_counts,
                              const size_t *send_displacements, void *recv,
                              const size_t *recv_counts, const size_t *recv_displacements,
                              const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_alltoallv_form(comm, send, (tw_blocks_t){0, send_counts, send_displacements}, recv,
                             (tw_blocks_t){0, recv_counts, recv_displacements}, how, TW_PLAN,
                             plan_p);
}
