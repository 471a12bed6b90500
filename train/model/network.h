/* SPDX-License-Identifier: BSD-3-Clause
 * model/network.h - a network as read from a model file: layers with checked shapes, and
 * hyper-parameters. No weights: see params.h. thinwire-model(5) describes the file format.
 *
 * Each layer comes after its inputs, and the last one outputs the classes. The network has two
 * parts: the trunk, layers 0 .. first_dense - 1, and the head, a chain of dense and dropout layers
 * to the end. Dropouts directly before the first dense layer belong to the head, so a network of
 * only dense layers has no trunk.
 */
#ifndef TW_MODEL_NETWORK_H
#define TW_MODEL_NETWORK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "command/problem.h"
#include "train/base/shape.h"

/* Limits of a file. */
#define TW_NETWORK_LAYERS_MAX   1024u
#define TW_NETWORK_DROPOUTS_MAX 64u
#define TW_LAYER_INPUTS         8u /* most inputs of a layer */
/* Accepted learning rates, in model files and as an option. */
#define TW_RATE_LEAST       1e-12
#define TW_RATE_MOST        1000.0
#define TW_NETWORK_TEXT_MAX ((size_t)1 << 20) /* bytes */

/* The kinds of layers and their names in model files: of a trunk, and all. model/kinds.c has a row
 * for each, compute/layers.c one for each of a trunk, and backends have classes of these names. */
#define TW_TRUNK_KINDS(X)                                                                          \
    X(CONV, conv)                                                                                  \
    X(POOL, pool)                                                                                  \
    X(ACTIVATION, activation)                                                                      \
    X(LRN, lrn)       /* local response normalisation across channels */                           \
    X(NORM, norm)     /* batch normalisation */                                                    \
    X(ADD, add)       /* of two layers: the end of a residual block */                             \
    X(CONCAT, concat) /* channels of several layers: the end of an inception module */             \
    X(DROPOUT, dropout)
#define TW_KINDS(X) TW_TRUNK_KINDS(X) X(DENSE, dense)

#define TW_KIND(kind, name) TW_##kind,
typedef enum tw_layer_kind { TW_KINDS(TW_KIND) } tw_layer_kind_t;
#undef TW_KIND
#define TW_KIND(kind, name) +1
enum { TW_LAYER_KINDS = TW_KINDS(TW_KIND) };
#undef TW_KIND

typedef enum tw_activation { TW_LINEAR, TW_RELU, TW_LOGISTIC } tw_activation_t;
typedef enum tw_pooling { TW_POOL_MAX, TW_POOL_AVERAGE } tw_pooling_t;
typedef enum tw_loss { TW_LOSS_SOFTMAX, TW_LOSS_LOGISTIC } tw_loss_t;
typedef enum tw_optimizer { TW_SGD, TW_RMSPROP } tw_optimizer_t;

/* fan_in: numbers that go into a unit (conv: in.c * kernel), fan_out: units that a number goes
 * into (conv: out.c * kernel; dense: units). */
typedef enum tw_init_how {
    TW_INIT_ZERO,
    TW_INIT_CONSTANT,       /* value                                                        */
    TW_INIT_GAUSSIAN,       /* standard deviation value                                     */
    TW_INIT_TRUNCATED,      /* the same, drawn again beyond two standard deviations         */
    TW_INIT_UNIFORM_GLOROT, /* uniform in +-value * sqrt(6 / (fan_in + fan_out))            */
    TW_INIT_GAUSSIAN_HE     /* standard deviation value * sqrt(2 / fan_in)                  */
} tw_init_how_t;

typedef struct tw_init {
    tw_init_how_t how;
    float         value;
} tw_init_t;

typedef struct tw_network_layer {
    tw_layer_kind_t kind;
    char            name[32];
    int             line; /* of the file                                                     */
    /* Layers, -1: the image, -2: none. At least one; add has two, concat more than one. */
    int             input[TW_LAYER_INPUTS];
    tw_shape_t      in, out;   /* in: of input[0]; out of dense: {units, 1, 1}                    */
    size_t          kernel[2]; /* conv, pool: height, width; pool with global: the whole image    */
    size_t          stride[2]; /* conv, pool; add: input[1] is taken at every stride-th position  */
    size_t          pad[2];    /* conv, pool: zeros (max: nothing) on each side                   */
    int             global;    /* pool: kernel follows the image                                  */
    int             ceil;      /* pool: round the output size up                                  */
    int             count_pad; /* average pool: zeros of the border count                         */
    size_t          groups;    /* conv, dense: each is connected to its own inputs alone; else 1  */
    int             by_input;  /* dense: where it is split, its inputs are divided, not its units */
    int             bias;      /* conv, dense: has one                                            */
    tw_activation_t activation; /* conv, norm, add, dense: fused; the last layer: linear     */
    tw_pooling_t    pooling;
    /* lrn: y = x / (k + scale * sum over size channels of x^2)^power; scale is not divided. */
    size_t    lrn_size;
    float     lrn_scale, lrn_power, lrn_k;
    float     epsilon;          /* norm: added to the variance                               */
    float     momentum;         /* norm: running = momentum * running + (1 - momentum) * batch */
    float     rate;             /* dropout: share that is set to 0                           */
    size_t    drop;             /* dropout: its number among the dropouts, from 0            */
    tw_init_t w_init, b_init;   /* norm: gamma and beta                                      */
    float     w_rate, b_rate;   /* multipliers of the learning rate                          */
    float     w_decay, b_decay; /* multipliers of the weight decay                           */
    char      codec[64];        /* conv, dense: of the gradient of the weights; "": the run's */
} tw_network_layer_t;

typedef struct tw_network {
    char                name[64];
    char                help[128];   /* one line about it, or ""                             */
    char                source[256]; /* file, or "built in"                                  */
    tw_shape_t          input;
    size_t              classes; /* at least 2: units of the last layer                      */
    tw_loss_t           loss;
    size_t              layers, first_dense;
    tw_network_layer_t *layer;
    /* Hyper-parameters; the command line may name others. */
    tw_optimizer_t optimizer;
    double         rate, momentum, decay;
    double         rms_decay;
    double         max_norm; /* most length of the weights into a dense unit, 0: any         */
    uint64_t       batch, epochs;
    char           schedule[128]; /* of the rate, see train/model/schedule.h; "": constant        */
    char           dropout_schedule[128]; /* of the rates of all dropouts */
    size_t         crop_pad;    /* images are cropped from ones with this border; 0: not    */
    int            mirror;      /* every second image is mirrored                           */
    float          mean, scale; /* x = (pixel - mean) * scale, pixels 0 .. 255              */
    char augment[512], augment_test[512]; /* operations on images; "": by the four above */
} tw_network_t;

/** Read a network.
 * @param name_or_file  name of a built-in model, or a path: has a '/' or ends in ".cfg".
 * @return 0, or -1 with the problem set, "FILE:LINE: ..." for an error in the file. */
int tw_network_load(tw_network_t *net, const char *name_or_file, tw_problem_t *problem);

/** Read the text for tw_network_load(), so that one rank can read it for all.
 * @param [out] text_p    NUL-terminated, to be freed
 * @param [out] source    see tw_network_t.source
 * @return 0, or -1 with the problem set. */
int tw_network_text(const char *name_or_file, char **text_p, char source[256],
                    tw_problem_t *problem);

/** Read a network from a text; messages name `source`. Returns as tw_network_load(). */
int tw_network_parse(tw_network_t *net, const char *text, const char *source,
                     tw_problem_t *problem);

/** Release a network; a zeroed one is allowed. */
void tw_network_destroy(tw_network_t *net);

/** Name of the index-th built-in model, NULL beyond the last. */
const char *tw_network_builtin(size_t index);

/** Set image shape and classes from the data, and check all shapes again. A failure leaves the
 * network unchanged.
 * @param input    NULL: unchanged
 * @param classes  0: unchanged
 * @return 0, or -1 with the problem set. */
int tw_network_override(tw_network_t *net, const tw_shape_t *input, size_t classes,
                        tw_problem_t *problem);

/** Number of a layer's inputs. */
static inline size_t tw_layer_inputs(const tw_network_layer_t *layer)
{
    size_t n = 1;

    while (n < TW_LAYER_INPUTS && layer->input[n] != -2) {
        n++;
    }
    return n;
}

/** Shape of a layer's output, or of the image: -1. */
static inline tw_shape_t tw_network_shape(const tw_network_t *net, int layer)
{
    return layer < 0 ? net->input : net->layer[layer].out;
}

/** Number of weights (norm: gamma) and biases (norm: beta) of a layer. */
size_t tw_network_weights(const tw_network_t *net, size_t layer);
size_t tw_network_biases(const tw_network_t *net, size_t layer);

/** Number of all parameters. */
size_t tw_network_parameters(const tw_network_t *net);

/** Multiply-adds of a layer forward, for one example: conv and dense, 0 for others. */
uint64_t tw_network_operations(const tw_network_t *net, size_t layer);

/** A table of layers: kind, output shape, parameters, multiply-adds forward, bytes of the output
 * as float32 for one example and for batch examples; and totals. */
void tw_network_describe(const tw_network_t *net, size_t batch, FILE *out);

/* How ranks share a network. */
typedef struct tw_network_share {
    size_t ranks, batch; /* examples of all ranks together       */
    size_t parts;        /* of dense layers by output unit; 1: not split */
    int    owners;       /* of weights: 0, 1 rank 0, 2 all ranks */
} tw_network_share_t;

/** Print the memory of the rank that needs most, one line per kind. */
void tw_network_describe_memory(const tw_network_t *net, const tw_network_share_t *share,
                                FILE *out);

/** "conv", "pool", ... as in model files. */
const char *tw_kind_name(tw_layer_kind_t kind);

#endif /* TW_MODEL_NETWORK_H */
