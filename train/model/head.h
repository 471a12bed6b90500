/* SPDX-License-Identifier: BSD-3-Clause
 * model/head.h - the dense layers of a network, the dropout between them and the loss, on one rank
 * or split by output unit over the ranks of a communicator (S4, model parallelism).
 *
 * Of every dense layer a rank holds the units of its tensors in tw_params_t (the first ranks get
 * the remainder; a rank may have none). All ranks get the same examples and run the same passes.
 * Inside, activations are [unit][example], so a rank's part of a layer is contiguous:
 *   forward   each layer's outputs are gathered before the next layer (codec act), but not where
 *             that has groups and the number of ranks divides theirs: then no rank needs another's;
 *   loss      softmax: one exchange of each rank's largest output and sum of exponentials, two
 *             floats per example; logistic: none;
 *   backward  the gradients by a layer's inputs, to which every rank contributes a summand, are
 *             reduce-scattered to the ranks that own these units (codec back), while the gradients
 *             of the layer's weights are computed; with such groups they stay where they are.
 * A layer that is split by input holds the weights of the rank's own units of the layer below, for
 * all units (S1, section 1: outputs are added instead of stacked). Nothing is gathered before it:
 * its outputs, to which every rank contributes a summand, are reduce-scattered to the ranks that
 * own these units (act); backward, the gradients by all of them are gathered (back), and those by
 * the units below need no sum.
 * The gradient by the head's input remains this rank's summand.
 */
#ifndef TW_MODEL_HEAD_H
#define TW_MODEL_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include <thinwire/thinwire.h>

#include "command/problem.h"
#include "train/compute/backend.h"
#include "train/model/network.h"
#include "train/model/params.h"

typedef struct tw_head tw_head_t;

typedef struct tw_head_how {
    tw_comm_t        *comm;       /* NULL: not split         */
    const tw_codec_t *act, *back; /* NULL: fp32              */
    tw_trace_t       *trace;      /* NULL: none              */
    /* Called before the forward pass reads a layer's weights, to wait for weights in flight;
     * non-zero stops the pass; NULL: none. */
    int (*before)(void *user, size_t layer);
    /* Called between computations, about every millisecond, or on a device after each product is
     * enqueued, to advance exchanges; NULL: none. */
    void (*between)(void *user);
    /* Called with 1 before the start of or wait for an exchange, and with 0 after it; `between` is
     * not called inside such a pair. To separate communication from computation; NULL: none. */
    void (*exchange)(void *user, int begins);
    /* Called in training when the gradients of a layer of the network are final for this pass, from
     * the last layer to the first, in the order of the backend's work: on a device, for work
     * enqueued later on its stream; NULL: none. */
    void (*ready)(void *user, size_t layer);
    /* Called when a part of the forward or backward work on a layer of the network is complete, or
     * enqueued; NULL: none. */
    void (*worked)(void *user, size_t layer, int backward);
    void *user;
} tw_head_how_t;

/** Create the head of a network: its layers from the first dense one on, with their tensors in
 * params, by params->backend. Codecs, communicator, network and params must outlive it.
 * @param [in] rows_max  most examples of a pass; equal on all ranks.
 * @return 0, or -1: no memory, sizes too large for the products, layers that are not a head, or
 * tensors whose split does not match the communicator. No communication. */
int tw_head_create(tw_head_t **head_p, const tw_network_t *network, tw_params_t *params,
                   const tw_head_how_t *how, size_t rows_max, tw_problem_t *problem);

/** NULL is allowed. */
void tw_head_destroy(tw_head_t *head);

/* One pass. n, training, seed, step, less, scale, accumulate, count, five, view, views and
 * whether gx is NULL must be equal on all ranks, and so must be the contents of x, examples and
 * labels. x, gx and outputs are memory of the backend; examples and labels are host memory that
 * may be reused when the call returns. */
typedef struct tw_head_pass {
    size_t          n;          /* examples; may be 0                                            */
    const float    *x;          /* [n][features], in the order c, h, w                           */
    const uint64_t *examples;   /* [n] global numbers, for dropout; read in training only        */
    const uint32_t *labels;     /* [n], below the number of classes                              */
    int             training;   /* dropout, and gradients                                        */
    uint64_t        seed, step; /* of dropout                                                    */
    float           less;       /* share of the dropout rates that is taken off                  */
    float           scale;      /* of the loss in the gradients: 1 / batch                       */
    int             accumulate; /* add to the gradients in params, else overwrite them           */
    int             count;      /* count wrong examples                                          */
    int             five;       /* with count: also those not among the five largest             */
    float          *gx;         /* [n][features]: this rank's summand of the gradient by x; NULL */
    float          *outputs;    /* [tw_head_outputs()][n]: sums over the views of these examples;
                                   this is pass `view` of `views`; or NULL: one view             */
    size_t          view, views;
} tw_head_pass_t;

/* Among the examples whose label's class a rank owns: those where another class has a greater
 * output, and those where at least five have. Equal outputs do not count; a label with a NaN output
 * is wrong. */
typedef struct tw_head_wrong {
    size_t one;
    size_t five; /* 0 without tw_head_pass_t.five */
} tw_head_wrong_t;

/** Outputs of the last layer that this rank computes. */
size_t tw_head_outputs(const tw_head_t *head);

/** Run forward, loss, and, unless training is 0 and gx is NULL, backward: writes gradients of this
 * rank's weights and biases to params->gradient. Collective over the communicator. Adds loss and
 * wrong examples to sums in the head; those of a failed pass are lost. On a device the work is
 * enqueued, and only exchanges of split layers block.
 *   loss   this rank's share: of the classes that it owns, not scaled. The sum over the ranks is
 *          the sum over the examples. May be infinite or NaN.
 *   wrong  this rank's share, if pass->count. With the logistic loss on several ranks, the count
 *          takes an exchange of one float per example, for which only the count waits; the loss
 *          takes none. pass->five adds four floats per example to the exchange.
 * With several views, loss and wrong examples are computed from the means of the outputs, and only
 * the last pass adds to the sums.
 * @return 0, or -1: a label out of range, the device or an exchange failed (problem->fatal is set
 *         if other ranks may not detect it). */
int tw_head_run(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem);

/** Get and reset the sums of all passes; waits for them.
 * @param [out] wrong_p  may be NULL. @return 0, or -1 with the problem written. */
int tw_head_take(tw_head_t *head, double *loss_p, tw_head_wrong_t *wrong_p, tw_problem_t *problem);

/** The same, written to the elements that are exchanged with the gradients: extra[0] = the loss,
 * extra[1] = wrong examples, in memory of the backend, in the order of its work. */
void tw_head_give(tw_head_t *head, float *extra);

/** After a pass of n examples: the name of the first layer with an output on this rank (for the
 * last layer, a gradient by it) that is not finite; NULL if all are. For fault reports. */
const char *tw_head_first_nonfinite(const tw_head_t *head, size_t n);

/** Dense layers but the last, and the outputs of one after a pass, with dropout where it has some:
 * [*units_p][n] of this rank, in the backend's memory. */
size_t       tw_head_hidden(const tw_head_t *head);
const float *tw_head_hidden_outputs(const tw_head_t *head, size_t l, size_t *units_p);

/** Bytes of its work space in the backend's memory. */
size_t tw_head_memory(const tw_head_t *head);

#endif /* TW_MODEL_HEAD_H */
