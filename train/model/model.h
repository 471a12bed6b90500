/* SPDX-License-Identifier: BSD-3-Clause
 * model/model.h - networks described as data: a list of dense layers.
 */
#ifndef TW_MODEL_MODEL_H
#define TW_MODEL_MODEL_H

#include <stddef.h>

#define TW_MODEL_LAYERS_MAX 8

typedef struct tw_model_layer {
    size_t units;
    float  dropout; /* of the layer's output; the last layer (softmax) has none */
} tw_model_layer_t;

/* Hidden units are logistic, the last layer is a softmax with cross-entropy. Weights start uniform
 * in +-init * sqrt(6 / (inputs + units)), biases at 0. After an update the weights that lead into
 * a unit are scaled back to the length max_norm, if above it (0: never). */
typedef struct tw_model {
    const char      *name, *help;
    size_t           inputs;
    float            input_dropout;
    float            init;
    float            max_norm;
    size_t           layers;
    tw_model_layer_t layer[TW_MODEL_LAYERS_MAX];
} tw_model_t;

/** The model of that name, or NULL. */
const tw_model_t *tw_model_find(const char *name);

/** The index-th model, NULL beyond the last. */
const tw_model_t *tw_model_at(size_t index);

/** Units that go into layer l. */
size_t tw_model_inputs(const tw_model_t *model, size_t l);

/** Weights and biases. */
size_t tw_model_parameters(const tw_model_t *model);

/** "784x1024x1024x10", cut at size - 1 characters. */
void tw_model_shape(const tw_model_t *model, char *text, size_t size);

#endif /* TW_MODEL_MODEL_H */
