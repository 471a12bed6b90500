/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/reduce_scatter.c - the calls of reduce_scatter and of
 * reduce_scatter_block, where counts are equal; the algorithms are parts of those of allreduce.
 */
#include "config.h"

#include "runtime/transport/api/collective.h"

static tw_status_t tw_scatter_call(tw_comm_t *comm, const char *name, const void *send, void *recv,
                                   tw_blocks_t shares, tw_reduction_t reduction,
                                   const tw_how_t *how, tw_form_t form, tw_request_t **request_p)
{
    tw_collective_call_t call;

    tw_collective_begin(&call, comm, &tw_collective_reduce_scatter, name, send, recv, how);
    call.in        = shares;
    call.reduction = reduction;
    return tw_collective(&call, form, request_p);
}

/* Counts must be given. */
static tw_status_t tw_reduce_scatter_form(tw_comm_t *comm, const void *send, void *recv,
                                          const size_t *counts, tw_reduction_t reduction,
                                          const tw_how_t *how, tw_form_t form,
                                          tw_request_t **request_p)
{
    const tw_status_t status = tw_comm_check(comm);

    if (status != TW_OK || counts == NULL) {
        return status != TW_OK ? status : TW_ERR_INVALID_ARG;
    }
    return tw_scatter_call(comm, "reduce_scatter", send, recv, (tw_blocks_t){.counts = counts},
                           reduction, how, form, request_p);
}

TW_COLLECTIVE_FORMS(reduce_scatter,
                    (const void *send, void *recv, const size_t *counts, tw_reduction_t reduction),
                    (send, recv, counts, reduction))

static tw_status_t tw_reduce_scatter_block_form(tw_comm_t *comm, const void *send, void *recv,
                                                size_t count, tw_reduction_t reduction,
                                                const tw_how_t *how, tw_form_t form,
                                                tw_request_t **request_p)
{
    return tw_scatter_call(comm, "reduce_scatter_block", send, recv, (tw_blocks_t){.each = count},
                           reduction, how, form, request_p);
}

TW_COLLECTIVE_FORMS(reduce_scatter_block,
                    (const void *send, void *recv, size_t count, tw_reduction_t reduction),
                    (send, recv, count, reduction))
