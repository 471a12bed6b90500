/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/call.h - a collective's call as data.
 */
#ifndef TW_TRANSPORT_COLL_CALL_H
#define TW_TRANSPORT_COLL_CALL_H

#include <thinwire/collective.h>

#include "runtime/transport/coll/blocks.h"

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
    size_t         count; /* as for tw_operation_t; check() sets the whole vector of reduce_scatter
                                     and the mean block of allgatherv                          */
    tw_blocks_t    out;   /* alltoall: blocks to each rank                         */
    tw_blocks_t    in;    /* blocks from each rank; reduce-scatter: the shares     */
    tw_reduction_t reduction;
    int            root; /* -1: none */

    /* The preferred row, used if it serves, and the target size of a message. The caller of the
     * driver may set them, else `auto`. */
    const tw_algorithm_row_t *algorithm;
    const tw_algorithm_row_t *named;    /* by how->algorithm, or NULL; the driver sets it */
    size_t                    fragment; /* bytes of codes; 0: the row's default */
    size_t                  room;  /* see tw_request_shape_t; the caller of the driver may set it */
    struct tw_device_event *after; /* see tw_request_t; the caller of the driver may set it */

    /* Set by check(), see tw_request_shape_t. */
    size_t      compared; /* its count */
    const void *values[2];
    size_t      extent[2];

    /* Set by the driver before serves(), usual() and shape(). Not set for at_once(), except the
     * codec if the row is MPI's own. */
    const tw_codec_t *codec;
    size_t            encoded; /* bytes of `count` values */
};

/* Initialise a call: counts 0, a sum without root. Leaves members that check() and the driver set
 * uninitialised, since initialising the whole struct would make the shortest calls a tenth
 * slower. */
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
    call->out        = (tw_blocks_t){.each = 0};
    call->in         = (tw_blocks_t){.each = 0};
    call->reduction  = TW_SUM;
    call->root       = -1;
    call->algorithm  = NULL;
    call->named      = NULL;
    call->fragment   = 0;
    call->room       = 0;
    call->after      = NULL;
}

extern const tw_collective_t tw_collective_allreduce, tw_collective_reduce,
    tw_collective_reduce_scatter, tw_collective_bcast, tw_collective_allgather,
    tw_collective_alltoall, tw_collective_alltoallv;

#endif /* TW_TRANSPORT_COLL_CALL_H */
