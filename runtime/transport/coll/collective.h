/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/collective.h - collectives as data: a call, and what carries it out.
 *
 * A collective is a table of functions (tw_collective_t) and a list of algorithms; an algorithm is
 * a row (tw_algorithm_row_t) and the engine's functions (tw_algorithm_ops_t).
 */
#ifndef TW_TRANSPORT_COLL_COLLECTIVE_H
#define TW_TRANSPORT_COLL_COLLECTIVE_H

#include <thinwire/facts.h>

#include "runtime/policy/algorithms.h"
#include "runtime/transport/coll/blocks.h"
#include "runtime/transport/engine/request.h"

typedef struct tw_collective      tw_collective_t;
typedef struct tw_algorithm_row   tw_algorithm_row_t;
typedef struct tw_collective_call tw_collective_call_t;

struct tw_collective_call {
    tw_comm_t             *comm;
    const tw_collective_t *collective;
    const char            *name; /* "reduce_scatter_block" */
    const void            *send; /* or TW_IN_PLACE */
    void                  *recv;
    const tw_how_t        *how;
    size_t         count; /* as tw_operation_t has it; of reduce_scatter the whole vector and of
                                     allgatherv the mean block, by check()                     */
    tw_blocks_t    out;   /* alltoall: what goes to each rank                      */
    tw_blocks_t    in;    /* what comes from each rank; reduce-scatter: the shares */
    tw_reduction_t reduction;
    int            root; /* -1: none */

    /* The only row, if it serves, and what a message should have; whoever calls the driver may set
     * them, else `auto`. */
    const tw_algorithm_row_t *algorithm;
    const tw_algorithm_row_t *named;    /* by how->algorithm, or NULL; the driver sets it */
    size_t                    fragment; /* bytes of codes; 0: as the row has it */
    size_t room; /* as tw_request_shape_t has it; who calls the driver may set it */
    struct tw_device_event *after; /* as tw_request_t has it; who calls the driver may set it */

    /* By check(): as tw_request_shape_t has them. */
    size_t      compared; /* its count */
    const void *values[2];
    size_t      extent[2];

    /* By the driver, before serves(), usual() and shape(); at_once() has neither, unless the row is
     * MPI's own: then the codec. */
    const tw_codec_t *codec;
    size_t            encoded; /* bytes of `count` values */
};

/* A call of which nothing is known but this: counts 0, a sum without root. Not set is what check()
 * and the driver set. (It is on the way of the shortest calls; an initialiser of the whole would
 * cost them a tenth.) */
static inline void tw_collective_begin(tw_collective_call_t *call, tw_comm_t *comm,
                                       const tw_collective_t *collective, const char *name,
                                       const void *send, void *recv, const tw_how_t *how)
{
    call->comm       = comm;
    call->collective = collective;
    call->name       = name;
    call->send       = send;
    call->recv       = recv;
    call->how        = how;
    call->count      = 0;
    call->out        = (tw_blocks_t){0, NULL, NULL};
    call->in         = (tw_blocks_t){0, NULL, NULL};
    call->reduction  = TW_SUM;
    call->root       = -1;
    call->algorithm  = NULL;
    call->named      = NULL;
    call->fragment   = 0;
    call->room       = 0;
    call->after      = NULL;
}

struct tw_algorithm_row {
    const char    *name;
    tw_algorithm_t number; /* by which calls name it; TW_ALGORITHM_AUTO: not at all */
    /* Can it serve this call? Else TW_ERR_UNSUPPORTED or TW_ERR_BUSY; the same on all ranks.
     * Collective the first time. NULL: always. */
    tw_status_t (*serves)(const tw_collective_call_t *call);
    /* It works in the memory of a node: for calls that say device memory, in slots of the devices,
     * where there are such; else with elements copied to the host and back, and only if it is
     * named. */
    bool in_node;
    const char
        *needs; /* completes "it needs ..." where it is named and does not serve; with `serves` */
    /* Is it for such a call, where nothing names an algorithm? The same on all ranks, so from
     * count, codec, ranks, settings and what how.exec says, never from pointers. NULL: yes. */
    bool (*usual)(const tw_collective_call_t *call);
    /* NULL, or: can a blocking call be carried out without an operation? Then *status_p is its
     * status. The same on all ranks. */
    bool (*at_once)(const tw_collective_call_t *call, tw_status_t *status_p);
    /* shape->algorithm, and what room that needs: slots, longest, most, sum; fragment where it
     * should not be call->fragment. The same on all ranks; allocates and says nothing. */
    void (*shape)(const tw_collective_call_t *call, tw_request_shape_t *shape);
};

struct tw_collective {
    tw_operation_t                   operation;
    const tw_algorithm_row_t *const *rows;    /* of policy/algorithms.h, in its order, then NULL */
    int                              arrays;  /* of an operation                   */
    bool                             moves;   /* no sums: there is no feedback     */
    bool                             unequal; /* ranks know different counts       */
    tw_status_t (*check)(tw_collective_call_t *call); /* TW_ERR_INVALID_ARG, TW_ERR_RANGE */
    const tw_algorithm_row_t *first; /* its at_once() is tried where nothing is named, or NULL */
};

extern const tw_collective_t tw_collective_allreduce, tw_collective_reduce,
    tw_collective_reduce_scatter, tw_collective_bcast, tw_collective_allgather,
    tw_collective_alltoall, tw_collective_alltoallv;

/* Carry out a call that was checked, by the row that it has, if that serves: choose.c. The call is
 * used up. */
tw_status_t tw_collective_run(tw_collective_call_t *call, tw_form_t form, tw_request_t **request_p);

/* A row of a collective by its name; NULL for none. */
const tw_algorithm_row_t *tw_collective_row(const tw_collective_t *collective, const char *name);

/* serves() of algorithms in the memory of one node, of values as they are. */
tw_status_t tw_collective_in_node(const tw_collective_call_t *call);
#define TW_IN_NODE_NEEDS                                                                           \
    "a lossless codec, no feedback, and two or more ranks of one node with shared memory"

/* usual() of algorithms in the memory of every node and between nodes. */
bool tw_collective_of_nodes(const tw_collective_call_t *call);

/* Does it work in slots of the devices, if in_node? The same on all ranks; after serves(). */
static inline bool tw_collective_on_slots(const tw_collective_call_t *call)
{
    return tw_how_on_device(call->how) && call->comm->device->slots.state == TW_NODE_THERE &&
           tw_reduction_is_fused(tw_reduction_row((int)call->reduction));
}

/* Bytes of a rank's room in a round, by which it is cut. */
static inline size_t tw_collective_room(const tw_collective_call_t *call)
{
    return tw_collective_on_slots(call) ? TW_DEVICE_SLOT : call->comm->node->slot_bytes;
}

/* The same of values as they are: in memory of the host what stays in the cache. */
size_t tw_collective_values_room(const tw_collective_call_t *call);

/* Rounds of an interval of so many values. */
static inline size_t tw_op_rounds(const tw_request_t *op, size_t longest)
{
    return longest / op->chunk + (longest % op->chunk != 0);
}

/* fill() where the whole vector is one interval. */
void tw_collective_fill_whole(tw_request_t *op, const tw_collective_call_t *call);

#endif /* TW_TRANSPORT_COLL_COLLECTIVE_H */
