/* SPDX-License-Identifier: BSD-3-Clause
 * model/kinds.c - see kinds.h; thinwire-model(5) describes every key.
 */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "train/model/kinds.h"

/* ---- keys ---------------------------------------------------------------------------------- */

static const char *const activations[] = {"linear", "relu", "logistic", NULL};
static const char *const poolings[]    = {"max", "average", NULL};
static const char *const splits[]      = {"output", "input", NULL};

#define TW_KIND(kind, name) #name,
static const char *const names[] = {TW_KINDS(TW_KIND) NULL};
#undef TW_KIND

#define LAYER(field)                                                                               \
    offsetof(tw_network_layer_t, field), sizeof(((tw_network_layer_t *)NULL)->field)
#define BIT(kind) (1u << (kind))

enum {
    ALL     = BIT(TW_LAYER_KINDS) - 1,
    WINDOW  = BIT(TW_CONV) | BIT(TW_POOL),
    WEIGHTS = BIT(TW_CONV) | BIT(TW_DENSE),
    NUMBERS = WEIGHTS | BIT(TW_NORM),
    FUSED   = NUMBERS | BIT(TW_ADD)
};

static const tw_key_t layer_keys[] = {
    {"type", TW_KEY_CHOICE, LAYER(kind), 0, 0, names, ALL, ALL},
    {"name", TW_KEY_WORD, LAYER(name), 0, 0, NULL, ALL, 0},
    {"input", TW_KEY_LAYER, LAYER(input[0]), 0, 0, NULL, ALL, 0},
    {"with", TW_KEY_LAYER, LAYER(input[1]), 0, 0, NULL, BIT(TW_ADD), BIT(TW_ADD)},
    {"with", TW_KEY_LAYERS, offsetof(tw_network_layer_t, input[1]),
     (TW_LAYER_INPUTS - 1) * sizeof(int), 0, 0, NULL, BIT(TW_CONCAT), BIT(TW_CONCAT)},
    {"channels", TW_KEY_SIZE, LAYER(out.c), 1, 65536, NULL, BIT(TW_CONV), BIT(TW_CONV)},
    {"units", TW_KEY_SIZE, LAYER(out.c), 1, 1048576, NULL, BIT(TW_DENSE), 0},
    {"kernel", TW_KEY_PAIR, LAYER(kernel), 1, 1024, NULL, WINDOW, BIT(TW_CONV)},
    {"stride", TW_KEY_PAIR, LAYER(stride), 1, 1024, NULL, WINDOW, 0},
    {"pad", TW_KEY_PAIR, LAYER(pad), 0, 1023, NULL, WINDOW, 0},
    {"pooling", TW_KEY_CHOICE, LAYER(pooling), 0, 0, poolings, BIT(TW_POOL), BIT(TW_POOL)},
    {"global", TW_KEY_FLAG, LAYER(global), 0, 0, NULL, BIT(TW_POOL), 0},
    {"ceil", TW_KEY_FLAG, LAYER(ceil), 0, 0, NULL, BIT(TW_POOL), 0},
    {"count_pad", TW_KEY_FLAG, LAYER(count_pad), 0, 0, NULL, BIT(TW_POOL), 0},
    {"groups", TW_KEY_SIZE, LAYER(groups), 1, 65536, NULL, WEIGHTS, 0},
    {"split", TW_KEY_CHOICE, LAYER(by_input), 0, 0, splits, BIT(TW_DENSE), 0},
    {"bias", TW_KEY_FLAG, LAYER(bias), 0, 0, NULL, WEIGHTS, 0},
    {"activation", TW_KEY_CHOICE, LAYER(activation), 0, 0, activations, FUSED | BIT(TW_ACTIVATION),
     BIT(TW_ACTIVATION)},
    {"size", TW_KEY_SIZE, LAYER(lrn_size), 1, 1023, NULL, BIT(TW_LRN), 0},
    {"scale", TW_KEY_FLOAT, LAYER(lrn_scale), 0, 1000, NULL, BIT(TW_LRN), 0},
    {"power", TW_KEY_FLOAT, LAYER(lrn_power), 0, 16, NULL, BIT(TW_LRN), 0},
    {"k", TW_KEY_FLOAT, LAYER(lrn_k), 1e-6, 1e6, NULL, BIT(TW_LRN), 0},
    {"epsilon", TW_KEY_FLOAT, LAYER(epsilon), 1e-12, 1, NULL, BIT(TW_NORM), 0},
    {"momentum", TW_KEY_FLOAT, LAYER(momentum), 0, 0.9999, NULL, BIT(TW_NORM), 0},
    {"rate", TW_KEY_FLOAT, LAYER(rate), 0, 0.9999, NULL, BIT(TW_DROPOUT), BIT(TW_DROPOUT)},
    {"init", TW_KEY_INIT, LAYER(w_init), 0, 0, NULL, NUMBERS, 0},
    {"bias_init", TW_KEY_INIT, LAYER(b_init), 0, 0, NULL, NUMBERS, 0},
    {"rate_factor", TW_KEY_FLOAT, LAYER(w_rate), 0, 1000, NULL, NUMBERS, 0},
    {"bias_rate_factor", TW_KEY_FLOAT, LAYER(b_rate), 0, 1000, NULL, NUMBERS, 0},
    {"decay_factor", TW_KEY_FLOAT, LAYER(w_decay), 0, 1000, NULL, NUMBERS, 0},
    {"bias_decay_factor", TW_KEY_FLOAT, LAYER(b_decay), 0, 1000, NULL, NUMBERS, 0},
    {"codec", TW_KEY_CODEC, LAYER(codec), 0, 0, NULL, WEIGHTS, 0},
};

const tw_keys_t tw_keys_layer = {"layer", layer_keys, sizeof(layer_keys) / sizeof(layer_keys[0])};

_Static_assert(sizeof(tw_layer_kind_t) == sizeof(int), "choices are stored as int");
_Static_assert(sizeof(layer_keys) / sizeof(layer_keys[0]) <= 64, "keys seen are bits of 64");

static void begin_conv(tw_network_layer_t *layer)
{
    layer->stride[0] = layer->stride[1] = 1;
    layer->bias                         = 1;
}

static void begin_dense(tw_network_layer_t *layer)
{
    layer->bias = 1;
}

static void begin_norm(tw_network_layer_t *layer)
{
    layer->w_init  = (tw_init_t){TW_INIT_CONSTANT, 1.0f};
    layer->w_decay = 0.0f;
}

static int finish_any(const tw_reader_t *reader, const config_setting_t *group,
                      tw_network_layer_t *layer)
{
    (void)reader, (void)group, (void)layer;
    return 0;
}

static int finish_biased(const tw_reader_t *reader, const config_setting_t *group,
                         tw_network_layer_t *layer)
{
    (void)reader, (void)group;
    if (!layer->bias) {
        layer->b_rate = layer->b_decay = 0.0f;
    }
    return 0;
}

static int finish_pool(const tw_reader_t *reader, const config_setting_t *group,
                       tw_network_layer_t *layer)
{
    if (layer->global == (layer->kernel[0] > 0)) {
        return tw_reader_wrong(reader, group,
                               "a pool layer needs either 'kernel' or 'global = true'");
    }
    if (layer->global && (layer->stride[0] > 0 || layer->pad[0] > 0 || layer->pad[1] > 0)) {
        return tw_reader_wrong(reader, group, "a global pool layer has no 'stride' and no 'pad'");
    }
    if (layer->stride[0] == 0) {
        memcpy(layer->stride, layer->kernel, sizeof(layer->stride));
    }
    return 0;
}

static int finish_activation(const tw_reader_t *reader, const config_setting_t *group,
                             tw_network_layer_t *layer)
{
    return layer->activation != TW_LINEAR
               ? 0
               : tw_reader_wrong(reader, group, "an activation layer is relu or logistic");
}

static int finish_lrn(const tw_reader_t *reader, const config_setting_t *group,
                      tw_network_layer_t *layer)
{
    return layer->lrn_size % 2 == 1
               ? 0
               : tw_reader_wrong(reader, group, "size %zu: accepted are odd numbers",
                                 layer->lrn_size);
}

/* ---- shapes -------------------------------------------------------------------------------- */

static int shape_same(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    (void)problem;
    net->layer[l].out = net->layer[l].in;
    return 0;
}

static int shape_dense(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    tw_network_layer_t *layer = &net->layer[l];
    const size_t        in    = tw_shape_size(layer->in);

    layer->out.h = layer->out.w = 1;
    return in % layer->groups == 0 && layer->out.c % layer->groups == 0
               ? 0
               : tw_network_wrong(net, l, problem,
                                  "groups %zu: accepted are divisors of its %zu units and of the "
                                  "%zu numbers of its input",
                                  layer->groups, layer->out.c, in);
}

/* Positions of a window along one side, 0: it does not fit. */
static size_t positions(const tw_network_layer_t *layer, int side, size_t size)
{
    const size_t kernel = layer->kernel[side], stride = layer->stride[side], pad = layer->pad[side],
                 room = size + 2 * pad;
    size_t n;

    if (room < kernel) {
        return 0;
    }
    n = (room - kernel + (layer->ceil ? stride - 1 : 0)) / stride + 1;
    /* Rounded up, the last window must not lie in the border alone. */
    return layer->ceil && (n - 1) * stride >= size + pad ? n - 1 : n;
}

static int shape_window(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    tw_network_layer_t *layer = &net->layer[l];

    if (layer->global) {
        layer->kernel[0] = layer->in.h;
        layer->kernel[1] = layer->in.w;
        layer->stride[0] = layer->stride[1] = 1;
    }
    if (layer->pad[0] >= layer->kernel[0] || layer->pad[1] >= layer->kernel[1]) {
        return tw_network_wrong(net, l, problem,
                                "pad %zux%zu: accepted is less than the kernel, %zux%zu",
                                layer->pad[0], layer->pad[1], layer->kernel[0], layer->kernel[1]);
    }
    layer->out.h = positions(layer, 0, layer->in.h);
    layer->out.w = positions(layer, 1, layer->in.w);
    if (layer->kind == TW_POOL) {
        layer->out.c = layer->in.c;
    }
    return layer->out.h > 0 && layer->out.w > 0
               ? 0
               : tw_network_wrong(
                     net, l, problem,
                     "the kernel of %zux%zu does not fit into its input of %zux%zu with a border "
                     "of %zux%zu",
                     layer->kernel[0], layer->kernel[1], layer->in.h, layer->in.w, layer->pad[0],
                     layer->pad[1]);
}

static int shape_conv(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    const tw_network_layer_t *layer = &net->layer[l];

    if (layer->in.c % layer->groups != 0 || layer->out.c % layer->groups != 0) {
        return tw_network_wrong(net, l, problem,
                                "groups %zu: accepted are divisors of its %zu channels and of the "
                                "%zu of its input",
                                layer->groups, layer->out.c, layer->in.c);
    }
    return shape_window(net, l, problem);
}

/* The second input is like the first, or has stride times its height and width and at most its
 * channels: a shortcut without parameters. */
static int shape_add(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    tw_network_layer_t *layer = &net->layer[l];
    const int           other = layer->input[1];
    const tw_shape_t    in = layer->in, x = tw_network_shape(net, other);
    const size_t        stride = (x.h + in.h - 1) / in.h;

    if (x.c > in.c || x.h < in.h || (x.h - 1) / stride + 1 != in.h ||
        (x.w - 1) / stride + 1 != in.w) {
        return tw_network_wrong(
            net, l, problem,
            "'%s' of %zux%zux%zu cannot be added to %zux%zux%zu; accepted are the same "
            "shape, and fewer channels with a whole multiple of height and width",
            other < 0 ? "image" : net->layer[other].name, x.c, x.h, x.w, in.c, in.h, in.w);
    }
    layer->stride[0] = layer->stride[1] = stride;
    layer->out                          = in;
    return 0;
}

/* All inputs have the same height and width. */
static int shape_concat(tw_network_t *net, size_t l, tw_problem_t *problem)
{
    tw_network_layer_t *layer = &net->layer[l];

    layer->out = layer->in;
    for (size_t i = 1; i < tw_layer_inputs(layer); i++) {
        const int        other = layer->input[i];
        const tw_shape_t x     = tw_network_shape(net, other);

        if (x.h != layer->in.h || x.w != layer->in.w) {
            return tw_network_wrong(
                net, l, problem,
                "'%s' of %zux%zux%zu cannot be joined to %zux%zux%zu; accepted are the same "
                "height and width",
                other < 0 ? "image" : net->layer[other].name, x.c, x.h, x.w, layer->in.c,
                layer->in.h, layer->in.w);
        }
        layer->out.c += x.c;
    }
    return 0;
}

/* ---- parameters ---------------------------------------------------------------------------- */

static size_t weights_conv(const tw_network_layer_t *layer)
{
    return layer->out.c * (layer->in.c / layer->groups) * layer->kernel[0] * layer->kernel[1];
}

static size_t weights_dense(const tw_network_layer_t *layer)
{
    return layer->out.c * (tw_shape_size(layer->in) / layer->groups);
}

static size_t per_channel(const tw_network_layer_t *layer)
{
    return layer->in.c;
}

/* ---- the rows ------------------------------------------------------------------------------ */

static const tw_kind_row_t rows[TW_LAYER_KINDS] = {
    [TW_CONV]       = {"a", 1, begin_conv, finish_biased, shape_conv, weights_conv, NULL},
    [TW_POOL]       = {"a", 0, NULL, finish_pool, shape_window, NULL, NULL},
    [TW_ACTIVATION] = {"an", 0, NULL, finish_activation, shape_same, NULL, NULL},
    [TW_LRN]        = {"an", 0, NULL, finish_lrn, shape_same, NULL, NULL},
    [TW_NORM]       = {"a", 0, begin_norm, finish_any, shape_same, per_channel, per_channel},
    [TW_ADD]        = {"an", 0, NULL, finish_any, shape_add, NULL, NULL},
    [TW_CONCAT]     = {"a", 0, NULL, finish_any, shape_concat, NULL, NULL},
    [TW_DROPOUT]    = {"a", 0, NULL, finish_any, shape_same, NULL, NULL},
    [TW_DENSE]      = {"a", 1, begin_dense, finish_biased, shape_dense, weights_dense, NULL},
};

const tw_kind_row_t *tw_kind_row(tw_layer_kind_t kind)
{
    return &rows[kind];
}

const char *tw_kind_name(tw_layer_kind_t kind)
{
    return names[kind];
}

tw_network_layer_t tw_kind_layer(tw_layer_kind_t kind, int line, int before)
{
    tw_network_layer_t layer = {
        .kind       = kind,
        .line       = line,
        .input      = {before},
        .groups     = 1,
        .lrn_size   = 5,
        .lrn_scale  = 2e-5f,
        .lrn_power  = 0.75f,
        .lrn_k      = 1.0f,
        .epsilon    = 1e-5f,
        .momentum   = 0.9f,
        .w_init     = {TW_INIT_UNIFORM_GLOROT, 1.0f},
        .b_init     = {TW_INIT_ZERO, 0.0f},
        .w_rate     = 1.0f,
        .b_rate     = 1.0f,
        .w_decay    = 1.0f,
        .activation = TW_LINEAR,
    };

    for (size_t i = 1; i < TW_LAYER_INPUTS; i++) {
        layer.input[i] = -2;
    }
    if (rows[kind].begin != NULL) {
        rows[kind].begin(&layer);
    }
    return layer;
}
