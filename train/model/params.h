/* SPDX-License-Identifier: BSD-3-Clause
 * model/params.h - all parameters of a network as flat vectors: values, gradients, momentum. They
 * are memory of the backend: the host reads and writes them by tw_params_get() and tw_params_put().
 *
 * Order: layer by layer as in the network, a layer's weights (or gamma) then its biases (or beta).
 * What is equal on all ranks comes first, what is split by output unit after it; since all dense
 * layers come last in a network, this is the order of the layers too. With TW_PARAMS_APART, of what
 * is equal on all ranks all biases and parameters of normalisation come before all weights, and
 * momentum is not kept here.
 *
 * Neighbours can travel as one, so there is no padding between tensors that travel: they are
 * aligned as floats are, which is what cuDNN and cuBLAS demand of float32 (cuDNN's release notes: 4
 * bytes). But with tensor cores cuBLAS wants 16 bytes (its guide, "Tensor Core Usage"). All tensors
 * of common networks have such sizes, but for the last bias and for shares; so the first weight of
 * TW_PARAMS_APART and each split tensor, which do not travel with what is before them, begin at a
 * multiple of TW_PARAMS_ALIGN elements.
 *
 * First values are functions of (seed, layer, global index of the element): any number of ranks
 * draws the same network, and each rank draws only what it holds.
 */
#ifndef TW_MODEL_PARAMS_H
#define TW_MODEL_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "train/compute/backend.h"
#include "train/model/network.h"

#define TW_PARAMS_ALIGN 16

typedef enum tw_param_role {
    TW_WEIGHT, /* conv [out][in][kh][kw]; dense [unit][input], inputs in c, h, w order */
    TW_BIAS,   /* conv [out]; dense [unit]                                             */
    TW_GAMMA,  /* batch normalisation [c]                                              */
    TW_BETA
} tw_param_role_t;

/* One tensor: count = units * per_unit elements from `first` on in the flat vectors. A split
 * tensor holds units units_first .. units_first + units - 1 of units_all, maybe none. */
typedef struct tw_param {
    char            name[48]; /* "conv1.weight" */
    size_t          layer;    /* index in the network */
    tw_param_role_t role;
    size_t          first, count;
    size_t state; /* where its momentum begins; none where TW_PARAMS_APART keeps it elsewhere */
    size_t units_all, units_first, units, per_unit;
    int    split;       /* other ranks hold other units                                         */
    int    ownable;     /* TW_PARAMS_APART applies: not of a dense layer with TW_PARAMS_SPLIT   */
    float  rate, decay; /* multipliers of the run's rate and decay */
} tw_param_t;

/* How parameters are laid out. */
enum {
    TW_PARAMS_SPLIT =
        1,              /* dense layers by output unit: with u = q ranks + r units the first r ranks
                            hold q + 1 of them, the others q. One rank: nothing is split */
    TW_PARAMS_APART = 2 /* weights have owners elsewhere (masters.h), but for those of dense layers
                           with TW_PARAMS_SPLIT, on one rank as on many */
};

/* Running statistics of one batch normalisation: state[first ..]: mean [c], then variance [c]. */
typedef struct tw_param_norm {
    size_t layer, first, channels;
} tw_param_norm_t;

typedef struct tw_params {
    tw_backend_t    *backend;
    int              rank, ranks;
    size_t           count; /* tensors */
    tw_param_t      *param;
    size_t           total;            /* elements of each vector on this rank, gaps included */
    size_t           replicated;       /* elements 0 .. replicated - 1 are equal on all ranks */
    float           *value, *gradient; /* [total], 64-byte aligned, of the backend          */
    float           *momentum;         /* [moments], the same                               */
    size_t           moments;
    float           *extra; /* [2], right before gradient: numbers that may travel with it */
    size_t           norms;
    tw_param_norm_t *norm;
    size_t           states; /* elements of state */
    float           *state;
} tw_params_t;

/** Lay out and allocate the parameters of a network: all zero but the running variances, 1.
 * @param backend  must outlive them
 * @param layout   TW_PARAMS_SPLIT, TW_PARAMS_APART, both or 0.
 * @return 0, or -1 with the problem written and nothing to destroy. */
int tw_params_create(tw_params_t *params, const tw_network_t *net, tw_backend_t *backend, int rank,
                     int ranks, int layout, tw_problem_t *problem);

/** Release what tw_params_create() made; a zeroed one is allowed. */
void tw_params_destroy(tw_params_t *params);

/** Draw the first values as the network says; gradients and momentum 0, running mean 0 and
 * variance 1. Equal bits on every machine: only operations that IEEE rounds correctly.
 * @return 0, or -1 with the problem written, as of all that follow. */
int tw_params_init(tw_params_t *params, const tw_network_t *net, uint64_t seed,
                   tw_problem_t *problem);

/** Running mean 0, variance 1. */
int tw_params_reset_state(tw_params_t *params, tw_problem_t *problem);

/** n floats of params to memory of the host: after all work queued so far, which it waits for. */
int tw_params_get(const tw_params_t *params, float *host, const float *from, size_t n,
                  tw_problem_t *problem);

/** The other way; host may be used again on return. */
int tw_params_put(const tw_params_t *params, float *to, const float *host, size_t n,
                  tw_problem_t *problem);

/** Units that rank r of `ranks` holds of `units` split by output unit.
 * @param [out] first_p  the first of them. */
size_t tw_params_share(size_t units, int rank, int ranks, size_t *first_p);

/** A layer's tensor of that role, or NULL. */
const tw_param_t *tw_params_find(const tw_params_t *params, size_t layer, tw_param_role_t role);

/** A layer's running mean [c] and variance [c] behind it; NULL where it is no normalisation. */
float *tw_params_state(const tw_params_t *params, size_t layer);

/** 64-bit hash of the bits of a layer's values that all ranks hold equally (0 parameters: a hash of
 * nothing; split tensors and running statistics do not count).
 * @param [out] finite_p  0 if a value of the layer on this rank, split ones too, is not finite.
 * @return 0, or -1 with the problem written. */
int tw_params_hash(const tw_params_t *params, size_t layer, uint64_t *hash_p, int *finite_p,
                   tw_problem_t *problem);

#endif /* TW_MODEL_PARAMS_H */
