/* SPDX-License-Identifier: BSD-3-Clause
 * transport/coll/blocks.c - see blocks.h.
 */
#include "config.h"

#include "runtime/base/bytes.h"
#include "runtime/transport/coll/blocks.h"
#include "runtime/transport/engine/request.h"

tw_status_t tw_blocks_sum(const tw_blocks_t *blocks, int ranks, tw_blocks_sum_t *sum)
{
    *sum = (tw_blocks_sum_t){.longest = blocks->each};
    if (blocks->counts == NULL && blocks->displacements == NULL && blocks->one == 0) {
        if (!tw_size_mul(blocks->each, (size_t)ranks, &sum->total)) {
            return TW_ERR_RANGE;
        }
        sum->extent = sum->total;
        return tw_interval_check(0, sum->total);
    }
    sum->longest = 0;
    for (int r = 0; r < ranks; r++) {
        const size_t n     = tw_blocks_count(blocks, r);
        const size_t first = blocks->displacements != NULL ? blocks->displacements[r] : sum->total;

        sum->longest = n > sum->longest ? n : sum->longest;
        if (!tw_size_add(sum->total, n, &sum->total) || tw_interval_check(first, n) != TW_OK) {
            return TW_ERR_RANGE;
        }
        sum->extent = n > 0 && first + n > sum->extent ? first + n : sum->extent;
    }
    return TW_OK;
}

void tw_blocks_fill(const tw_blocks_t *blocks, int ranks, size_t *count, size_t *first)
{
    size_t at = 0;

    for (int r = 0; r < ranks; r++) {
        count[r] = tw_blocks_count(blocks, r);
        first[r] = blocks->displacements != NULL ? blocks->displacements[r] : at;
        at += count[r];
    }
}
