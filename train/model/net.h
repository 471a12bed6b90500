/* SPDX-License-Identifier: BSD-3-Clause
 * model/net.h - a network's weights, optimizer state and work space, and one pass over a batch.
 *
 * Data of a layer: weights [in][units], so the weights that lead into a unit are a column, sums
 * over them run down the rows in order, and what a codec calls a block is a run of units of one or
 * a few inputs. The biases of all layers lie in one vector, and behind their gradients stand two
 * more numbers, loss and errors of the batch: they travel between the ranks together.
 */
#ifndef TW_MODEL_NET_H
#define TW_MODEL_NET_H

#include <stddef.h>
#include <stdint.h>

#include "train/compute/kernels.h"
#include "train/model/model.h"

typedef struct tw_layer {
    size_t in, units;
    size_t bias;      /* where its biases begin in the bias vectors            */
    float *w, *m, *g; /* weights, mean squares of RMSProp, gradient            */
    float *y;         /* output after dropout [rows_max][units]                */
    float *d;         /* gradient of the loss by the input of the units; == y in the last layer */
} tw_layer_t;

typedef struct tw_net {
    const tw_model_t   *model;
    const tw_kernels_t *kernels;
    int                 threads;
    size_t              rows_max;
    size_t              layers;
    tw_layer_t          layer[TW_MODEL_LAYERS_MAX];
    size_t              biases;
    float              *b, *bm, *bg; /* biases, mean squares, gradients + loss sum + errors */
    float              *x;           /* input after dropout [rows_max][inputs]              */
    float              *column;      /* scratch, as many as the widest layer has units      */
} tw_net_t;

/* One batch's pass. Dropout depends on (seed, step, first + row, layer, unit). */
typedef struct tw_pass {
    int      training; /* 0: no dropout */
    uint64_t seed, step;
    size_t   first; /* index in the global batch of row 0 */
    size_t   rows;
} tw_pass_t;

/** Allocate a network for batches of at most rows_max rows. @return 0, or -1 without memory. */
int tw_net_create(tw_net_t *net, const tw_model_t *model, const tw_kernels_t *kernels,
                  size_t rows_max, int threads);

/** Release what tw_net_create() made; a zeroed net is allowed. */
void tw_net_destroy(tw_net_t *net);

/** Draw the weights. */
void tw_net_init(tw_net_t *net, uint64_t seed);

/** Set row `row` of the input from pixels 0 .. 255. */
void tw_net_input(tw_net_t *net, const tw_pass_t *pass, size_t row, const uint8_t *pixels);

/** From the input rows to the last layer's sums, before the softmax. */
void tw_net_forward(tw_net_t *net, const tw_pass_t *pass);

/** Turn the last layer's sums into gradients, times scale; labels has one entry per row.
 * Loss and errors are added up in double; outputs may be NULL. */
void tw_net_loss(tw_net_t *net, const tw_pass_t *pass, const uint8_t *labels, float scale,
                 double *loss_p, size_t *wrong_p);

/** The gradients of layer l's weights and biases. */
void tw_net_backward(tw_net_t *net, const tw_pass_t *pass, size_t l);

/** From layer l > 0 to the layer below: the gradient by the input of its units. */
void tw_net_backward_input(tw_net_t *net, const tw_pass_t *pass, size_t l);

/** RMSProp step of layer l's weights, then the bound on the length of each unit's weights. */
void tw_net_update(tw_net_t *net, size_t l, const tw_rmsprop_t *how);

/** RMSProp step of all biases. */
void tw_net_update_biases(tw_net_t *net, const tw_rmsprop_t *how);

/** 64-bit hash of the bits of layer l's weights and biases.
 * @param [out] finite_p  0 if one of them is not finite. */
uint64_t tw_net_hash(const tw_net_t *net, size_t l, int *finite_p);

#endif /* TW_MODEL_NET_H */
