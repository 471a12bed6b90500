/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/counts.h - how many items each rank has in a call: of a v-form, or the same for
 * all; and where they lie in a buffer.
 */
#ifndef TW_INTERPOSE_COUNTS_H
#define TW_INTERPOSE_COUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "interpose/mpi/types.h"

typedef struct tw_counts {
    int        ranks;
    const int *each; /* NULL: `all` */
    int        all;
    const int *displs; /* first items, of a v-form; NULL: `all` apart */
} tw_counts_t;

static inline size_t tw_counts_at(const tw_counts_t *counts, int r)
{
    return (size_t)(counts->each != NULL ? counts->each[r] : counts->all);
}

static inline MPI_Aint tw_counts_first(const tw_counts_t *counts, int r)
{
    return counts->displs != NULL ? counts->displs[r] : (MPI_Aint)r * counts->all;
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

/* Where the first rank that has items has them: displacements may lead there from anywhere. NULL:
 * there are none. */
static inline void *tw_counts_data(const tw_counts_t *counts, const tw_type_t *type,
                                   const void *buffer)
{
    for (int r = 0; r < counts->ranks; r++) {
        if (tw_counts_at(counts, r) > 0) {
            return tw_type_at(type, buffer, tw_counts_first(counts, r));
        }
    }
    return NULL;
}

#endif /* TW_INTERPOSE_COUNTS_H */
