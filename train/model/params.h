/* SPDX-License-Identifier: BSD-3-Clause
 * model/params.h - all parameters of a network as flat vectors: values, gradients, momentum, in
 * memory of the backend: the host reads and writes them by tw_params_get() and tw_params_put().
 *
 * Order: layer by layer as in the network, a layer's weights (or gamma) then its biases (or beta).
 * Replicated tensors come first, then those split by output unit; since all dense layers come last
 * in a network, this is also the order of the layers. With TW_PARAMS_APART, all replicated biases
 * and parameters of normalisation come before all replicated weights, and momentum is not stored
 * here.
 *
 * Consecutive tensors can be exchanged as one, so there is no padding between exchanged tensors:
 * they are aligned as floats, which suffices for cuDNN and cuBLAS with float32 (cuDNN's release
 * notes: 4 bytes). But with tensor cores cuBLAS needs 16 bytes (its guide, "Tensor Core Usage"). In
 * common networks all tensors except the last bias and shares have such sizes. So the first weight
 * of TW_PARAMS_APART and each split tensor, which are not exchanged with the tensors before them,
 * begin at a multiple of TW_PARAMS_ALIGN elements.
 *
 * Initial values are functions of (seed, layer, global index of the element): the network is equal
 * for any number of ranks, and each rank draws only its own elements.
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
    TW_WEIGHT, /* conv [out][in / groups][kh][kw]; dense [unit][in / groups], inputs in c, h, w
                  order; dense split by input [in][unit], on one rank too, so that what follows of
                  units is of its inputs: the tensor is turned */
    TW_BIAS,   /* conv [out]; dense [unit] */
    TW_GAMMA,  /* batch normalisation [c]  */
    TW_BETA
} tw_param_role_t;

/* One tensor: count = units * per_unit elements from `first` on in the flat vectors. A split
 * tensor holds units units_first .. units_first + units - 1 of units_all, maybe none. */
typedef struct tw_param {
    char            name[48]; /* "conv1.weight" */
    size_t          layer;    /* index in the network */
    tw_param_role_t role;
    size_t          first, count;
    size_t state; /* first element of its momentum; unused if TW_PARAMS_APART applies         */
    size_t units_all, units_first, units, per_unit;
    int    turned;      /* see TW_WEIGHT                                                        */
    int    split;       /* other ranks hold other units                                         */
    int    ownable;     /* TW_PARAMS_APART applies: not of a dense layer with TW_PARAMS_SPLIT   */
    float  rate, decay; /* multipliers of the run's rate and decay */
} tw_param_t;

/* Layout of parameters. */
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

/** Draw the initial values as the network specifies; set gradients and momentum to 0, running mean
 * to 0 and variance to 1. Equal bits on every machine: uses only operations that IEEE rounds
 * correctly.
 * @return 0, or -1 with the problem written; also for all following functions. */
int tw_params_init(tw_params_t *params, const tw_network_t *net, uint64_t seed,
                   tw_problem_t *problem);

/** Running mean 0, variance 1. */
int tw_params_reset_state(tw_params_t *params, tw_problem_t *problem);

/** Copy n floats of params to host memory, after it has waited for all enqueued work. */
int tw_params_get(const tw_params_t *params, float *host, const float *from, size_t n,
                  tw_problem_t *problem);

/** Copy from host memory, which may be reused on return. */
int tw_params_put(const tw_params_t *params, float *to, const float *host, size_t n,
                  tw_problem_t *problem);

/** Number of units of rank r of `ranks` among `units` split by output unit.
 * @param [out] first_p  the first of them. */
size_t tw_params_share(size_t units, int rank, int ranks, size_t *first_p);

/** A layer's tensor of that role, or NULL. */
const tw_param_t *tw_params_find(const tw_params_t *params, size_t layer, tw_param_role_t role);

/** A layer's running mean [c], followed by the variance [c]; NULL if it is no normalisation. */
float *tw_params_state(const tw_params_t *params, size_t layer);

/** 64-bit hash of the bits of a layer's replicated values, or of its split ones (none: a hash of no
 * bytes); without running statistics.
 * @param [out] finite_p  0 if a value of the layer on this rank, split ones too, is not finite.
 * @return 0, or -1 with the problem written. */
int tw_params_hash(const tw_params_t *params, size_t layer, int split, uint64_t *hash_p,
                   int *finite_p, tw_problem_t *problem);

#endif /* TW_MODEL_PARAMS_H */
