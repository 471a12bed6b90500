/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk_plan.h - in which order the trunk's layers run, and which batch normalisations are
 * merged over the ranks together.
 *
 * The plan is made from the end: a layer is free when all that read it are placed, free layers are
 * placed by falling index, and normalisations only when nothing else is free, all of them as one
 * step. Backward goes through the steps as they were placed, forward the other way round. It
 * follows from the network alone.
 */
#ifndef TW_MODEL_TRUNK_PLAN_H
#define TW_MODEL_TRUNK_PLAN_H

#include <stddef.h>

#include "command/problem.h"
#include "train/model/network.h"

/* order[first .. first + count - 1] run as one: a single layer, or normalisations, by rising index.
 */
typedef struct tw_trunk_step {
    size_t first, count;
    int    norms;
} tw_trunk_step_t;

typedef struct tw_trunk_plan {
    size_t           layers;
    int              output; /* layer that gives the features; -1: the image */
    size_t          *order;  /* [layers], forward                            */
    size_t           steps;
    tw_trunk_step_t *step;       /* forward                                          */
    unsigned char   *backward;   /* [layers] it or a layer before it has parameters  */
    size_t           exchanges;  /* steps of normalisations                          */
    size_t           norms_most; /* normalisations in the largest of them            */
} tw_trunk_plan_t;

/** Plan the layers before net->first_dense.
 * @return 0, or -1 with the problem written and nothing to destroy. */
int tw_trunk_plan_create(tw_trunk_plan_t *plan, const tw_network_t *net, tw_problem_t *problem);

/** Release it; a zeroed plan is allowed. */
void tw_trunk_plan_destroy(tw_trunk_plan_t *plan);

/** Whether layer l has parameters. */
static inline int tw_trunk_has_params(const tw_network_t *net, size_t l)
{
    return tw_network_weights(net, l) + tw_network_biases(net, l) > 0;
}

#endif /* TW_MODEL_TRUNK_PLAN_H */
