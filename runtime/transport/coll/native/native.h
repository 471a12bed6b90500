/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/native/native.h - MPI's own collectives on the values, as one more algorithm
 * ("mpi"): what is taken where encoding does not pay.
 *
 * A blocking call may become MPI's blocking one only where every rank does the same, and where no
 * other operation of the communicator would have to be advanced meanwhile: on communicators on
 * which nothing but blocking calls was ever made (see tw_native_blocks()). All else is MPI's
 * nonblocking collective, in an operation of the engine.
 */
#ifndef TW_TRANSPORT_COLL_NATIVE_NATIVE_H
#define TW_TRANSPORT_COLL_NATIVE_NATIVE_H

#include "runtime/transport/coll/collective.h"

/* Of every collective but alltoallv; call->codec says what the elements are. TW_ERR_RANGE where MPI
 * cannot count them. */
extern const tw_algorithm_row_t tw_native_row;

/* Can MPI count this? The answer is the same on all ranks. */
bool tw_native_fits(const tw_collective_call_t *call);

/* May blocking calls be MPI's own? The answer is the same on all ranks. */
static inline bool tw_native_blocks(const tw_comm_t *comm)
{
    return comm->blocking_only && comm->patient && !comm->config.check;
}

/* MPI's blocking collective, at once; tw_native_blocks() holds and call->in.counts is NULL. */
tw_status_t tw_native_run(const tw_collective_call_t *call);

/* The same where the values are device memory: through a copy in pinned memory. */
tw_status_t tw_native_run_device(const tw_collective_call_t *call);

/* MPI's nonblocking collective; ints (2 per rank) is room for the counts of the v-forms. */
tw_status_t tw_native_start(const tw_collective_call_t *call, int *ints, MPI_Request *request);

#endif /* TW_TRANSPORT_COLL_NATIVE_NATIVE_H */
