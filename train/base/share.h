/* SPDX-License-Identifier: BSD-3-Clause
 * train/base/share.h - division of examples among ranks.
 */
#ifndef TW_TRAIN_SHARE_H
#define TW_TRAIN_SHARE_H

#include <stddef.h>

/** The share of rank r of n rows: contiguous, sizes differ by at most one, the first ranks get the
 * remainder. */
static inline void tw_share(size_t n, int size, int r, size_t *first_p, size_t *count_p)
{
    const size_t ranks = (size_t)size, rank = (size_t)r;
    const size_t each = n / ranks, more = n % ranks;

    *first_p = rank * each + (rank < more ? rank : more);
    *count_p = each + (rank < more);
}

#endif /* TW_TRAIN_SHARE_H */
