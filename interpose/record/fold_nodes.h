/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/record/fold_nodes.h - between the files of fold.h.
 */
#ifndef TW_INTERPOSE_FOLD_NODES_H
#define TW_INTERPOSE_FOLD_NODES_H

#include "interpose/record/fold.h"

#define TW_FOLD_BASE UINT64_C(0x9ddfea08eb382d69) /* of the hash of a piece; odd */

/* Never 0. */
static inline uint64_t tw_fold_mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x7fb5d329728ea185);
    x = (x ^ (x >> 27)) * UINT64_C(0x81dadef4bc2dd44d);
    x ^= x >> 33;
    return x != 0 ? x : 1;
}

uint64_t tw_fold_loop_hash(const tw_fold_node_t *loop);

/* An element that ran so often. */
tw_fold_node_t tw_fold_leaf(uint32_t id, double compute, double fixed, uint64_t runs);

/* What loops hold; the array is the caller's. */
void tw_fold_free(tw_fold_node_t *nodes, size_t length);

/* Of the deepest of them. */
uint32_t tw_fold_depth(const tw_fold_node_t *nodes, size_t length);

/* Behind the others, as tw_fold_add(); on success what it holds is the fold's. */
bool tw_fold_push(tw_fold_t *fold, const tw_fold_node_t *node);

#endif /* TW_INTERPOSE_FOLD_NODES_H */
