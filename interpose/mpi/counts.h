/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/counts.h - how many items each rank has in a call: of a v-form, or the same for
 * all.
 */
#ifndef TW_INTERPOSE_COUNTS_H
#define TW_INTERPOSE_COUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct tw_counts {
    int        ranks;
    const int *each; /* NULL: `all` */
    int        all;
} tw_counts_t;

static inline size_t tw_counts_at(const tw_counts_t *counts, int r)
{
    return (size_t)(counts->each != NULL ? counts->each[r] : counts->all);
}

/* Items of all ranks together, and the most of one; false where a count is negative. */
static inline bool tw_counts_look(const tw_counts_t *counts, size_t *sum_p, size_t *most_p)
{
    *sum_p = *most_p = 0;
    for (int r = 0; r < counts->ranks; r++) {
        const size_t n = tw_counts_at(counts, r);

        if (n > INT_MAX) {
            return false;
        }
        *sum_p += n;
        *most_p = n > *most_p ? n : *most_p;
    }
    return true;
}

#endif /* TW_INTERPOSE_COUNTS_H */
