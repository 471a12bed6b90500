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
#include "interpose/mpi/counts.h"

/* So many items of a type. */
typedef struct tw_items {
    tw_type_t   type;
    const void *at;
    size_t      count;
} tw_items_t;

/** Calls that were refused for their type, with arguments that MPI would take: `items` items of
 * call->type. By settings, rules, threshold and nodes, the same on all ranks; the first time on a
 * communicator collective.
 * @return false: it stays MPI's, nothing was sent. */
bool tw_move_bcast(tw_call_t *call, void *buffer, size_t items, int root);

/** Blocks of call->type in recvbuf. own: what this rank sends, of as many bytes as its block; in
 * place it is that block. */
bool tw_move_allgather(tw_call_t *call, const tw_items_t *own, void *recvbuf,
                       const tw_counts_t *counts);

#endif /* TW_INTERPOSE_MOVE_H */
