/* SPDX-License-Identifier: BSD-3-Clause
 * model/trunk.h - the layers before the first dense one, on this rank's examples.
 *
 * Every rank has the whole trunk and its own examples, maybe none. The trunk is independent of
 * ranks: it calls hooks when a layer's gradients are final and when batch statistics are to be
 * merged. Their order depends only on the network, so it is equal on all ranks.
 *
 * Batch normalisations that do not depend on each other are merged in one call: layers run in
 * network order, but a layer is deferred until another needs it, and the normalisations that are
 * deferred together (such as the two of a projection block) form one step, forward and backward.
 */
#ifndef TW_MODEL_TRUNK_H
#define TW_MODEL_TRUNK_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/compute/backend.h"
#include "train/model/network.h"
#include "train/model/params.h"

typedef struct tw_trunk tw_trunk_t;

/* Hooks of the trunk; each may be NULL. The order of calls is equal on all ranks, with or without
 * examples. */
typedef struct tw_trunk_hooks {
    void *user;

    /* Forward, before a layer reads its parameters, to wait for parameters in flight. Non-zero
     * stops the pass. */
    int (*before)(void *user, size_t layer);

    /* After the work of a layer, forward and backward: to advance exchanges. */
    void (*between)(void *user, size_t layer);

    /* Backward: the layer's gradients (params->gradient) are final, in the order of the backend's
     * work: on a device, for work enqueued later on its stream. Once per layer with parameters, in
     * descending order of layers. */
    void (*ready)(void *user, size_t layer);

    /* Moments and sums are memory of the backend, in the order of its work, on its stream.
     * Merge moments[i] = {count, mean [c], sum of squared deviations [c]}, c = channels[i], of
     * `layers` normalisations over the ranks, in place; count is examples * h * w, 0 on a rank
     * without examples. Non-zero stops the pass. NULL: statistics stay local. */
    int (*moments)(void *user, double *const *moments, const size_t *channels, size_t layers);

    /* Backward: add sums[i] = {sum dy [c], sum dy * xhat [c]} over the ranks, in place, for the
     * same normalisations as in the forward pass. Non-zero stops the pass. NULL if `moments` is. */
    int (*sums)(void *user, double *const *sums, const size_t *channels, size_t layers);
} tw_trunk_hooks_t;

typedef struct tw_trunk_pass {
    size_t          n;          /* examples of this rank, maybe 0                           */
    int             training;   /* dropout, statistics of the batch, running ones updated   */
    uint64_t        seed, step; /* dropout                                                  */
    const uint64_t *examples;   /* [n] global number of each, for dropout; not NULL
                                   where training and the trunk has dropout                 */
    float           less;       /* dropout: share of the layers' rates that is taken off    */
} tw_trunk_pass_t;

/** Create the trunk of a network; params are in memory of the backend. All pointers must outlive
 * it; hooks are copied, NULL: none. Workspace for a number of examples is created on first use.
 * The workspaces of the four most recently used numbers are kept.
 * @return 0, or -1 with the problem written. */
int tw_trunk_create(tw_trunk_t **trunk_p, const tw_network_t *net, tw_backend_t *backend,
                    tw_params_t *params, const tw_trunk_hooks_t *hooks, tw_problem_t *problem);

/** Release it; NULL is allowed. */
void tw_trunk_destroy(tw_trunk_t *trunk);

/** Set other hooks from the next pass on (other statistics after a switch); NULL: none. */
void tw_trunk_set_hooks(tw_trunk_t *trunk, const tw_trunk_hooks_t *hooks);

/** Before the first tw_trunk_input(): keep only outputs that later segments of layers read
 * (trunk_plan.h), and compute the others again in the backward pass, to the same bits. Without
 * hooks but `between`. */
void tw_trunk_set_recompute(tw_trunk_t *trunk, int recompute);

/** The same outputs, not computed again but kept in the codec's bytes from a forward pass in
 * training to the backward pass, which takes what is decoded: NULL: not. Not with recomputation.
 * The codec is of float32 and must outlive the trunk.
 * @return 0, or -1 where no output is one of these: all are of the last segment, or read by another
 * one. */
int tw_trunk_set_storage(tw_trunk_t *trunk, const tw_codec_t *codec);

/** Number of features of an example: c * h * w of the first dense layer's input. */
size_t tw_trunk_features(const tw_trunk_t *trunk);

/** Input buffer for n examples, [n][c][h][w], before a pass of n: memory of the backend; valid
 * until the next call with another n. @return NULL without memory, with the problem written. */
float *tw_trunk_input(tw_trunk_t *trunk, size_t n, tw_problem_t *problem);

/** Run the layers on the examples in tw_trunk_input(trunk, pass->n). In training the running
 * statistics become momentum * old + (1 - momentum) * those of the merged batch, with the unbiased
 * variance M2 / (count - 1); a merged batch without examples leaves them. Evaluation uses them.
 * Does not block: on a device the pass runs later, in the order of the backend's work.
 * @return [n][features] in c, h, w order, memory of the backend, valid until the next pass (the
 *         input itself if the trunk has no layers); NULL if a hook stopped it, which has written
 *         the problem, or with the problem of the device written. */
const float *tw_trunk_forward(tw_trunk_t *trunk, const tw_trunk_pass_t *pass,
                              tw_problem_t *problem);

/** After a forward pass in training: compute the gradients of the trunk's parameters, which are
 * overwritten, from the gradient by the features [n][features], memory of the backend; 0 without
 * examples. Enqueued, as the forward pass.
 * @return 0, or -1 as in tw_trunk_forward(). */
int tw_trunk_backward(tw_trunk_t *trunk, const tw_trunk_pass_t *pass, const float *gfeatures,
                      tw_problem_t *problem);

/** After a forward pass, with the same pass and before parameters change: the name of the first
 * layer with Inf or NaN in its output, "input" for the examples themselves, NULL if all are
 * finite or there is no memory. Runs the pass again, without hooks, and keeps every output. For
 * fault reports. */
const char *tw_trunk_first_nonfinite(tw_trunk_t *trunk, const tw_trunk_pass_t *pass);

/** Number of workspaces created: normally the number of batch sizes. */
uint64_t tw_trunk_graphs(const tw_trunk_t *trunk);

/** Number of calls of `moments` in one forward pass (and of `sums` in one backward pass). */
size_t tw_trunk_exchanges(const tw_trunk_t *trunk);

/** The most normalisations, and the most channels in total, in one of those calls. */
void tw_trunk_exchange_most(const tw_trunk_t *trunk, size_t *layers_p, size_t *channels_p);

#endif /* TW_MODEL_TRUNK_H */
