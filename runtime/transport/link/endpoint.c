/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/endpoint.c - the list of endpoints, and the choice of one for a communicator.
 */
#include "config.h"

#include "runtime/transport/comm/sync.h"
#include "runtime/transport/link/link.h"

/* In the order of tw_transports. */
static const tw_endpoint_ops_t *const tw_endpoint_list[] = {&tw_endpoint_mpi, &tw_endpoint_ucx};

const char *tw_endpoints(void)
{
#ifdef HAVE_UCX
    return "mpi, ucx";
#else
    return "mpi";
#endif
}

tw_status_t tw_endpoint_open(tw_comm_t *comm)
{
    return tw_endpoint_list[comm->config.transport]->open(comm);
}

tw_status_t tw_endpoint_agree(tw_comm_t *comm, tw_status_t mine, const char *why)
{
    const int   in     = mine == TW_OK ? comm->size : comm->rank;
    int         first  = in;
    tw_status_t status = tw_sync_allreduce(comm, &in, &first, 1, sizeof(in), MPI_INT, MPI_MIN,
                                           "opening the endpoint");

    if (status != TW_OK || first == comm->size) {
        return status;
    }
    if (first == comm->rank) {
        TW_ERROR(&comm->log, "THINWIRE_TRANSPORT=%s: %s", tw_transports[comm->config.transport],
                 why);
    }
    return tw_comm_agree(comm, mine);
}
