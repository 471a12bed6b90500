/* SPDX-License-Identifier: BSD-3-Clause
 * model/head_inside.h - shared declarations of the head's sources; only these include it.
 */
#ifndef TW_MODEL_HEAD_INSIDE_H
#define TW_MODEL_HEAD_INSIDE_H

#include "train/compute/dense.h"
#include "train/model/head.h"
#include "train/model/params.h"

/* A dense layer and the dropouts after it. Activations are [unit][example]. With groups, unit u has
 * weights for the inputs of its group alone, fan of them; inputs as rows of examples then lie group
 * by group: [group][n][fan]. */
typedef struct tw_head_layer {
    const tw_network_layer_t *dense, *drop; /* drop[0 .. drops - 1] */
    size_t                    drops;
    size_t                    in, units_all;
    size_t                    groups, fan;     /* fan: in / groups */
    int                       by_input;        /* w is [units below of this rank][units_all] */
    size_t                    weights;         /* of this rank */
    size_t                    first, units;    /* of this rank */
    float                    *w, *b, *gw, *gb; /* b, gb NULL: no bias */
    const size_t             *shares;          /* [ranks] units of each rank */
    float                    *y;    /* this rank's outputs; last layer: then their gradients */
    float                    *all;  /* outputs of all ranks; equal to y if not split */
    float                    *rows; /* the same as rows of examples, for few examples */
} tw_head_layer_t;

struct tw_head {
    tw_head_how_t             how;
    tw_comm_t                *comm; /* NULL: not split */
    int                       ranks;
    tw_backend_t             *backend;
    const tw_network_t       *network;
    tw_dense_t               *dense;
    const tw_dense_ops_t     *ops; /* dense->ops */
    size_t                    rows_max, features;
    size_t                    layers;
    tw_head_layer_t          *layer;
    const tw_network_layer_t *drop; /* dropouts before the first dense layer */
    size_t                    drops;
    size_t                   *shares; /* [layers][ranks] */
    size_t                   *counts; /* [ranks] elements of the current exchange */
    /* The following pointers except the requests are memory of the backend. */
    float           *x; /* [rows_max][features] after dropout; NULL: no dropout */
    float           *grouped, *grouped_gradient; /* as much, group by group; NULL: one group */
    float           *gradient[2];    /* by this rank's outputs of a layer, and of the one below */
    float           *sum, *sum_rows; /* this rank's summand of the gradient by a layer's inputs */
    float           *all;            /* all ranks' data for the loss: [ranks][loss.shared] */
    uint32_t        *labels;         /* of the current pass: [rows_max] */
    uint64_t        *examples;       /* [rows_max] */
    tw_dense_loss_t  loss;           /* of the current pass */
    tw_dense_sums_t *sums;           /* of all passes since the last reset */
    tw_request_t    *moving;         /* exchange of activations or gradients */
    tw_request_t    *shared;         /* exchange of the loss */
    int64_t          moving_span, shared_span; /* of the trace */
    size_t           bytes;
    tw_problem_t     refused; /* why an allocation of the backend failed */
};

/* ---- head_exchange.c: all return 0, or -1 with the problem written -------------------------- */

/** Gather all ranks' outputs of a layer, of which this rank's own are enough where the next layer's
 * groups are divided as the ranks are: then nothing is sent, here and in tw_head_scatter(). */
int tw_head_gather(tw_head_t *head, const tw_head_layer_t *layer, size_t n, tw_problem_t *problem);

/** Sum the ranks' summands of the gradient by a layer's outputs; `own` has the sums for this rank's
 * units after tw_head_scatter_wait(). */
int tw_head_scatter(tw_head_t *head, const tw_head_layer_t *layer, size_t n, const float *sum,
                    float *own, tw_problem_t *problem);
int tw_head_scatter_wait(tw_head_t *head, const tw_head_layer_t *layer, tw_problem_t *problem);

/** The same of a layer that is split by input, the other way about: layer->y = the sum of the
 * ranks' summands of all outputs, for this rank's units; layer->all = the gradients d by all ranks'
 * outputs. They are there on return. */
int tw_head_add(tw_head_t *head, const tw_head_layer_t *layer, size_t n, const float *sum,
                tw_problem_t *problem);
int tw_head_spread(tw_head_t *head, const tw_head_layer_t *layer, size_t n, const float *d,
                   tw_problem_t *problem);

/** Gather head->loss.mine of all ranks into head->all, valid after tw_head_share_wait(). */
int tw_head_share(tw_head_t *head, tw_problem_t *problem);
int tw_head_share_wait(tw_head_t *head, tw_problem_t *problem);

/** After a failure: complete the exchanges in flight, ignoring their errors. */
void tw_head_abandon(tw_head_t *head);

/* ---- head_product.c ------------------------------------------------------------------------- */

/** The products of product.h with this rank's units of a layer, for its n examples: y = w x; e =
 * this rank's summand of the gradient by all inputs; gw = or += d x. */
void tw_head_forward(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                     const float *x);
void tw_head_backward(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                      const float *d, float *e);
void tw_head_gradient(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                      const float *d, const float *x, int add);

/** The same of a layer that is split by input, whose inputs are the own units of the layer below:
 * sum = this rank's summand of all its outputs; below = the gradients by these inputs, of those by
 * all outputs, d on one rank, else layer->all; gw = or += after that. rows: in layer->rows. */
void tw_head_added_forward(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                           float *sum);
void tw_head_added_backward(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                            const float *d, float *below);
void tw_head_added_gradient(const tw_head_t *head, const tw_head_layer_t *layer, size_t n, int rows,
                            const float *d, int add);

/** A layer's inputs [in][n] as rows of examples, group by group; back: the other way. */
void tw_head_turn(const tw_head_t *head, const tw_head_layer_t *layer, float *to, const float *from,
                  size_t n, int back);

/** The first layer's inputs x [n][in] group by group: grouped = x; back: x = grouped.
 * @return 0, or -1 with the problem written. */
int tw_head_regroup(const tw_head_t *head, float *grouped, float *x, size_t n, int back,
                    tw_problem_t *problem);

/* ---- head_loss.c ---------------------------------------------------------------------------- */

/** Compute the loss from the last layer's outputs, and with backward the gradients by them, in
 * place. If wrong examples are counted, start the exchange for that unless the loss has done so. */
int tw_head_loss(tw_head_t *head, const tw_head_pass_t *pass, int backward, tw_problem_t *problem);

/** Count the wrong examples whose label this rank owns; after tw_head_loss(). */
int tw_head_wrong(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem);

#endif /* TW_MODEL_HEAD_INSIDE_H */
