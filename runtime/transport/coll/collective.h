/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/collective.h - collectives as data: the tables that execute a call.
 *
 * A collective is a table of functions (tw_collective_t) and a list of algorithms; an algorithm is
 * a row (tw_algorithm_row_t) and the engine's functions (tw_algorithm_ops_t).
 */
#ifndef TW_TRANSPORT_COLL_COLLECTIVE_H
#define TW_TRANSPORT_COLL_COLLECTIVE_H

#include <thinwire/facts.h>

#include "runtime/policy/algorithms.h"
#include "runtime/transport/coll/call.h"
#include "runtime/transport/engine/request.h"

struct tw_algorithm_row {
    const char    *name;
    tw_algorithm_t number; /* its name in calls; TW_ALGORITHM_AUTO: calls cannot name it */
    /* Can it execute this call? Else TW_ERR_UNSUPPORTED or TW_ERR_BUSY; equal on all ranks.
     * Collective the first time. NULL: always. */
    tw_status_t (*serves)(const tw_collective_call_t *call);
    /* It works in the memory of a node. Calls that declare device memory use device slots if there
     * are any; else elements are copied to the host and back, and the row is used only if it is
     * named. */
    bool in_node;
    const char
        *needs; /* completes "it needs ..." if it is named and does not serve; with `serves`    */
    /* Is it a default for this call, if no algorithm is named? Equal on all ranks, so it depends on
     * count, codec, ranks, settings and how.exec, never on pointers. NULL: yes. */
    bool (*usual)(const tw_collective_call_t *call);
    /* NULL, or: execute a blocking call without an operation; *status_p is its status. False: not
     * possible. Equal on all ranks. */
    bool (*at_once)(const tw_collective_call_t *call, tw_status_t *status_p);
    /* Set shape->algorithm and its sizes: slots, longest, most, sum; fragment unless it is
     * call->fragment. Equal on all ranks; does not allocate or log. */
    void (*shape)(const tw_collective_call_t *call, tw_request_shape_t *shape);
};

struct tw_collective {
    tw_operation_t                   operation;
    const tw_algorithm_row_t *const *rows;    /* of policy/algorithms.h, in its order, then NULL */
    int                              arrays;  /* of an operation                   */
    bool                             moves;   /* no reduction: no feedback         */
    bool                             unequal; /* counts differ between ranks       */
    tw_status_t (*check)(tw_collective_call_t *call); /* TW_ERR_INVALID_ARG, TW_ERR_RANGE */
    const tw_algorithm_row_t *first; /* row whose at_once() is tried if none is named, or NULL */
};

/* Execute a checked call, by call->algorithm if that serves: choose.c. The call is consumed. */
tw_status_t tw_collective_run(tw_collective_call_t *call, tw_form_t form, tw_request_t **request_p);

/* A row of a collective by its name; NULL for none. */
const tw_algorithm_row_t *tw_collective_row(const tw_collective_t *collective, const char *name);

/* serves() of algorithms in the memory of one node, on uncompressed values. */
tw_status_t tw_collective_in_node(const tw_collective_call_t *call);
#define TW_IN_NODE_NEEDS                                                                           \
    "a lossless codec, no feedback, and two or more ranks of one node with shared memory"

#define TW_NODES_NEED "shared memory on every node, and a codec whose blocks fit there"

/* usual() of algorithms in the memory of every node and between nodes. */
bool tw_collective_of_nodes(const tw_collective_call_t *call);

/* Does an in_node row use device slots? Equal on all ranks; call it after serves(). */
static inline bool tw_collective_on_slots(const tw_collective_call_t *call)
{
    return tw_how_on_device(call->how) && call->comm->device->slots.state == TW_NODE_THERE &&
           tw_reduction_is_fused(tw_reduction_row((int)call->reduction));
}

/* Bytes of a rank's slot, which limit a round. */
static inline size_t tw_collective_room(const tw_collective_call_t *call)
{
    return tw_collective_on_slots(call) ? TW_DEVICE_SLOT : call->comm->node->slot_bytes;
}

/* The same for uncompressed values: in host memory, a size that stays in cache. */
size_t tw_collective_values_room(const tw_collective_call_t *call);

/* Values of whole blocks whose codes fit in a rank's slot `times` times; 0: not those of a
 * block. */
size_t tw_collective_codes_most(const tw_collective_call_t *call, int times);

/* In host memory: do intervals of all ranks of a node, of at most `longest` values, have so few
 * bytes of codes that they travel in one message? */
bool tw_collective_bundles(const tw_collective_call_t *call, size_t longest);

/* Number of rounds of an interval of `longest` values. */
static inline size_t tw_op_rounds(const tw_request_t *op, size_t longest)
{
    return longest / op->chunk + (longest % op->chunk != 0);
}

/* fill() for the whole vector as one interval. */
void tw_collective_fill_whole(tw_request_t *op, const tw_collective_call_t *call);

#endif /* TW_TRANSPORT_COLL_COLLECTIVE_H */
