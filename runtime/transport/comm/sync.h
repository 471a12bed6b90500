/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/sync.h - the transport's own set-up messages: agreement, comparison, residuals.
 *
 * MPI's nonblocking calls lie under them, so that a rank that waits gives its core away, advances
 * what else runs, and obeys THINWIRE_TIMEOUT. After a failure MPI may still write into the buffers:
 * data of up to TW_SYNC_SMALL bytes passes through buffers of the communicator, larger data must
 * lie in its pool, and neither is ever freed once a communicator is dead.
 * `what` names the occasion in the log.
 */
#ifndef TW_TRANSPORT_COMM_SYNC_H
#define TW_TRANSPORT_COMM_SYNC_H

#include "runtime/transport/comm/comm.h"

/* Until all requests are complete. They must not lie where they may be freed before that. */
tw_status_t tw_sync_wait(tw_comm_t *comm, int count, MPI_Request *requests, const char *what);

/* out[count] = in[count] reduced over the ranks; elements of `element` bytes. */
tw_status_t tw_sync_allreduce(tw_comm_t *comm, const void *in, void *out, int count, size_t element,
                              MPI_Datatype type, MPI_Op op, const char *what);

/* all[rank * bytes] = mine[bytes] of each rank. */
tw_status_t tw_sync_allgather(tw_comm_t *comm, const void *mine, void *all, int bytes,
                              const char *what);

/* Rank 0's bytes to all. */
tw_status_t tw_sync_bcast(tw_comm_t *comm, void *bytes, int size, const char *what);

/* One message, sent or received. */
tw_status_t tw_sync_message(tw_comm_t *comm, bool sending, void *bytes, int size, int peer,
                            const char *what);

#endif /* TW_TRANSPORT_COMM_SYNC_H */
