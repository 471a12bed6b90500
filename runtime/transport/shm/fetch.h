/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/fetch.h - reading the memory of another rank of the node: one copy instead of two.
 *
 * Linux only, and only where the system permits it (ptrace_scope, containers): probed once, when
 * the segment is created. Else long blocks are copied through slots. Single blocks may still be
 * unreadable (memfd_secret, device memory): see relay.h.
 */
#ifndef TW_TRANSPORT_SHM_FETCH_H
#define TW_TRANSPORT_SHM_FETCH_H

#include "runtime/transport/comm/comm.h"
#include "runtime/transport/shm/layout.h"
#include "runtime/transport/shm/segment.h"

/* Longer blocks are read directly, shorter ones copied through a slot. */
#define TW_FETCH_MIN ((size_t)8 << 10)

/* Publish the caller's process ID and the address of a probe value in its control line. */
void tw_fetch_publish(const tw_segment_t *node);

/* After all ranks have published: can the caller read all their probe values? TW_OK or
 * TW_ERR_UNSUPPORTED. */
tw_status_t tw_fetch_probe(const tw_segment_t *node);

/* Read `bytes` bytes at an address that a rank of this node has published. False: they cannot be
 * read (logged once at level info), or the address is 0, since the owner knows that. */
bool tw_fetch(tw_comm_t *comm, int local, uint64_t address, size_t bytes, void *into);

/* The address that the owner of a block publishes: 0 if it knows that others cannot read it. */
static inline uint64_t tw_fetch_address(const tw_segment_t *node, const void *at)
{
    return node->unreadable ? 0 : (uint64_t)(uintptr_t)at;
}

/* The addresses that a rank publishes for a ticket, indexed by the reader's number on the node. */
static inline uint64_t *tw_fetch_table(const tw_segment_t *node, int local, uint64_t ticket)
{
    return (uint64_t *)(void *)((size_t)node->ranks * sizeof(uint64_t) <= TW_NODE_SHORT
                                    ? tw_node_slot(node, local, ticket)->data
                                    : tw_node_data(node, local, ticket));
}

#endif /* TW_TRANSPORT_SHM_FETCH_H */
