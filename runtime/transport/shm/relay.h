/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/relay.h - blocks that some rank cannot read where they lie.
 *
 * Only the reader finds that out: memory may belong to a device, or be hidden (memfd_secret), or
 * the owner may have forbidden to look at it. It says so by its flag of the ticket, and the owner
 * then copies the block, whole, piece by piece through its slot. `pieces` of a slot counts what its
 * owner has put there, or has taken from others:
 *
 *     bcast      phase 1 of the root: here is the address. A reader completes the ticket, or raises
 *                phase 2: it could not read. When all have done either, the root copies for those.
 *     alltoall   phase 1: here are the addresses, or none, as the result arrives where they lie (in
 *                place). Phase 2: the others' blocks are read; 3: not all, as a rank told no
 *                address; 4: not all, as a read failed. When all have raised one of these, and
 *                somebody 3 or 4, all copy for all.
 *
 * What all do follows from flags that all see, so ranks that take the quick ways (quick.h) and
 * those that have requests do the same. A rank that has had to copy remembers it (`unreadable`),
 * and tells no address any more: its readers then say at once that they could not read.
 */
#ifndef TW_TRANSPORT_SHM_RELAY_H
#define TW_TRANSPORT_SHM_RELAY_H

#include "runtime/transport/shm/fetch.h"

typedef enum tw_relay_phase {
    TW_RELAY_OFFERED  = 1,
    TW_RELAY_ASKED    = 2, /* of a bcast    */
    TW_RELAY_READ     = 2, /* of an alltoall */
    TW_RELAY_WITHHELD = 3,
    TW_RELAY_REFUSED  = 4
} tw_relay_phase_t;

/* The root has opened the ticket: tell the address of its block. */
void tw_relay_offer(tw_segment_t *node, uint64_t ticket, const void *block);

/* A reader of it: read, or say that it cannot. */
void tw_relay_read(tw_comm_t *comm, uint64_t ticket, int root, size_t bytes, void *into);

/* One more step; true: the root's block is with all others, or (root is not the caller) with the
 * caller. Else *local_p is a rank that it waits for. */
bool tw_relay_bcast(tw_comm_t *comm, uint64_t ticket, int root, size_t bytes, void *block,
                    int *local_p);

/* A rank's part in an alltoall of blocks of `bytes` bytes; in place if send == recv. */
typedef struct tw_relay {
    uint64_t    ticket;
    const void *send;
    void       *recv;
    size_t      bytes;
} tw_relay_t;

/* The caller has opened the ticket: tell the addresses of its blocks. */
void tw_relay_offer_all(tw_segment_t *node, const tw_relay_t *relay);

/* Rank `local` has told: read its block. */
tw_relay_phase_t tw_relay_read_from(tw_comm_t *comm, const tw_relay_t *relay, int local);

/* Tell the others the worst of what came of that. */
void tw_relay_answer(tw_segment_t *node, const tw_relay_t *relay, tw_relay_phase_t phase);

/* One more step; true: every rank has all blocks. Else *local_p is a rank that it waits for. */
bool tw_relay_alltoall(tw_comm_t *comm, const tw_relay_t *relay, int *local_p);

#endif /* TW_TRANSPORT_SHM_RELAY_H */
