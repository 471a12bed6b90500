/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/link.h - the endpoints that there are, and opening one.
 */
#ifndef TW_TRANSPORT_LINK_LINK_H
#define TW_TRANSPORT_LINK_LINK_H

#include "runtime/transport/comm/endpoint.h"

extern const tw_endpoint_ops_t tw_endpoint_mpi, tw_endpoint_ucx;

/* The endpoint that THINWIRE_TRANSPORT names, which is equal on all ranks. Collective. */
tw_status_t tw_endpoint_open(tw_comm_t *comm);

/* For open: the same status on every rank; the first rank on which something failed says why. */
tw_status_t tw_endpoint_agree(tw_comm_t *comm, tw_status_t mine, const char *why);

#endif /* TW_TRANSPORT_LINK_LINK_H */
