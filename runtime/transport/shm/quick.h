/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/quick.h - short blocking collectives on uncompressed values within one node, by
 * polling flags, without a request. They use the ticket that the engine's form of the same call
 * would use (allreduce_node.c, ...), so some ranks may use the quick form and others the engine's:
 * the choice depends on local facts, such as the memory type of buffers. So the engine's form must
 * not need agreement: all ranks reserve its memory when the segment is created.
 */
#ifndef TW_TRANSPORT_SHM_QUICK_H
#define TW_TRANSPORT_SHM_QUICK_H

#include <thinwire/collective.h>

#include "runtime/base/reduction.h"
#include "runtime/transport/shm/fetch.h"
#include "runtime/transport/shm/segment.h"

/* Most bytes that a rank writes to its slot at once. */
#define TW_NODE_DIRECT ((size_t)8 << 10)

/* Bytes of a rank's slot that a round of a longer operation fills, so that they stay in cache. */
#define TW_NODE_FRAGMENT ((size_t)64 << 10)

/* Shares are rounded to multiples of so many values: two cache lines of float32. */
#define TW_NODE_BLOCK ((size_t)32)

/* Do `bytes` bytes of values fit one slot and one fragment, so that one round suffices? */
static inline bool tw_node_direct(const tw_comm_t *comm, size_t bytes)
{
    return bytes <= TW_NODE_DIRECT && bytes <= comm->config.chunk;
}

/* recv[n] = the reduction of all ranks' send[n], on all ranks or (root >= 0) on the root. */
tw_status_t tw_quick_reduce(tw_comm_t *comm, const char *operation, const void *send, void *recv,
                            size_t n, const tw_codec_t *codec, tw_reduction_t reduction, int root);

/* Broadcast from the root. */
tw_status_t tw_quick_bcast(tw_comm_t *comm, void *buffer, size_t bytes, int root);

/* Long blocks, where ranks may read each other's memory (tw_segment_t.reads). */
tw_status_t tw_quick_bcast_read(tw_comm_t *comm, void *buffer, size_t bytes, int root);
tw_status_t tw_quick_alltoall_read(tw_comm_t *comm, const void *send, void *recv, size_t bytes);

/* Blocks of `bytes` bytes. */
tw_status_t tw_quick_alltoall(tw_comm_t *comm, const void *send, void *recv, size_t bytes);
tw_status_t tw_quick_allgather(tw_comm_t *comm, const void *send, void *recv, size_t bytes);

#endif /* TW_TRANSPORT_SHM_QUICK_H */
