/* SPDX-License-Identifier: BSD-3-Clause
 * model/kinds.h - the kinds of layers, a row each: the part of a model file, of shapes and of
 * parameters. The part of a backend is in compute/layers.c and in the backend's class.
 */
#ifndef TW_MODEL_KINDS_H
#define TW_MODEL_KINDS_H

#include "train/model/network_keys.h"

typedef struct tw_kind_row {
    const char *article;    /* "a", "an": of its name in messages */
    int         multiplies; /* an operation of its weights for each position of the output */
    /* Set the defaults that differ from other kinds; NULL: none do. */
    void (*begin)(tw_network_layer_t *layer);
    /* Check the keys of a group together. @return 0, or -1 with the problem set. */
    int (*finish)(const tw_reader_t *reader, const config_setting_t *group,
                  tw_network_layer_t *layer);
    /* Compute layer l's output shape from that of its input. @return 0, or -1 likewise. */
    int (*shape)(tw_network_t *net, size_t l, tw_problem_t *problem);
    /* Parameters; NULL: no weights; biases for each channel of the output if layer->bias. */
    size_t (*weights)(const tw_network_layer_t *layer);
    size_t (*biases)(const tw_network_layer_t *layer);
} tw_kind_row_t;

const tw_kind_row_t *tw_kind_row(tw_layer_kind_t kind);

/** A layer of a kind before its keys are read, in this line of the file, of the output of layer
 * `before` (-1: the image). */
tw_network_layer_t tw_kind_layer(tw_layer_kind_t kind, int line, int before);

#endif /* TW_MODEL_KINDS_H */
