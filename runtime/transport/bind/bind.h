/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/bind.h - THINWIRE_BIND and THINWIRE_DEVICE: ranks bind themselves to their places.
 */
#ifndef TW_TRANSPORT_BIND_BIND_H
#define TW_TRANSPORT_BIND_BIND_H

#include "runtime/transport/comm/comm.h"

/* Collective over a new communicator: if one rank wants cores, all ranks bind, and
 * comm->exec.threads becomes what a rank's cores allow; a rank that wants a device gets it, or all
 * ranks fail. Cores that cannot be bound are logged and left as they are. Of the transport only
 * tw_comm_create() comes here: the drop-in binds nothing. */
tw_status_t tw_comm_bind(tw_comm_t *comm);

#endif /* TW_TRANSPORT_BIND_BIND_H */
