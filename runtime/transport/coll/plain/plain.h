/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/plain/plain.h - MPI's own collectives on the values, as one more algorithm ("mpi"):
 * what is taken where encoding does not pay.
 *
 * A blocking call may become MPI's blocking one only where every rank does the same, and where no
 * other operation of the communicator would have to be advanced meanwhile: on communicators on
 * which nothing but blocking calls was ever made (see tw_plain_blocks()). All else is MPI's
 * nonblocking collective, in an operation of the engine.
 */
#ifndef TW_TRANSPORT_COLL_PLAIN_PLAIN_H
#define TW_TRANSPORT_COLL_PLAIN_PLAIN_H

#include <thinwire/facts.h>

#include "runtime/transport/engine/request.h"

typedef struct tw_plain_args {
    tw_operation_t operation;
    const char    *name;
    const void    *send; /* or TW_IN_PLACE */
    void          *recv;
    size_t         count;         /* as MPI counts: of the vector, or of one rank's block */
    const size_t  *counts;        /* allgatherv, reduce_scatter: of each rank; else NULL  */
    const size_t  *displacements; /* allgatherv; NULL: one after another                  */
    tw_reduction_t reduction;
    int            root; /* -1: none */
    bool           wide; /* doubles  */
} tw_plain_args_t;

extern const tw_algorithm_ops_t tw_plain_mpi;

/* Can MPI count this? The answer is the same on all ranks. */
bool tw_plain_fits(const tw_comm_t *comm, const tw_plain_args_t *args);

/* May blocking calls be MPI's own? The answer is the same on all ranks. */
static inline bool tw_plain_blocks(const tw_comm_t *comm)
{
    return comm->blocking_only && comm->patient && !comm->config.check;
}

/* MPI's blocking collective, at once; tw_plain_blocks() holds and counts is NULL. */
tw_status_t tw_plain_run(tw_comm_t *comm, const tw_plain_args_t *args);

/* The buffers that this rank uses, into shape. */
void tw_plain_values(const tw_comm_t *comm, const tw_plain_args_t *args, tw_request_shape_t *shape);

/* tw_plain_run() where they are device memory. */
tw_status_t tw_plain_run_device(tw_comm_t *comm, const tw_plain_args_t *args,
                                const tw_request_shape_t *shape);

/* MPI's nonblocking collective; ints (2 per rank) is room for the counts of the v-forms. */
tw_status_t tw_plain_start(tw_comm_t *comm, const tw_plain_args_t *args, int *ints,
                           MPI_Request *request);

/* Any form of it: blocking where that may be, else by the engine. */
tw_status_t tw_plain(tw_comm_t *comm, const tw_plain_args_t *args, const tw_how_t *how,
                     tw_form_t form, tw_request_t **request_p);

#endif /* TW_TRANSPORT_COLL_PLAIN_PLAIN_H */
