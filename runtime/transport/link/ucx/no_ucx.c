/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/ucx/no_ucx.c - build without UCX: opening the endpoint fails.
 */
#include "config.h"

#include "runtime/transport/link/link.h"

static tw_status_t tw_no_ucx_open(tw_comm_t *comm)
{
    return tw_endpoint_agree(comm, TW_ERR_UNSUPPORTED, "UCX is not built in here; accepted: mpi");
}

const tw_endpoint_ops_t tw_endpoint_ucx = {.name = "ucx", .open = tw_no_ucx_open};
