/* SPDX-License-Identifier: BSD-3-Clause
 * transport/allreduce/reduction.h - what allreduce, reduce and the reduce-scatters have in common.
 *
 * A vector of count values is cut into one share per rank: share r is the values
 * [first[r], first[r] + length[r]). `direct` uses the whole vector, `two_pass` and `grid` the
 * shares; `hierarchical` cuts other shares, at most as many as ranks.
 */
#ifndef TW_TRANSPORT_ALLREDUCE_REDUCTION_H
#define TW_TRANSPORT_ALLREDUCE_REDUCTION_H

#include "runtime/transport/feedback.h"
#include "runtime/transport/request.h"

enum { TW_SHARE_FIRST = 0, TW_SHARE_LENGTH = 1 }; /* op->array */

extern const tw_algorithm_ops_t tw_reduce_direct;       /* result on all, or on op->root         */
extern const tw_algorithm_ops_t tw_reduce_two_pass;     /* result on all, or on op->root         */
extern const tw_algorithm_ops_t tw_reduce_grid;         /* result on all, or on op->root         */
extern const tw_algorithm_ops_t tw_reduce_hierarchical; /* result on all, or on op->root         */
extern const tw_algorithm_ops_t tw_reduce_node_direct;  /* in the memory of one node             */
extern const tw_algorithm_ops_t tw_reduce_node;
extern const tw_algorithm_ops_t tw_reduce_scatter_node;
extern const tw_algorithm_ops_t
    tw_reduce_scatter_one_pass; /* every rank keeps the sum of its share */

typedef struct tw_reduction_args {
    tw_comm_t      *comm;
    const char     *operation;
    const void     *send;
    void           *recv;
    size_t          count;   /* of the whole vector                               */
    bool            scatter; /* each rank keeps its share                         */
    const size_t   *counts;  /* scatter: per rank; NULL: count / ranks each       */
    tw_reduction_t  reduction;
    int             root; /* -1: all */
    const tw_how_t *how;
    size_t          piece; /* as tw_request_shape_t has it */
} tw_reduction_args_t;

/* Ranks of each node that exchange with other nodes in tw_reduce_hierarchical; 0: the codec's
 * blocks are too large for it. */
int tw_hierarchical_carriers(const tw_comm_t *comm, const tw_codec_t *codec);

/* Check, choose, create, fill, finish. */
tw_status_t tw_reduction(const tw_reduction_args_t *args, tw_form_t form, tw_request_t **request_p);

/* Encode this lane's piece of the interval from value `first`, n values, with the first residual if
 * there is one. */
void tw_reduction_encode(tw_request_t *op, const tw_lane_t *lane, size_t first, size_t n,
                         uint8_t *codes);

/* values[n] = the sum, in rank order, of the decoded slots first_slot + r of all ranks r. */
void tw_reduction_sum(tw_request_t *op, const tw_lane_t *lane, int first_slot, size_t n,
                      void *values);

/* Values of this lane's piece of the share of a rank. */
static inline size_t tw_share_piece(const tw_request_t *op, const tw_lane_t *lane, int rank)
{
    return tw_lane_piece(op, lane, op->array[TW_SHARE_LENGTH][rank]);
}

/* Where this lane's piece of the share of a rank lies in a buffer of the whole vector. */
static inline uint8_t *tw_share_at(const tw_request_t *op, const tw_lane_t *lane,
                                   const void *buffer, int rank)
{
    return tw_lane_at(op, lane, buffer, op->array[TW_SHARE_FIRST][rank]);
}

/* Encode lane->sum[n], the piece of our own share, with the second residual if there is one. */
void tw_reduction_encode_sum(tw_request_t *op, const tw_lane_t *lane, size_t n, uint8_t *codes);

/* Decode this lane's piece of the share of a rank, if it has one, into the result. */
void tw_reduction_decode_sum(tw_request_t *op, const tw_lane_t *lane, int rank,
                             const uint8_t *codes);

#endif /* TW_TRANSPORT_ALLREDUCE_REDUCTION_H */
