/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/reference_net.h - a whole network in double: the oracle of training.
 *
 * The batch may be given in parts, as ranks would hold it; they go through the layers in step, with
 * the statistics of their normalisations merged (or not), and their gradients added. Vectors have
 * the layout of params.h for one rank.
 */
#ifndef TW_TESTS_REFERENCE_NET_H
#define TW_TESTS_REFERENCE_NET_H

#include "tests/train/reference.h"
#include "train/model/params.h"

typedef struct ref_net {
    const tw_network_t *net;
    tw_backend_t       *backend; /* the processor */
    tw_params_t         layout;  /* where tensors lie, and whatever was last drawn or taken */
    double             *value, *gradient, *momentum; /* [layout.total]  */
    double             *state;                       /* [layout.states] */
} ref_net_t;

/* Examples that one rank would hold, maybe none. */
typedef struct ref_part {
    size_t          n;
    const double   *images;   /* [n][c][h][w] */
    const uint64_t *examples; /* [n]          */
    const uint32_t *labels;   /* [n]          */
    /* Made by ref_part_create(): [layers] each, by layer. */
    double **y, **dy;         /* outputs, and gradients by them */
    double **moments, **sums; /* of normalisations           */
    double  *gimages;         /* the gradient by the images: only wanted by tests */
} ref_part_t;

typedef struct ref_how {
    int      training;
    uint64_t seed, step;
    int      local; /* normalise each part by itself        */
    double   scale; /* of the loss's gradient: 1 / examples */
} ref_how_t;

/* All abort without memory. */
void ref_net_create(ref_net_t *ref, const tw_network_t *net);
void ref_net_destroy(ref_net_t *ref);

/* Draw as tw_params_init(), or take over values and running statistics of unsplit parameters. */
void ref_net_init(ref_net_t *ref, uint64_t seed);
void ref_net_take(ref_net_t *ref, const tw_params_t *params);

void ref_part_create(const ref_net_t *ref, ref_part_t *part);
void ref_part_destroy(const ref_net_t *ref, ref_part_t *part);

/* Forward: fills y and moments. Returns the sum of the examples' losses, and the gradients by the
 * last layer in dy. In training the running statistics follow, those of part 0 if local. */
double ref_net_forward(ref_net_t *ref, ref_part_t *parts, size_t count, const ref_how_t *how);

/* After it: fills dy of all layers, sums and ref->gradient. */
void ref_net_backward(ref_net_t *ref, ref_part_t *parts, size_t count, const ref_how_t *how);

/* v = momentum v + rate (g + decay w); w = w - v, with the multipliers of each tensor. */
void ref_net_update(ref_net_t *ref, double rate, double momentum, double decay);

#endif /* TW_TESTS_REFERENCE_NET_H */
