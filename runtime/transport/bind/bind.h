/* SPDX-License-Identifier: BSD-3-Clause
 * transport/bind/bind.h - THINWIRE_BIND and THINWIRE_DEVICE: ranks bind themselves to their places.
 */
#ifndef TW_TRANSPORT_BIND_BIND_H
#define TW_TRANSPORT_BIND_BIND_H

#include "runtime/transport/comm/comm.h"

/* Collective over a new communicator. If one rank requests cores, all ranks bind, and
 * comm->exec.threads becomes the number that a rank's cores allow. A rank that requests a device
 * gets it, or all ranks fail. A failure to bind cores is logged, and the binding stays unchanged.
 * Only tw_comm_create() calls this: the drop-in does not bind. */
tw_status_t tw_comm_bind(tw_comm_t *comm);

#endif /* TW_TRANSPORT_BIND_BIND_H */
