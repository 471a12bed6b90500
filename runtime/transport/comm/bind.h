/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/bind.h - THINWIRE_BIND: the ranks of a node bind themselves to their places.
 */
#ifndef TW_TRANSPORT_COMM_BIND_H
#define TW_TRANSPORT_COMM_BIND_H

#include "runtime/transport/comm/comm.h"

/* Collective over a new communicator: if one rank wants it, all ranks bind, and comm->exec.threads
 * becomes what a rank's cores allow. What cannot be bound is logged and left as it is; the status
 * is that of the communication. Of the transport only tw_comm_create() comes here: the drop-in
 * binds nothing. */
tw_status_t tw_comm_bind(tw_comm_t *comm);

#endif /* TW_TRANSPORT_COMM_BIND_H */
