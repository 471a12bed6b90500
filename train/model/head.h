/* SPDX-License-Identifier: BSD-3-Clause
 * model/head.h - the dense layers of a network, the dropout between them and the loss, on one rank
 * or split by output unit over the ranks of a communicator (S4, model parallelism).
 *
 * Of every dense layer a rank holds the units that its tensors in tw_params_t say (the first ranks
 * take the remainder; there may be none). All ranks are given the same examples and run the same
 * passes. Inside, activations are [unit][example], so what a rank computes of a layer is one
 * contiguous piece of the whole:
 *   forward   each layer's outputs are gathered before the next layer (codec act);
 *   loss      softmax: one exchange of each rank's largest output and sum of exponentials, two
 *             floats per example; logistic: none;
 *   backward  the gradients by a layer's inputs, to which every rank contributes a summand, are
 *             added and scattered to the ranks that own these units (codec back), while the
 *             gradients of the layer's weights are computed.
 * The gradient by the head's own input is left as this rank's summand.
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
    /* Called before a layer of the network reads its weights, forward, where these are still on
     * their way; non-zero stops the pass; NULL: none. */
    int (*before)(void *user, size_t layer);
    /* Called between computations, about every millisecond, or on a device after each product is
     * queued, to advance what travels; NULL: none. */
    void (*between)(void *user);
    /* Called with 1 before an exchange is started or waited for, and with 0 after, in pairs that
     * `between` does not fall into: to tell communication from computation; NULL: none. */
    void (*exchange)(void *user, int begins);
    /* Called in training when the gradients of the network's layer are final for this pass, from
     * the last layer to the first, in the order of the backend's work: on a device by what comes
     * next on its stream; NULL: none. */
    void (*ready)(void *user, size_t layer);
    /* Called when a part of the work on the network's layer is done, or queued: forward, or in its
     * backward pass; NULL: none. */
    void (*worked)(void *user, size_t layer, int backward);
    void *user;
} tw_head_how_t;

/** The head of a network: its layers from the first dense one on, of which it reads and writes the
 * tensors in params, by params->backend. Codecs, communicator, network and params must outlive it.
 * @param [in] rows_max  most examples of a pass; the same on all ranks.
 * @return 0, or -1: no memory, sizes beyond what the products take, layers that are no head, or
 * tensors that are not split as the communicator is. Sends nothing. */
int tw_head_create(tw_head_t **head_p, const tw_network_t *network, tw_params_t *params,
                   const tw_head_how_t *how, size_t rows_max, tw_problem_t *problem);

/** NULL is allowed. */
void tw_head_destroy(tw_head_t *head);

/* One pass. n, training, seed, step, scale, accumulate, count, five, view, views and whether gx is
 * NULL must be equal on all ranks, and so must be the contents of x, examples and labels. x, gx and
 * outputs are the backend's memory; examples and labels are the host's, and may be used again when
 * the call returns. */
typedef struct tw_head_pass {
    size_t          n;          /* examples; may be 0                                            */
    const float    *x;          /* [n][features], in the order c, h, w                           */
    const uint64_t *examples;   /* [n] global numbers, for dropout; read in training only        */
    const uint32_t *labels;     /* [n], below the number of classes                              */
    int             training;   /* dropout, and gradients                                        */
    uint64_t        seed, step; /* of dropout                                                    */
    float           scale;      /* of the loss in the gradients: 1 / batch                       */
    int             accumulate; /* add to the gradients in params, else overwrite them           */
    int             count;      /* wrong examples are counted                                    */
    int             five;       /* if they are: those by the five largest, too                   */
    float          *gx;         /* [n][features]: own summand of the gradient by x; or NULL      */
    float          *outputs;    /* [tw_head_outputs()][n]: sums over the views of these examples,
                                   of which this is pass `view` of `views`; or NULL: one view    */
    size_t          view, views;
} tw_head_pass_t;

/* Of the examples whose label's class a rank owns: those where another class is greater, and those
 * where at least five are. Equal outputs do not count, and a label whose output is NaN is wrong. */
typedef struct tw_head_wrong {
    size_t one;
    size_t five; /* 0 unless the pass asks for it */
} tw_head_wrong_t;

/** Outputs of the last layer that this rank computes. */
size_t tw_head_outputs(const tw_head_t *head);

/** Forward, loss, and unless training is 0 and gx is NULL backward: gradients of this rank's
 * weights and biases into params->gradient. Collective over the communicator. Loss and wrong
 * examples are added to sums that the head keeps; those of a pass that failed are lost. On a device
 * the work is queued, and only exchanges of split layers are waited for.
 *   loss   this rank's share: of the classes that it owns, not scaled. The sum over the ranks is
 *          the sum over the examples. Infinite or NaN as it is.
 *   wrong  this rank's share, if pass->count. With the logistic loss on several ranks, counting
 *          takes an exchange of one float per example that nothing else waits for; the loss itself
 *          takes none. pass->five adds four floats per example to the exchange.
 * Of several views, loss and wrong examples are of the means of the outputs, and only the last pass
 * adds to them.
 * @return 0, or -1: a label out of range, the device or an exchange failed (problem->fatal is set
 *         where other ranks may not know). */
int tw_head_run(tw_head_t *head, const tw_head_pass_t *pass, tw_problem_t *problem);

/** The sums of all passes since they were last taken or given; waits for them.
 * @param [out] wrong_p  NULL: not wanted. @return 0, or -1 with the problem written. */
int tw_head_take(tw_head_t *head, double *loss_p, tw_head_wrong_t *wrong_p, tw_problem_t *problem);

/** The same, as what travels with the gradients: extra[0] = the loss, extra[1] = wrong examples, in
 * the backend's memory, in the order of its work. */
void tw_head_give(tw_head_t *head, float *extra);

/** After a pass of n examples: the name of the first layer of whose own outputs (of the last layer,
 * the gradients by them) one is not finite; NULL if all are. For the report of a fault. */
const char *tw_head_first_nonfinite(const tw_head_t *head, size_t n);

/** Bytes of its work space in the backend's memory. */
size_t tw_head_memory(const tw_head_t *head);

#endif /* TW_MODEL_HEAD_H */
