/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/relay.h - blocks that some rank cannot read directly.
 *
 * Only the reader can detect that: memory may belong to a device, be hidden (memfd_secret), or be
 * protected by its owner. The reader reports it by its flag of the ticket, and the owner then
 * copies the whole block through its slot in pieces. `pieces` of a slot counts the pieces that its
 * owner has written there, or has read from others:
 *
 *     bcast      The root raises phase 1: the address is published. A reader completes the ticket,
 *                or raises phase 2: the read failed. When every reader has done one or the other,
 *                the root copies for those that failed.
 *     alltoall   Phase 1: the addresses are published, or zeros in place, since results overwrite
 *                the blocks. Phase 2: all blocks were read; 3: a block has no address; 4: a read
 *                failed. When all ranks have raised one of these, and any has raised 3 or 4, every
 *                rank copies for all.
 *
 * The protocol depends only on flags that all ranks see, so ranks with the quick form (quick.h) and
 * ranks with requests may mix. After a failed read a rank sets `unreadable` and publishes no
 * address any more: its readers then request copies without an attempt to read.
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

/* The root has opened the ticket: publish the address of its block. */
void tw_relay_offer(tw_segment_t *node, uint64_t ticket, const void *block);

/* For the other ranks: read the root's block, or report that the read failed. */
void tw_relay_read(tw_comm_t *comm, uint64_t ticket, int root, size_t bytes, void *into);

/* Progress; true when (on the root) all others have the block, or (elsewhere) the caller has it.
 * Else *local_p is a rank that the caller waits for. */
bool tw_relay_bcast(tw_comm_t *comm, uint64_t ticket, int root, size_t bytes, void *block,
                    int *local_p);

/* A rank's part in an alltoall of blocks of `bytes` bytes; in place if send == recv. */
typedef struct tw_relay {
    uint64_t    ticket;
    const void *send;
    void       *recv;
    size_t      bytes;
} tw_relay_t;

/* The caller has opened the ticket: publish the addresses of its blocks. */
void tw_relay_offer_all(tw_segment_t *node, const tw_relay_t *relay);

/* Rank `local` has raised phase 1: read its block. */
tw_relay_phase_t tw_relay_read_from(tw_comm_t *comm, const tw_relay_t *relay, int local);

/* Raise the highest phase that tw_relay_read_from() has returned. */
void tw_relay_answer(tw_segment_t *node, const tw_relay_t *relay, tw_relay_phase_t phase);

/* Progress; true when the caller has all blocks and no rank reads its `send` buffer any more. Else
 * *local_p is a rank that the caller waits for. */
bool tw_relay_alltoall(tw_comm_t *comm, const tw_relay_t *relay, int *local_p);

#endif /* TW_TRANSPORT_SHM_RELAY_H */
