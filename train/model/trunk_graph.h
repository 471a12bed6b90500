/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk_graph.h - the trunk as operations of a backend, for a fixed number of examples.
 */
#ifndef TW_MODEL_TRUNK_GRAPH_H
#define TW_MODEL_TRUNK_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "train/compute/backend.h"
#include "train/model/params.h"
#include "train/model/trunk.h"
#include "train/model/trunk_plan.h"

typedef struct tw_trunk_graph {
    size_t        n;    /* examples                                         */
    uint64_t      used; /* last use, by the trunk's clock                   */
    tw_graph_t   *graph;
    float        *input;  /* [n][c][h][w]                                   */
    tw_tensor_t **tensor; /* [layers] outputs                              */
    tw_op_t     **op;     /* [layers]                                       */
    tw_op_t      *out_op; /* the features in the plain layout               */
    const float  *features;
    float        *gradient; /* by the features                              */
    const float **value;    /* [layers] plain outputs, with `values`        */
    tw_op_t     **value_op;
} tw_trunk_graph_t;

/** Build the plan's layers for n >= 1 examples.
 * @param values  keep every layer's output in the plain layout too: g->value[l] after
 *                tw_op_forward(g->value_op[l])
 * @param recompute  outputs that only their own segment reads share memory with those of others
 * @return 0, or -1 with the problem written and nothing to destroy. */
int tw_trunk_graph_create(tw_trunk_graph_t *g, const tw_trunk_plan_t *plan, const tw_network_t *net,
                          tw_backend_t *backend, const tw_params_t *params, size_t n, int values,
                          int recompute, tw_problem_t *problem);

/** Release it; a zeroed one is allowed. */
void tw_trunk_graph_destroy(tw_trunk_graph_t *g);

#endif /* TW_MODEL_TRUNK_GRAPH_H */
