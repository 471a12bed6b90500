/* SPDX-License-Identifier: BSD-3-Clause
 * train/step/division.h - assignment of examples to ranks for the dense layers: one tw_hybrid_t per
 * size of a global batch, created on first use of that size.
 */
#ifndef TW_TRAIN_DIVISION_H
#define TW_TRAIN_DIVISION_H

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "scaling/scheme.h"
#include "train/codecs.h"
#include "train/step/split.h"

enum { TW_DIVISIONS = 4 }; /* whole and last batches, of training and of test */

typedef struct tw_division_set {
    const tw_split_t  *parts;
    const scheme_t    *scheme; /* between the ranks of a group */
    size_t             features;
    const tw_codecs_t *codecs;
    tw_exec_t          exec;
    tw_trace_t        *trace;
    struct {
        size_t       n; /* examples of all ranks together */
        uint64_t     used;
        tw_hybrid_t *hybrid;
    } at[TW_DIVISIONS];
    uint64_t clock;
} tw_division_set_t;

/** The division of a batch of n examples over the ranks, each with its tw_share(), for the caller's
 * group of ranks. Collective over the group if it is created. @return NULL with the problem set.
 * Owned by the set. */
tw_hybrid_t *tw_division_of(tw_division_set_t *set, size_t n, tw_problem_t *problem);

/** Bytes of memory of the largest division. */
size_t tw_division_memory(const tw_division_set_t *set);

/** A zeroed set is allowed. */
void tw_division_destroy(tw_division_set_t *set);

#endif /* TW_TRAIN_DIVISION_H */
