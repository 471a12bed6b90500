/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/segment.h - memory that the ranks of a node share, and the flags by which they
 * take turns in it.
 *
 * Every rank of a node has TW_NODE_SLOTS slots that it alone writes and the others read:
 *
 *     rank area    [ control line: low | slot 0 | slot 1 | ... ]
 *     slot         [ flag, short data: one cache line | data ]
 *
 * A round of an operation that uses the segment has a ticket; tickets are dealt out in the order in
 * which operations start, which is the same on all ranks. Ticket t uses slot t % TW_NODE_SLOTS of
 * every rank. A writer raises its slot's flag to 8 t + phase (phase 1, 2, ...) when what the phase
 * promises is there; a rank that has nothing left to do for t, as writer or reader, completes it.
 * `low` is the ticket below which a rank has completed all; slot t may be written when every rank's
 * low has passed t - TW_NODE_SLOTS. The oldest ticket can therefore always move.
 *
 * Where the system allows it (process_vm_readv), long blocks are not copied through slots: their
 * owner puts its address there, and the others read its memory, or say that they cannot (relay.h).
 *
 * Flags, low and pieces are C11 atomics: stored with release after the data, loaded with acquire
 * before it.
 */
#ifndef TW_TRANSPORT_SHM_SEGMENT_H
#define TW_TRANSPORT_SHM_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <thinwire/comm.h>

#include "runtime/codec/device.h"

#define TW_NODE_SLOTS  8
#define TW_NODE_LINE   128 /* bytes: two cache lines, which processors fetch together    */
#define TW_NODE_SHORT  56  /* bytes of data beside a flag, in the flag's cache line          */
#define TW_NODE_PHASES 8

typedef enum tw_node_state { TW_NODE_UNKNOWN, TW_NODE_THERE, TW_NODE_ABSENT } tw_node_state_t;

typedef struct tw_segment {
    tw_node_state_t state; /* the same on all ranks of the communicator               */
    uint8_t        *base;
    size_t          bytes;
    int             ranks, local; /* of this node; the caller's number                */
    size_t          slot_bytes;   /* data of a slot; the same on all nodes            */
    size_t          area_bytes;   /* of a rank                                        */
    uint64_t        ticket;       /* of the next round                                */
    uint64_t        low;          /* all tickets below it are complete here           */
    uint64_t        complete;     /* bit i: ticket low + i is complete too            */
    uint64_t        open;         /* tickets below it may be written, as last seen    */
    bool            reads;        /* ranks may read each other's memory; the same on all nodes */
    bool            warned;       /* a read failed, which was said                    */
    bool            unreadable;   /* some of the caller's memory: told with its blocks */
    int             spins;        /* looks at a flag before the core is given away    */
} tw_segment_t;

typedef struct tw_slot {
    _Atomic uint64_t flag;
    uint8_t          data[TW_NODE_SHORT];
    _Atomic uint64_t pieces; /* put there, or taken from others (relay.h) */
} tw_slot_t;

/* Bytes of data in a slot, where the largest node has `ranks` ranks. */
size_t tw_node_slot_bytes(int ranks);

/* Collective the first time: make the segments of all nodes, or learn that some node cannot have
 * one. TW_OK; TW_ERR_UNSUPPORTED (no shared memory on some node: said once, at level info);
 * TW_ERR_BUSY (not made yet, and comm->asynchronous forbids to make it now); or why the
 * communicator died. */
tw_status_t tw_node_ready(tw_comm_t *comm);

void tw_node_release(tw_comm_t *comm);

/* ---- flags: for algorithms ------------------------------------------------------------------- */

static inline uint8_t *tw_node_area(const tw_segment_t *node, int local)
{
    return node->base + (size_t)local * node->area_bytes;
}

/* The control line of a rank's area. */
typedef struct tw_node_control {
    _Atomic uint64_t   low;
    int64_t            process;
    uint64_t           probe;  /* where its memory has TW_NODE_PROBE */
    tw_device_handle_t device; /* of its slots in device memory (device/slots.h), once shared */
} tw_node_control_t;

_Static_assert(sizeof(tw_node_control_t) <= TW_NODE_LINE, "it fits its line");

static inline tw_node_control_t *tw_node_control(const tw_segment_t *node, int local)
{
    return (tw_node_control_t *)(void *)tw_node_area(node, local);
}

static inline _Atomic uint64_t *tw_node_low(const tw_segment_t *node, int local)
{
    return &tw_node_control(node, local)->low;
}

static inline tw_slot_t *tw_node_slot(const tw_segment_t *node, int local, uint64_t ticket)
{
    return (tw_slot_t *)(void *)(tw_node_area(node, local) + TW_NODE_LINE +
                                 (size_t)(ticket % TW_NODE_SLOTS) *
                                     (TW_NODE_LINE + node->slot_bytes));
}

/* Where the data of a slot lies: slot_bytes, aligned to TW_NODE_LINE. */
static inline uint8_t *tw_node_data(const tw_segment_t *node, int local, uint64_t ticket)
{
    return (uint8_t *)tw_node_slot(node, local, ticket) + TW_NODE_LINE;
}

static inline void tw_node_raise(const tw_segment_t *node, uint64_t ticket, unsigned phase)
{
    atomic_store_explicit(&tw_node_slot(node, node->local, ticket)->flag,
                          ticket * TW_NODE_PHASES + phase, memory_order_release);
}

static inline bool tw_node_raised(const tw_segment_t *node, int local, uint64_t ticket,
                                  unsigned phase)
{
    return atomic_load_explicit(&tw_node_slot(node, local, ticket)->flag, memory_order_acquire) >=
           ticket * TW_NODE_PHASES + phase;
}

/* Have all ranks of the node raised their flags? Else *local_p is one that has not. */
bool tw_node_all_raised(const tw_segment_t *node, uint64_t ticket, unsigned phase, int *local_p);

/* May the caller write its slot of this ticket? Else *local_p is a rank that still uses it. */
bool tw_node_open(tw_segment_t *node, uint64_t ticket, int *local_p);

/* May the caller begin with a ticket in which it only reads? */
static inline bool tw_node_near(const tw_segment_t *node, uint64_t ticket)
{
    return ticket < node->low + TW_NODE_SLOTS;
}

/* The caller has nothing left to do for this ticket. */
void tw_node_complete(tw_segment_t *node, uint64_t ticket);

#endif /* TW_TRANSPORT_SHM_SEGMENT_H */
