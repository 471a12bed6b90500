/* SPDX-License-Identifier: BSD-3-Clause
 * transport/link/link.h - the list of endpoints, and opening one.
 */
#ifndef TW_TRANSPORT_LINK_LINK_H
#define TW_TRANSPORT_LINK_LINK_H

#include "runtime/transport/comm/endpoint.h"

extern const tw_endpoint_ops_t tw_endpoint_mpi, tw_endpoint_ucx;

/* Open the endpoint that THINWIRE_TRANSPORT names, equal on all ranks. Collective. */
tw_status_t tw_endpoint_open(tw_comm_t *comm);

/* For open: agree on a status; the lowest failed rank logs `why`. */
tw_status_t tw_endpoint_agree(tw_comm_t *comm, tw_status_t mine, const char *why);

#endif /* TW_TRANSPORT_LINK_LINK_H */
