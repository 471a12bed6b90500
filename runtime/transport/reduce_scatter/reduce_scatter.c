/* SPDX-License-Identifier: BSD-3-Clause
 * transport/reduce_scatter/reduce_scatter.c - the calls; the algorithm is the first pass of
 * two_pass.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/transport/allreduce/reduction.h"

static tw_status_t tw_reduce_scatter_form(tw_comm_t *comm, const void *send, void *recv,
                                          const size_t *counts, tw_reduction_t reduction,
                                          const tw_how_t *how, tw_form_t form,
                                          tw_request_t **request_p)
{
    tw_reduction_args_t args   = {.comm      = comm,
                                  .operation = "reduce_scatter",
                                  .send      = send,
                                  .recv      = recv,
                                  .counts    = counts,
                                  .scatter   = true,
                                  .reduction = reduction,
                                  .root      = -1,
                                  .how       = how};
    tw_status_t         status = tw_comm_check(comm);

    if (status != TW_OK) {
        return status;
    }
    if (counts == NULL) {
        return TW_ERR_INVALID_ARG;
    }
    for (int r = 0; r < comm->size; r++) {
        if (!tw_size_add(args.count, counts[r], &args.count)) {
            return TW_ERR_RANGE;
        }
    }
    return tw_reduction(&args, form, request_p);
}

tw_status_t tw_reduce_scatter(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                              tw_reduction_t reduction, const tw_how_t *how)
{
    return tw_reduce_scatter_form(comm, send, recv, counts, reduction, how, TW_BLOCKING, NULL);
}

tw_status_t tw_ireduce_scatter(tw_comm_t *comm, const void *send, void *recv, const size_t *counts,
                               tw_reduction_t reduction, const tw_how_t *how,
                               tw_request_t **request_p)
{
    return tw_reduce_scatter_form(comm, send, recv, counts, reduction, how, TW_NONBLOCKING,
                                  request_p);
}

tw_status_t tw_reduce_scatter_init(tw_comm_t *comm, const void *send, void *recv,
                                   const size_t *counts, tw_reduction_t reduction,
                                   const tw_how_t *how, tw_request_t **plan_p)
{
    return tw_reduce_scatter_form(comm, send, recv, counts, reduction, how, TW_PLAN, plan_p);
}
