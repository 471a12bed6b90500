/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/quick.h - short blocking collectives of values as they are, within one node: one
 * look at each flag, no request. They take the ticket that the engine's form of the same call would
 * take (allreduce_node.c, ...), so ranks may mix both: whether a call is quick depends on what only
 * the caller knows, as where its buffers are. So the engine's form must need no agreement: all
 * ranks have its memory since the segment was made.
 */
#ifndef TW_TRANSPORT_SHM_QUICK_H
#define TW_TRANSPORT_SHM_QUICK_H

#include <thinwire/collective.h>

#include "runtime/base/reduction.h"
#include "runtime/transport/shm/fetch.h"
#include "runtime/transport/shm/segment.h"

/* Bytes that a rank puts into its slot at once. */
#define TW_NODE_DIRECT ((size_t)8 << 10)

/* Bytes of a rank's slot that a round of a longer operation fills: it stays in the cache. */
#define TW_NODE_FRAGMENT ((size_t)64 << 10)

/* Values, to whose multiples shares are rounded: two cache lines of float32. */
#define TW_NODE_BLOCK ((size_t)32)

/* Do `bytes` of values fit one slot and one fragment, so that they go in one round? */
static inline bool tw_node_direct(const tw_comm_t *comm, size_t bytes)
{
    return bytes <= TW_NODE_DIRECT && bytes <= comm->config.chunk;
}

/* recv[n] = the reduction of all ranks' send[n], on all ranks or (root >= 0) on the root. */
tw_status_t tw_quick_reduce(tw_comm_t *comm, const char *operation, const void *send, void *recv,
                            size_t n, const tw_dtype_row_t *type, tw_reduction_t reduction,
                            int root);

/* The root's bytes to all. */
tw_status_t tw_quick_bcast(tw_comm_t *comm, void *buffer, size_t bytes, int root);

/* The same for long blocks where ranks may read each other's memory (node.reads). */
tw_status_t tw_quick_bcast_read(tw_comm_t *comm, void *buffer, size_t bytes, int root);
tw_status_t tw_quick_alltoall_read(tw_comm_t *comm, const void *send, void *recv, size_t bytes);

/* Blocks of `bytes` bytes. */
tw_status_t tw_quick_alltoall(tw_comm_t *comm, const void *send, void *recv, size_t bytes);
tw_status_t tw_quick_allgather(tw_comm_t *comm, const void *send, void *recv, size_t bytes);

#endif /* TW_TRANSPORT_SHM_QUICK_H */
