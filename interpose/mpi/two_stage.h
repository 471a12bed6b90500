/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/two_stage.h - nonblocking Allreduce of two stages, on the private duplicate.
 *
 * Between its stages somebody must decode, add and send, although the program may be waiting in any
 * MPI call, such as MPI_Recv. So it exists only where the MPI library calls back while it waits:
 * Open MPI's progress engine (opal_progress_register). The program gets a generalized request,
 * which the callback completes. Only where an earlier blocking call has made the duplicate, of a
 * vector as large: to set it up may synchronise, and a nonblocking call must not.
 */
#ifndef TW_INTERPOSE_TWO_STAGE_H
#define TW_INTERPOSE_TWO_STAGE_H

#include "interpose/call.h"
#include "interpose/mpi/late.h"

/* Register the callback, where there is something to register with, unless that has been done; take
 * it back. */
void tw_two_stage_start(void);
void tw_two_stage_stop(void);

/* TW_WHY_NOT if a two-stage form can carry this call, else why not. */
tw_why_t tw_two_stage_refusal(const tw_call_t *call);

/* Start it: the program's request is in *request, and the call is counted. Or the reason why not,
 * on all ranks alike: memory for a vector of this size was never agreed on by a blocking call. */
tw_why_t tw_two_stage_iallreduce(tw_call_t *call, const void *sendbuf, void *recvbuf,
                                 MPI_Request *request);

#endif /* TW_INTERPOSE_TWO_STAGE_H */
