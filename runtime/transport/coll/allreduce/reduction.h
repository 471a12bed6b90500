/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/allreduce/reduction.h - common code of allreduce, reduce and the reduce-scatters.
 *
 * A vector of count values is cut into one share per rank: share r is the values
 * [first[r], first[r] + length[r]). `direct` uses the whole vector, `two_pass` and `grid` the
 * shares; `hierarchical` uses other shares, at most one per rank.
 */
#ifndef TW_TRANSPORT_COLL_ALLREDUCE_REDUCTION_H
#define TW_TRANSPORT_COLL_ALLREDUCE_REDUCTION_H

#include "runtime/transport/coll/collective.h"
#include "runtime/transport/feedback/feedback.h"

enum { TW_SHARE_FIRST = 0, TW_SHARE_LENGTH = 1 }; /* op->array */

/* Rows of allreduce and reduce, and of the reduce-scatters. */
#define TW_REDUCTION_ROW(x, name, considered) extern const tw_algorithm_row_t tw_reduction_##name;
#define TW_SCATTER_ROW(x, name, considered)   extern const tw_algorithm_row_t tw_scatter_##name;
TW_REDUCTION_ALGORITHMS(TW_REDUCTION_ROW, )
TW_SCATTER_ALGORITHMS(TW_SCATTER_ROW, )

/* check() of all of them. */
tw_status_t tw_reduction_check(tw_collective_call_t *call);

/* Length of the longest of `ranks` equal shares in whole blocks, or of the call's shares. */
size_t tw_share_longest(const tw_collective_call_t *call, size_t block, size_t ranks);

/* Equal shares in whole blocks. The first ranks get the remainder; the last block may be short. */
void tw_shares_equal(size_t ranks, size_t count, size_t block, size_t *first, size_t *length);

/* Fill an operation: a share for each rank, in blocks of `block` values, or the call's shares. */
void tw_reduction_fill_shares(tw_request_t *op, const tw_collective_call_t *call, size_t block);
/* The same, in blocks of the codec. */
void tw_reduction_fill(tw_request_t *op, const tw_collective_call_t *call);

/* Encode n sums, of positions [first, first + n) of the vector: of some ranks, with the first
 * residual, or of all, with the second, if there is one. If the latter's codes are equal to the
 * elements, an average is divided here, once for all ranks; else by each rank that decodes. In the
 * first case sum may be `codes`. An element that is not of the type of sums is rounded as the
 * result is, and leaves no residual. */
void tw_reduction_encode_first(tw_request_t *op, const void *sum, size_t first, size_t n,
                               uint8_t *codes);
void tw_reduction_encode_second(tw_request_t *op, void *sum, size_t first, size_t n,
                                uint8_t *codes);

/* The way back, into n elements of the result. */
void tw_reduction_decode_second(tw_request_t *op, const tw_lane_t *lane, const uint8_t *codes,
                                size_t n, uint8_t *out);

/* Encode this lane's fragment of the interval from value `first`, n values, with the first residual
 * if there is one. */
void tw_reduction_encode(tw_request_t *op, const tw_lane_t *lane, size_t first, size_t n,
                         uint8_t *codes);

/* sum[n] = the sum, in rank order, of the decoded slots first_slot + r of all ranks r. */
void tw_reduction_sum(tw_request_t *op, const tw_lane_t *lane, int first_slot, size_t n, void *sum);

/* For algorithms in the memory of every node: lane->sum[n] = this node's sum, in rank order, of
 * `mine` and of the others' values `offset` bytes into their slots. */
void tw_reduction_sum_node(tw_request_t *op, tw_lane_t *lane, const uint8_t *mine, size_t n,
                           size_t offset);

/* Values of this lane's fragment of the share of a rank. */
static inline size_t tw_share_fragment(const tw_request_t *op, const tw_lane_t *lane, int rank)
{
    return tw_lane_fragment(op, lane, op->array[TW_SHARE_LENGTH][rank]);
}

/* Address of this lane's fragment of a rank's share in a buffer of the whole vector. */
static inline uint8_t *tw_share_at(const tw_request_t *op, const tw_lane_t *lane,
                                   const void *buffer, int rank)
{
    return tw_lane_at(op, lane, buffer, op->array[TW_SHARE_FIRST][rank]);
}

/* tw_reduction_encode_second() of sum[n], the fragment of this rank's share. */
void tw_reduction_encode_sum(tw_request_t *op, const tw_lane_t *lane, void *sum, size_t n,
                             uint8_t *codes);

/* Decode this lane's fragment of the share of a rank, if it has one, into the result. */
void tw_reduction_decode_sum(tw_request_t *op, const tw_lane_t *lane, int rank,
                             const uint8_t *codes);

#endif /* TW_TRANSPORT_COLL_ALLREDUCE_REDUCTION_H */
