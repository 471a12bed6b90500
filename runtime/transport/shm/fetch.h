/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/fetch.h - reading the memory of another rank of the node: one copy instead of two.
 *
 * Linux only, and only where the system lets processes of a user do it (ptrace_scope, containers):
 * found out once, when the segment is made. Else long blocks go through slots. Single blocks may be
 * unreadable all the same (memfd_secret, memory of devices): then see relay.h.
 */
#ifndef TW_TRANSPORT_SHM_FETCH_H
#define TW_TRANSPORT_SHM_FETCH_H

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/shm/layout.h"
#include "runtime/transport/shm/segment.h"

/* Bytes from which on it pays to read instead of to copy through a slot. */
#define TW_FETCH_MIN ((size_t)8 << 10)

/* Put the caller's process, and a place to try, into its control line. */
void tw_fetch_publish(const tw_segment_t *node);

/* All have published: can the caller read everyone's place? TW_OK or TW_ERR_UNSUPPORTED. */
tw_status_t tw_fetch_probe(const tw_segment_t *node);

/* `bytes` bytes at an address that a rank of this node has told; false, said once at level info:
 * they cannot be read, or the rank knows that and has told 0. */
bool tw_fetch(tw_comm_t *comm, int local, uint64_t address, size_t bytes, void *into);

/* What the owner of a block tells its readers: 0 where it knows that they cannot read it. */
static inline uint64_t tw_fetch_address(const tw_segment_t *node, const void *at)
{
    return node->unreadable ? 0 : (uint64_t)(uintptr_t)at;
}

/* The addresses, by number of the reader, that a rank publishes for a ticket. */
static inline uint64_t *tw_fetch_table(const tw_segment_t *node, int local, uint64_t ticket)
{
    return (uint64_t *)(void *)((size_t)node->ranks * sizeof(uint64_t) <= TW_NODE_SHORT
                                    ? tw_node_slot(node, local, ticket)->data
                                    : tw_node_data(node, local, ticket));
}

#endif /* TW_TRANSPORT_SHM_FETCH_H */
