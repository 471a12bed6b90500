/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk_plan.h - the order of the trunk's layers, and the batch normalisations that are
 * merged over the ranks together.
 *
 * The plan is built from the end: a layer is free when all its readers are placed. Free layers are
 * placed by descending index; normalisations are placed only when nothing else is free, all of them
 * as one step. Backward runs the steps in the order of placement, forward in reverse. The plan
 * depends only on the network.
 *
 * For recomputation of outputs in the backward pass (Chen et al. 2016, "Training Deep Nets with
 * Sublinear Memory Cost"; S3 names it as related work), the steps form about as many segments as
 * the root of their number, with outputs of about equal size, that end where one output is read
 * behind them.
 */
#ifndef TW_MODEL_TRUNK_PLAN_H
#define TW_MODEL_TRUNK_PLAN_H

#include <stddef.h>

#include "command/problem.h"
#include "train/model/network.h"

/* order[first .. first + count - 1] run as one step: a single layer, or normalisations by ascending
 * index. */
typedef struct tw_trunk_step {
    size_t first, count;
    int    norms;
} tw_trunk_step_t;

typedef struct tw_trunk_plan {
    size_t           layers;
    int              output; /* layer that outputs the features; -1: image   */
    size_t          *order;  /* [layers], forward                            */
    size_t           steps;
    tw_trunk_step_t *step;     /* forward                                          */
    unsigned char   *backward; /* [layers] the layer or one before it has parameters */
    int             *segment;  /* [layers] for recomputation, from 0 on            */
    unsigned char   *kept;     /* [layers] another segment reads the output        */
    int              segments;
    size_t           exchanges;  /* steps of normalisations                          */
    size_t           norms_most; /* normalisations in the largest of them            */
} tw_trunk_plan_t;

/** Plan the layers before net->first_dense.
 * @return 0, or -1 with the problem written and nothing to destroy. */
int tw_trunk_plan_create(tw_trunk_plan_t *plan, const tw_network_t *net, tw_problem_t *problem);

/** Release it; a zeroed plan is allowed. */
void tw_trunk_plan_destroy(tw_trunk_plan_t *plan);

/** Does layer l have parameters? */
static inline int tw_trunk_has_params(const tw_network_t *net, size_t l)
{
    return tw_network_weights(net, l) + tw_network_biases(net, l) > 0;
}

#endif /* TW_MODEL_TRUNK_PLAN_H */
