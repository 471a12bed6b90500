/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/agree.h - checks of a communicator and of sizes on this rank, and agreement of all
 * ranks on a status and on memory.
 */
#ifndef TW_TRANSPORT_COMM_AGREE_H
#define TW_TRANSPORT_COMM_AGREE_H

#include <stddef.h>

#include <thinwire/comm.h>

/* TW_OK; TW_ERR_INVALID_ARG for NULL; TW_ERR_DEAD. */
tw_status_t tw_comm_check(const tw_comm_t *comm);

/* TW_OK if the size of values [first, first + count) does not overflow; else TW_ERR_RANGE. */
tw_status_t tw_interval_check(size_t first, size_t count);

/* Collective: returns the worst (smallest) of all ranks' statuses on every rank. */
tw_status_t tw_comm_agree(tw_comm_t *comm, tw_status_t mine);

/* Collective: a buffer of the pool on every rank, or on none; return it with tw_pool_put(). If
 * `mine` of a rank is a failure, no rank gets a buffer. */
tw_status_t tw_comm_agreed_get(tw_comm_t *comm, size_t bytes, void **buffer_p);
tw_status_t tw_comm_agreed_get_if(tw_comm_t *comm, tw_status_t mine, size_t bytes, void **buffer_p);

#endif /* TW_TRANSPORT_COMM_AGREE_H */
