/* SPDX-License-Identifier: BSD-3-Clause
 * transport/shm/segment.h - shared memory of the ranks of a node, and the flags that synchronise
 * access to it.
 *
 * Every rank of a node has TW_NODE_SLOTS slots that only it writes and the others read:
 *
 *     rank area    [ control line: low | slot 0 | slot 1 | ... ]
 *     slot         [ flag, short data: one cache line | data ]
 *
 * A round of an operation that uses the segment has a ticket. Tickets are assigned in the order in
 * which operations start, which is equal on all ranks. Ticket t uses slot t % TW_NODE_SLOTS of
 * every rank. A writer raises its slot's flag to TW_NODE_PHASES t + phase (phase 1, 2, ...) when
 * the data of the phase is written. A rank with nothing left to do for t, as writer or reader,
 * completes t. A rank has completed all tickets below its `low`. The slot of t may be written when
 * every rank's low is above t - TW_NODE_SLOTS, so the oldest ticket can always progress.
 *
 * Where the system allows it (process_vm_readv), long blocks are not copied through slots: the
 * owner publishes the address, and the others read its memory or report a failure (relay.h).
 *
 * Flags, low and pieces are C11 atomics: a release store after the data is written, an acquire load
 * before it is read.
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
#define TW_NODE_LINE   128 /* bytes: two cache lines, which processors prefetch together */
#define TW_NODE_SHORT  56  /* bytes of data in the cache line of a flag                      */
#define TW_NODE_PHASES 8

typedef enum tw_node_state { TW_NODE_UNKNOWN, TW_NODE_THERE, TW_NODE_ABSENT } tw_node_state_t;

typedef struct tw_segment {
    tw_node_state_t state; /* equal on all ranks of the communicator                  */
    uint8_t        *base;
    size_t          bytes;
    int             ranks, local; /* of this node; the caller's number                */
    size_t          slot_bytes;   /* data of a slot; equal on all nodes               */
    size_t          area_bytes;   /* of a rank                                        */
    uint64_t        ticket;       /* of the next round                                */
    uint64_t        low;          /* the caller has completed all tickets below it    */
    uint64_t        complete;     /* bit i: ticket low + i is complete too            */
    uint64_t        open;         /* tickets below it may be written, as last read    */
    bool            reads;        /* ranks may read each other's memory; equal on all nodes */
    bool            warned;       /* a failed read was logged                         */
    bool            unreadable;   /* a read has failed: publish 0 for the caller's blocks */
    int             spins;        /* polls of a flag before the core is yielded       */
} tw_segment_t;

typedef struct tw_slot {
    _Atomic uint64_t flag;
    uint8_t          data[TW_NODE_SHORT];
    _Atomic uint64_t pieces; /* written, or read from others (relay.h)    */
} tw_slot_t;

/* Bytes of data in a slot if the largest node has `ranks` ranks. */
size_t tw_node_slot_bytes(int ranks);

/* Collective the first time: create the segments of all nodes, or detect that a node cannot have
 * one. TW_OK; TW_ERR_UNSUPPORTED (no shared memory on some node; logged once at level info);
 * TW_ERR_BUSY (not created yet, and comm->asynchronous forbids it now); or the error that killed
 * the communicator. */
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
    uint64_t           probe;  /* address of the rank's probe value (fetch.c) */
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

/* The data of a slot: slot_bytes bytes, aligned to TW_NODE_LINE. */
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

/* Have all other ranks of the node raised their flags to `phase`? Else *local_p is one that has
 * not. */
bool tw_node_all_raised(const tw_segment_t *node, uint64_t ticket, unsigned phase, int *local_p);

/* May the caller write its slot of this ticket? Else *local_p is a rank that still uses it. */
bool tw_node_open(tw_segment_t *node, uint64_t ticket, int *local_p);

/* May the caller start a ticket in which it only reads? */
static inline bool tw_node_near(const tw_segment_t *node, uint64_t ticket)
{
    return ticket < node->low + TW_NODE_SLOTS;
}

/* The caller has nothing left to do for this ticket. */
void tw_node_complete(tw_segment_t *node, uint64_t ticket);

#endif /* TW_TRANSPORT_SHM_SEGMENT_H */
