/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/native/native.h - MPI's own collectives on the values, as one more algorithm
 * ("mpi"), for calls that encoding does not make faster.
 *
 * A blocking call may use MPI's blocking collective only if every rank does, and if no other
 * operation of the communicator needs progress meanwhile: on communicators that have only ever seen
 * blocking calls (see tw_native_blocks()). All other calls use MPI's nonblocking collective in an
 * operation of the engine.
 */
#ifndef TW_TRANSPORT_COLL_NATIVE_NATIVE_H
#define TW_TRANSPORT_COLL_NATIVE_NATIVE_H

#include "runtime/transport/coll/collective.h"

/* For every collective but alltoallv; call->codec gives the element type. TW_ERR_RANGE if MPI
 * cannot count the elements. */
extern const tw_algorithm_row_t tw_native_row;

/* Does MPI do this operation on such elements as we do? It has no sums of a type of their own. */
bool tw_native_serves_type(tw_operation_t operation, tw_dtype_t dtype);

/* Can MPI count the elements, and add them? Equal on all ranks. */
bool tw_native_fits(const tw_collective_call_t *call);

/* May blocking calls use MPI's blocking collectives? Equal on all ranks. */
static inline bool tw_native_blocks(const tw_comm_t *comm)
{
    return comm->blocking_only && comm->patient && !comm->config.check;
}

/* Call MPI's blocking collective. Requires tw_native_blocks() and call->in.counts == NULL. */
tw_status_t tw_native_run(const tw_collective_call_t *call);

/* The same for values in device memory, through a copy in pinned memory. */
tw_status_t tw_native_run_device(const tw_collective_call_t *call);

/* Start MPI's nonblocking collective; ints (2 per rank) holds the counts of the v-forms. */
tw_status_t tw_native_start(const tw_collective_call_t *call, int *ints, MPI_Request *request);

#endif /* TW_TRANSPORT_COLL_NATIVE_NATIVE_H */
