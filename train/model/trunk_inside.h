/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk_inside.h - shared declarations of the trunk.
 */
#ifndef TW_MODEL_TRUNK_INSIDE_H
#define TW_MODEL_TRUNK_INSIDE_H

#include "train/model/trunk.h"
#include "train/model/trunk_graph.h"
#include "train/model/trunk_plan.h"

enum { TW_TRUNK_GRAPHS = 4 }; /* whole and last batches, of training and of test */

/* State of a normalisation between the phases of a pass, in memory of the backend. */
typedef struct tw_trunk_norm {
    double *moments; /* [1 + 2 c] count, mean, M2, merged */
    double *sums;    /* [2 c]                             */
} tw_trunk_norm_t;

struct tw_trunk {
    const tw_network_t *net;
    tw_backend_t       *backend;
    tw_params_t        *params;
    tw_trunk_hooks_t    hooks;
    tw_trunk_plan_t     plan;
    int                 recompute;
    const tw_codec_t   *storage; /* NULL: values are kept as they are */
    size_t              features;
    size_t              elements; /* of the trunk's parameters          */
    tw_trunk_graph_t    graph[TW_TRUNK_GRAPHS];
    uint64_t            clock;
    uint64_t            made;  /* graphs created */
    float              *plain; /* the input of a trunk without layers, [plain_n][features] */
    size_t              plain_n;
    double             *statistics; /* memory of norm                                          */
    tw_trunk_norm_t    *norm;       /* [layers], of normalisations only                         */
    double            **together;   /* [norms of a step] for the hooks                         */
    size_t             *channels;
};

/* The graph for n examples, if there is one. */
tw_trunk_graph_t *tw_trunk_find_graph(tw_trunk_t *trunk, size_t n);

/* Non-NULL pointer for zero examples. */
extern float tw_trunk_nothing[1];

/* The parameters of a pass for operations. */
static inline tw_op_pass_t tw_trunk_op_pass(const tw_trunk_pass_t *pass)
{
    return (tw_op_pass_t){.training = pass->training,
                          .seed     = pass->seed,
                          .step     = pass->step,
                          .less     = pass->less,
                          .examples = pass->examples};
}

/* Set the running statistics of a normalisation. */
static inline void tw_trunk_use_running(const tw_trunk_t *trunk, tw_op_t *op, size_t l)
{
    const float *mean = tw_params_state(trunk->params, l);

    tw_op_norm_fixed(op, mean, mean + trunk->net->layer[l].out.c);
}

#endif /* TW_MODEL_TRUNK_INSIDE_H */
