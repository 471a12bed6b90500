/* SPDX-License-Identifier: BSD-3-Clause
 * transport/api/open.h - communicators over another table of MPI's functions.
 */
#ifndef TW_TRANSPORT_API_OPEN_H
#define TW_TRANSPORT_API_OPEN_H

#include "runtime/transport/comm/comm.h"

/* tw_comm_create() with another table of MPI functions, which must outlive the communicator.
 * prepare, unless NULL, is called on all ranks before the endpoint is opened; if it fails on one
 * rank, the call fails on all. */
tw_status_t tw_comm_open(tw_context_t *ctx, const tw_mpi_ops_t *mpi, MPI_Comm parent,
                         tw_status_t (*prepare)(tw_comm_t *comm), tw_comm_t **comm_p);

/* The same without prepare. */
tw_status_t tw_comm_create_with(tw_context_t *ctx, const tw_mpi_ops_t *mpi, MPI_Comm parent,
                                tw_comm_t **comm_p);

#endif /* TW_TRANSPORT_API_OPEN_H */
