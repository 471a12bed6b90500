/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/blocks.h - the blocks to, or from, each rank.
 */
#ifndef TW_TRANSPORT_COLL_BLOCKS_H
#define TW_TRANSPORT_COLL_BLOCKS_H

#include <stddef.h>

#include <thinwire/status.h>

/* counts NULL: `each` values per block, where one is not 0 in that of rank one - 1 alone;
 * displacements NULL: blocks are contiguous. */
typedef struct tw_blocks {
    size_t        each;
    const size_t *counts, *displacements;
    int           one;
} tw_blocks_t;

static inline size_t tw_blocks_count(const tw_blocks_t *blocks, int rank)
{
    if (blocks->counts != NULL) {
        return blocks->counts[rank];
    }
    return blocks->one == 0 || blocks->one == rank + 1 ? blocks->each : 0;
}

static inline size_t tw_blocks_first(const tw_blocks_t *blocks, int rank)
{
    size_t at = 0;

    if (blocks->displacements != NULL) {
        return blocks->displacements[rank];
    }
    for (int r = 0; r < rank; r++) {
        at += tw_blocks_count(blocks, r);
    }
    return at;
}

typedef struct tw_blocks_sum {
    size_t longest, total;
    size_t extent; /* elements from the buffer's first to the last block's last */
} tw_blocks_sum_t;

/* TW_ERR_RANGE if sizes overflow. */
tw_status_t tw_blocks_sum(const tw_blocks_t *blocks, int ranks, tw_blocks_sum_t *sum);

/* Number of values and first value of every rank's block. */
void tw_blocks_fill(const tw_blocks_t *blocks, int ranks, size_t *count, size_t *first);

#endif /* TW_TRANSPORT_COLL_BLOCKS_H */
