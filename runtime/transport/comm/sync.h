/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/sync.h - the transport's set-up messages: agreement, comparison, residuals.
 *
 * They use MPI's nonblocking calls, so that a rank that waits yields its core, advances other
 * operations and obeys THINWIRE_TIMEOUT. After a failure MPI may still write to the buffers: data
 * of up to TW_SYNC_SMALL bytes is copied through buffers of the communicator, larger data must lie
 * in its pool, and neither is freed once a communicator is dead.
 * `what` names the purpose in the log.
 */
#ifndef TW_TRANSPORT_COMM_SYNC_H
#define TW_TRANSPORT_COMM_SYNC_H

#include <stdbool.h>
#include <stddef.h>

#include <thinwire/comm.h>

/* Wait until all requests are complete. Their memory must stay valid until then. */
tw_status_t tw_sync_wait(tw_comm_t *comm, int count, MPI_Request *requests, const char *what);

/* out[count] = in[count] reduced over the ranks; elements of `element` bytes. */
tw_status_t tw_sync_allreduce(tw_comm_t *comm, const void *in, void *out, int count, size_t element,
                              MPI_Datatype type, MPI_Op op, const char *what);

/* all[rank * bytes] = mine[bytes] of each rank. */
tw_status_t tw_sync_allgather(tw_comm_t *comm, const void *mine, void *all, int bytes,
                              const char *what);

/* Broadcast from rank 0. */
tw_status_t tw_sync_bcast(tw_comm_t *comm, void *bytes, int size, const char *what);

/* Send or receive one message. */
tw_status_t tw_sync_message(tw_comm_t *comm, bool sending, void *bytes, int size, int peer,
                            const char *what);

#endif /* TW_TRANSPORT_COMM_SYNC_H */
