/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/move.h - data that no codec takes, by the transport: as bytes, in blocking calls
 * that only move it, where that is faster than MPI's own.
 *
 * Ranks may describe one signature by different types, one of them with holes, or have it in device
 * memory; so it is decided by what they have in common, the bytes. What does not lie as the
 * transport wants it goes through a copy.
 */
#ifndef TW_INTERPOSE_MOVE_H
#define TW_INTERPOSE_MOVE_H

#include "interpose/call.h"

/** Calls that were refused for their type, with arguments that MPI would take: `items` items of
 * call->type, in an allgather from each rank. By settings, rules, threshold and nodes, the same on
 * all ranks; the first time on a communicator collective.
 * @return false: it stays MPI's, nothing was sent. */
bool tw_move_bcast(tw_call_t *call, void *buffer, size_t items, int root);

/** sendbuf may be MPI_IN_PLACE; else it has send_items of another type, with as many bytes. */
bool tw_move_allgather(tw_call_t *call, const void *sendbuf, const tw_type_t *send,
                       size_t send_items, void *recvbuf, size_t items);

#endif /* TW_INTERPOSE_MOVE_H */
