/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/test_network.c - the built-in models have the published shapes and numbers of
 * parameters; windows are counted one by one; data may bring another shape. Sources of the numbers:
 * S0 (arXiv 2004.02297) table I and its code, S1 (1511.04561), S3's ResNet-20, S4 (1404.5997),
 * GoogLeNet (1409.4842) table 1, ResNet-50 (1512.03385) table 1, AlexNet of 2012 (NIPS 25).
 * Those of the models made small for CIFAR are counted by hand from their shapes.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/suite.h"
#include "train/model/network.h"

static void load(tw_network_t *net, const char *name)
{
    tw_problem_t problem = {0};

    ck_assert_msg(tw_network_load(net, name, &problem) == 0, "%s: %s", name, problem.text);
}

static size_t find(const tw_network_t *net, const char *name)
{
    for (size_t l = 0; l < net->layers; l++) {
        if (strcmp(net->layer[l].name, name) == 0) {
            return l;
        }
    }
    ck_abort_msg("%s has no layer %s", net->name, name);
}

/* ---- what was published -------------------------------------------------------------------- */

static const struct {
    const char *model;
    size_t      parameters, classes, first_dense;
    tw_shape_t  features; /* what goes into the head */
} published[] = {
    {"mlp", 1863690, 10, 0, {1, 28, 28}},
    {"linear", 7850, 10, 0, {1, 28, 28}},
    {"lenet", 832 + 51264 + 524800 + 5130, 10, 4, {64, 4, 4}},
    {"alexnet-s0", 75341960, 200, 8, {256, 6, 6}},
    {"alexnet-s0-valid", 63807624, 200, 8, {256, 5, 5}},
    {"alexnet-s4", 75341960 - 16781312 - 819400 + 4097000, 1000, 10, {256, 6, 6}},
    {"vgg-a", 129585736, 200, 13, {512, 7, 7}},
    {"resnet-34", 21387272, 200, 90, {512, 1, 1}},
    {"resnet-20", 269722, 10, 48, {64, 1, 1}},
    {"googlenet", 5966272 + 7280 + 1025000, 1000, 82, {1024, 1, 1}},
    {"resnet-50", 25557032, 1000, 124, {2048, 1, 1}},
    {"alexnet-2012", 60965224, 1000, 10, {256, 6, 6}},
    /* ours: S0's networks in small */
    {"alexnet-cifar", 653834, 10, 6, {64, 3, 3}},
    {"vgg-cifar", 812394, 10, 10, {128, 2, 2}},
};

enum { PUBLISHED = sizeof(published) / sizeof(published[0]) };

START_TEST(models_have_the_published_size)
{
    tw_network_t net;
    tw_shape_t   in;

    load(&net, published[_i].model);
    ck_assert_str_eq(net.name, published[_i].model);
    ck_assert_uint_eq(tw_network_parameters(&net), published[_i].parameters);
    ck_assert_uint_eq(net.classes, published[_i].classes);
    ck_assert_uint_eq(net.layer[net.layers - 1].out.c, published[_i].classes);
    ck_assert_uint_lt(net.first_dense, net.layers);
    ck_assert_uint_eq(net.first_dense, published[_i].first_dense);
    in = net.layer[net.first_dense].in;
    ck_assert_uint_eq(in.c, published[_i].features.c);
    ck_assert_uint_eq(in.h, published[_i].features.h);
    ck_assert_uint_eq(in.w, published[_i].features.w);
    tw_network_destroy(&net);
}
END_TEST

/* Every name in the list is published, and the other way round. */
START_TEST(all_models_are_listed)
{
    size_t n = 0;

    while (tw_network_builtin(n) != NULL) {
        int known = 0;

        for (size_t i = 0; i < PUBLISHED; i++) {
            known |= strcmp(published[i].model, tw_network_builtin(n)) == 0;
        }
        ck_assert_msg(known, "%s is not tested", tw_network_builtin(n));
        n++;
    }
    ck_assert_uint_eq(n, PUBLISHED);
    ck_assert_ptr_null(tw_network_builtin(n + 100));
}
END_TEST

static const struct {
    const char *model, *layer;
    size_t      weights, biases;
} tensors[] = {
    {"mlp", "fc1", 802816, 1024},
    {"mlp", "fc2", 1048576, 1024},
    {"mlp", "fc3", 10240, 10},
    {"alexnet-s0", "conv1", 23232, 64},
    {"alexnet-s0", "conv2", 307200, 192},
    {"alexnet-s0", "conv3", 663552, 384},
    {"alexnet-s0", "conv4", 1327104, 384},
    {"alexnet-s0", "conv5", 884736, 256},
    {"alexnet-s0", "fc6", 37748736, 4096},
    {"alexnet-s0", "fc7", 16777216, 4096},
    {"alexnet-s0", "fc7.1", 16777216, 4096},
    {"alexnet-s0", "fc8", 819200, 200},
    {"alexnet-s0-valid", "fc6", 26214400, 4096},
    {"alexnet-s4", "conv4", 1327104, 384},
    {"alexnet-s4", "fc8", 4096000, 1000},
    {"alexnet-s4", "lrn1", 0, 0},
    {"vgg-a", "conv1_1", 1728, 64},
    {"vgg-a", "conv2_1", 73728, 128},
    {"vgg-a", "conv3_1", 294912, 256},
    {"vgg-a", "conv3_2", 589824, 256},
    {"vgg-a", "conv4_1", 1179648, 512},
    {"vgg-a", "conv4_2", 2359296, 512},
    {"vgg-a", "conv5_1", 2359296, 512},
    {"vgg-a", "conv5_2", 2359296, 512},
    {"vgg-a", "fc6", 102760448, 4096},
    {"vgg-a", "fc7", 16777216, 4096},
    {"vgg-a", "fc8", 819200, 200},
    {"resnet-34", "conv1", 9408, 0},
    {"resnet-34", "norm1", 64, 64},
    {"resnet-34", "block3.1.conv0", 8192, 0},
    {"resnet-34", "block4.1.conv0", 32768, 0},
    {"resnet-34", "block5.1.conv0", 131072, 0},
    {"resnet-34", "block5.3", 0, 0},
    {"resnet-34", "fc", 102400, 200},
    {"resnet-20", "conv1", 432, 0},
    {"googlenet", "conv1", 9408, 64},
    {"googlenet", "conv2.reduce", 4096, 64},
    {"googlenet", "conv2", 110592, 192},
    {"googlenet", "fc", 1024000, 1000},
    {"alexnet-2012", "conv1", 34848, 96},
    {"alexnet-2012", "conv2", 307200, 256},
    {"alexnet-2012", "conv3", 884736, 384},
    {"alexnet-2012", "conv4", 663552, 384},
    {"alexnet-2012", "conv5", 442368, 256},
    {"alexnet-2012", "fc6", 37748736, 4096},
    {"alexnet-2012", "fc7", 16777216, 4096},
    {"alexnet-2012", "fc8", 4096000, 1000},
    {"resnet-50", "conv1", 9408, 0},
    {"resnet-50", "norm1", 64, 64},
    {"resnet-50", "block2.1.conv0", 16384, 0},
    {"resnet-50", "block2.1.conv1", 4096, 0},
    {"resnet-50", "block2.2.conv1", 16384, 0},
    {"resnet-50", "block3.1.conv0", 131072, 0},
    {"resnet-50", "block5.3.conv2", 2359296, 0},
    {"resnet-50", "block5.3.norm3", 2048, 2048},
    {"resnet-50", "fc", 2048000, 1000},
    {"resnet-20", "fc", 640, 10},
    {"alexnet-cifar", "conv1", 2400, 32},
    {"alexnet-cifar", "conv2", 51200, 64},
    {"alexnet-cifar", "conv3", 36864, 64},
    {"alexnet-cifar", "fc4", 294912, 512},
    {"alexnet-cifar", "fc5", 262144, 512},
    {"alexnet-cifar", "fc6", 5120, 10},
    {"vgg-cifar", "conv1_1", 432, 16},
    {"vgg-cifar", "conv2_1", 4608, 32},
    {"vgg-cifar", "conv3_1", 18432, 64},
    {"vgg-cifar", "conv3_2", 36864, 64},
    {"vgg-cifar", "conv4_1", 73728, 128},
    {"vgg-cifar", "conv4_2", 147456, 128},
    {"vgg-cifar", "fc5", 262144, 512},
    {"vgg-cifar", "fc6", 262144, 512},
    {"vgg-cifar", "fc7", 5120, 10},
};

START_TEST(tensors_have_the_published_size)
{
    tw_network_t net;
    size_t       l;

    load(&net, tensors[_i].model);
    l = find(&net, tensors[_i].layer);
    ck_assert_uint_eq(tw_network_weights(&net, l), tensors[_i].weights);
    ck_assert_uint_eq(tw_network_biases(&net, l), tensors[_i].biases);
    tw_network_destroy(&net);
}
END_TEST

static const struct {
    const char *model, *layer;
    tw_shape_t  out;
} shapes[] = {
    {"lenet", "conv1", {32, 24, 24}},
    {"alexnet-s0", "conv1", {64, 55, 55}},
    {"alexnet-s0", "pool1", {64, 27, 27}},
    {"alexnet-s0", "pool2", {192, 13, 13}},
    {"alexnet-s0-valid", "conv1", {64, 54, 54}},
    {"alexnet-s0-valid", "pool1", {64, 26, 26}},
    {"alexnet-s0-valid", "pool2", {192, 12, 12}},
    {"alexnet-s4", "lrn1", {64, 55, 55}},
    {"alexnet-s4", "pool5", {256, 6, 6}},
    {"vgg-a", "pool1", {64, 112, 112}},
    {"resnet-34", "conv1", {64, 112, 112}},
    {"resnet-34", "pool1", {64, 56, 56}},
    {"resnet-34", "block3.1.conv0", {128, 28, 28}},
    {"resnet-34", "block5.3", {512, 7, 7}},
    {"resnet-34", "pool6", {512, 1, 1}},
    {"resnet-20", "block2.3", {16, 32, 32}},
    {"alexnet-2012", "conv1", {96, 55, 55}},
    {"alexnet-2012", "conv2", {256, 27, 27}},
    {"alexnet-2012", "conv5", {256, 13, 13}},
    {"googlenet", "conv1", {64, 112, 112}},
    {"googlenet", "pool1", {64, 56, 56}},
    {"googlenet", "pool2", {192, 28, 28}},
    {"googlenet", "pool5", {1024, 1, 1}},
    {"resnet-50", "conv1", {64, 112, 112}},
    {"resnet-50", "block2.3", {256, 56, 56}},
    {"resnet-50", "block3.4", {512, 28, 28}},
    {"resnet-50", "block4.6", {1024, 14, 14}},
    {"resnet-50", "block5.3", {2048, 7, 7}},
    {"resnet-20", "block3.1", {32, 16, 16}},
    {"resnet-20", "block4.3", {64, 8, 8}},
};

START_TEST(layers_have_the_published_shape)
{
    tw_network_t net;
    tw_shape_t   out;

    load(&net, shapes[_i].model);
    out = net.layer[find(&net, shapes[_i].layer)].out;
    ck_assert_uint_eq(out.c, shapes[_i].out.c);
    ck_assert_uint_eq(out.h, shapes[_i].out.h);
    ck_assert_uint_eq(out.w, shapes[_i].out.w);
    tw_network_destroy(&net);
}
END_TEST

/* Table 1 of GoogLeNet: the channels of each branch, and what goes in and comes out. The numbers
 * of parameters there are not those of its channels (2.7K of the 9,408 of the first layer, 463K of
 * the 509,440 of 4c), so the weights here are the sums of products of the channels, by hand. */
static const struct {
    const char *module, *before;
    size_t      one, reduce3, three, reduce5, five, pool, out, side, weights;
} modules[] = {
    {"3a", "pool2", 64, 96, 128, 16, 32, 32, 256, 28, 163328},
    {"3b", "3a", 128, 128, 192, 32, 96, 64, 480, 28, 388096},
    {"4a", "pool3", 192, 96, 208, 16, 48, 64, 512, 14, 375552},
    {"4b", "4a", 160, 112, 224, 24, 64, 64, 512, 14, 448512},
    {"4c", "4b", 128, 128, 256, 24, 64, 64, 512, 14, 509440},
    {"4d", "4c", 112, 144, 288, 32, 64, 64, 528, 14, 604672},
    {"4e", "4d", 256, 160, 320, 32, 128, 128, 832, 14, 867328},
    {"5a", "pool4", 256, 160, 320, 32, 128, 128, 832, 7, 1042432},
    {"5b", "5a", 384, 192, 384, 48, 128, 128, 1024, 7, 1442816},
};

/* Layer MODULE.PART, of so many channels, behind layer `from`; its weights. */
static size_t part_of(const tw_network_t *net, const char *module, const char *part,
                      const char *from, size_t channels)
{
    char   name[32];
    size_t l;

    snprintf(name, sizeof(name), "%s.%s", module, part);
    l = find(net, name);
    ck_assert_uint_eq(net->layer[l].out.c, channels);
    snprintf(name, sizeof(name), "%s%s", from[0] == '.' ? module : "", from);
    ck_assert_int_eq(net->layer[l].input[0], (int)find(net, name));
    return tw_network_weights(net, l);
}

START_TEST(modules_have_the_published_channels)
{
    const char  *m = modules[_i].module, *before = modules[_i].before;
    tw_network_t net;
    size_t       weights, in, l;

    load(&net, "googlenet");
    l       = find(&net, m);
    in      = net.layer[find(&net, before)].out.c;
    weights = part_of(&net, m, "1x1", before, modules[_i].one) +
              part_of(&net, m, "3x3.reduce", before, modules[_i].reduce3) +
              part_of(&net, m, "3x3", ".3x3.reduce", modules[_i].three) +
              part_of(&net, m, "5x5.reduce", before, modules[_i].reduce5) +
              part_of(&net, m, "5x5", ".5x5.reduce", modules[_i].five) +
              part_of(&net, m, "pool", before, in) +
              part_of(&net, m, "pool.proj", ".pool", modules[_i].pool);
    ck_assert_uint_eq(weights, modules[_i].weights);
    ck_assert_uint_eq(tw_layer_inputs(&net.layer[l]), 4);
    ck_assert_uint_eq(net.layer[l].out.c, modules[_i].out);
    ck_assert_uint_eq(net.layer[l].out.h, modules[_i].side);
    ck_assert_uint_eq(net.layer[l].out.w, modules[_i].side);
    tw_network_destroy(&net);
}
END_TEST

/* T7: three pools; 36 convolutions, of which 3 project; option A has no parameters. */
START_TEST(models_have_the_published_layers)
{
    static const struct {
        const char *model;
        size_t      convs, pools, norms, adds, dropouts, lrns;
    } counts[] = {{"alexnet-s0", 5, 3, 0, 0, 3, 0},   {"alexnet-s0-valid", 5, 3, 0, 0, 3, 0},
                  {"alexnet-s4", 5, 3, 0, 0, 2, 2},   {"vgg-a", 8, 5, 0, 0, 2, 0},
                  {"resnet-34", 36, 2, 36, 16, 0, 0}, {"resnet-20", 19, 1, 19, 9, 0, 0},
                  {"alexnet-2012", 5, 3, 0, 0, 2, 2}, {"googlenet", 57, 14, 0, 0, 1, 2},
                  {"resnet-50", 53, 2, 53, 16, 0, 0}};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        size_t       n[TW_DENSE + 1] = {0};
        tw_network_t net;

        load(&net, counts[i].model);
        for (size_t l = 0; l < net.layers; l++) {
            n[net.layer[l].kind]++;
        }
        ck_assert_uint_eq(n[TW_CONV], counts[i].convs);
        ck_assert_uint_eq(n[TW_POOL], counts[i].pools);
        ck_assert_uint_eq(n[TW_NORM], counts[i].norms);
        ck_assert_uint_eq(n[TW_ADD], counts[i].adds);
        ck_assert_uint_eq(n[TW_DROPOUT], counts[i].dropouts);
        ck_assert_uint_eq(n[TW_LRN], counts[i].lrns);
        tw_network_destroy(&net);
    }
}
END_TEST

START_TEST(models_have_the_published_settings)
{
    tw_network_t        net;
    tw_network_layer_t *layer;

    load(&net, "mlp");
    ck_assert_int_eq(net.optimizer, TW_RMSPROP);
    ck_assert_double_eq(net.rate, 0.006);
    ck_assert_double_eq(net.rms_decay, 0.9);
    ck_assert_double_eq(net.max_norm, 15.0);
    ck_assert_str_eq(net.schedule, "exp:0.99:60:0.85");
    ck_assert_float_eq(net.layer[0].rate, 0.2f);
    ck_assert_uint_eq(net.layer[4].drop, 2);
    tw_network_destroy(&net);

    load(&net, "alexnet-s4");
    ck_assert_int_eq(net.loss, TW_LOSS_LOGISTIC);
    ck_assert_double_eq(net.rate, 0.01);
    ck_assert_double_eq(net.decay, 0.0005);
    ck_assert_uint_eq(net.batch, 128);
    layer = &net.layer[find(&net, "conv4")];
    ck_assert_int_eq(layer->w_init.how, TW_INIT_GAUSSIAN);
    ck_assert_float_eq(layer->w_init.value, 0.03f);
    ck_assert_int_eq(layer->b_init.how, TW_INIT_CONSTANT);
    ck_assert_float_eq(layer->b_init.value, 1.0f);
    ck_assert_float_eq(layer->b_rate, 2.0f);
    ck_assert_float_eq(layer->b_decay, 0.0f);
    ck_assert_int_eq(net.layer[find(&net, "conv3")].b_init.how, TW_INIT_ZERO);
    layer = &net.layer[find(&net, "lrn2")];
    ck_assert_uint_eq(layer->lrn_size, 5);
    ck_assert_float_eq(layer->lrn_scale * 5.0f, 1e-4f); /* divided by the size there */
    ck_assert_float_eq(layer->lrn_power, 0.75f);
    ck_assert_float_eq(layer->lrn_k, 2.0f);
    tw_network_destroy(&net);

    load(&net, "alexnet-s0");
    ck_assert_double_eq(net.decay, 5e-4);
    ck_assert_str_eq(net.schedule, "stairs:30:0.16");
    layer = &net.layer[find(&net, "fc7.1")];
    ck_assert_int_eq(layer->w_init.how, TW_INIT_TRUNCATED);
    ck_assert_float_eq(layer->w_init.value, 0.005f);
    ck_assert_float_eq(layer->b_init.value, 0.1f);
    tw_network_destroy(&net);

    load(&net, "resnet-20");
    ck_assert_double_eq(net.rate, 0.1);
    ck_assert_str_eq(net.schedule, "steps:25,37:0.1");
    ck_assert_uint_eq(net.crop_pad, 4);
    ck_assert_int_eq(net.mirror, 1);
    layer = &net.layer[find(&net, "block3.1")];
    ck_assert_uint_eq(layer->stride[0], 2);
    ck_assert_int_eq(layer->input[1], (int)find(&net, "block2.3"));
    ck_assert_int_eq(layer->activation, TW_RELU);
    tw_network_destroy(&net);
}
END_TEST

/* ---- windows, one by one ------------------------------------------------------------------- */

/* Windows that fit, or, rounding up, that begin before the end of the border and of the image. */
static size_t count_windows(int size, int kernel, int stride, int pad, int up)
{
    size_t n = 0;

    for (int at = -pad; at + kernel <= size + pad; at += stride) {
        n++;
    }
    if (n > 0 && up) {
        const int next = -pad + (int)n * stride;

        n += next - stride + kernel < size + pad && next < size;
    }
    return n;
}

START_TEST(windows_are_counted_one_by_one)
{
    size_t fit = 0, up_differs = 0;

    for (int size = 1; size <= 12; size++) {
        for (int code = 0; code < 5 * 4 * 5 * 2; code++) {
            const int kernel = 1 + code % 5, stride = 1 + code / 5 % 4, pad = code / 20 % 5,
                      up   = code / 100;
            const size_t n = count_windows(size, kernel, stride, pad, up);
            char         text[400];
            tw_network_t net;
            tw_problem_t problem = {0};

            snprintf(text, sizeof(text),
                     "input = { channels = 2; height = %d; width = 12; }; classes = 2; layers = ("
                     "{ type = \"pool\"; pooling = \"max\"; kernel = [%d, 1]; stride = [%d, 5];"
                     "  pad = [%d, 0]; ceil = %s; }, { type = \"dense\"; });",
                     size, kernel, stride, pad, up ? "true" : "false");
            if (n == 0 || pad >= kernel) {
                ck_assert_int_eq(tw_network_parse(&net, text, "t", &problem), -1);
                continue;
            }
            ck_assert_msg(tw_network_parse(&net, text, "t", &problem) == 0, "%s", problem.text);
            ck_assert_uint_eq(net.layer[0].out.h, n);
            ck_assert_uint_eq(net.layer[0].out.w, 3);
            fit++;
            up_differs += n != count_windows(size, kernel, stride, pad, 0);
            tw_network_destroy(&net);
        }
    }
    ck_assert_uint_gt(fit, 500);
    ck_assert_uint_gt(up_differs, 50);
}
END_TEST

/* ---- data of another shape ----------------------------------------------------------------- */

START_TEST(data_bring_shape_and_classes)
{
    const tw_shape_t large = {3, 40, 36}, small = {3, 8, 8}, none = {0, 8, 8};
    tw_network_t     net;
    tw_problem_t     problem = {0};

    load(&net, "resnet-20");
    ck_assert_int_eq(tw_network_override(&net, &large, 100, &problem), 0);
    ck_assert_uint_eq(tw_network_parameters(&net), 269722 + 65 * 90);
    ck_assert_uint_eq(net.layer[net.layers - 2].kernel[0], 10); /* global pooling follows */
    ck_assert_uint_eq(net.layer[net.layers - 2].kernel[1], 9);
    ck_assert_uint_eq(net.classes, 100);
    ck_assert_int_eq(tw_network_override(&net, NULL, 10, &problem), 0);
    ck_assert_uint_eq(tw_network_parameters(&net), 269722);
    ck_assert_uint_eq(net.input.h, 40);
    tw_network_destroy(&net);

    load(&net, "lenet");
    ck_assert_int_eq(tw_network_override(&net, &small, 0, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, "layer 'conv2'"));
    ck_assert_uint_eq(net.input.h, 28); /* as it was */
    ck_assert_uint_eq(net.layer[0].out.h, 24);
    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_network_override(&net, &none, 0, &problem), -1);
    problem = (tw_problem_t){0};
    ck_assert_int_eq(tw_network_override(&net, NULL, 1, &problem), -1);
    ck_assert_uint_eq(tw_network_parameters(&net), 582026);
    tw_network_destroy(&net);
}
END_TEST

/* ---- descriptions -------------------------------------------------------------------------- */

START_TEST(descriptions_agree_with_the_network)
{
    char        *text = NULL, *conv1;
    size_t       size = 0, n[4];
    FILE        *out  = open_memstream(&text, &size);
    tw_network_t net;

    load(&net, "alexnet-s0");
    tw_network_describe(&net, 16, out);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "75341960"));
    conv1 = strstr(text, "\nconv1 ");
    ck_assert_ptr_nonnull(conv1);
    /* Weights and biases, 23232 * 55 * 55, bytes of 64 * 55 * 55 and of 16 times as many. */
    ck_assert_int_eq(
        sscanf(conv1, " conv1 conv 64x55x55 %zu %zu %zu %zu", &n[0], &n[1], &n[2], &n[3]), 4);
    ck_assert(n[0] == 23296 && n[1] == 70276800 && n[2] == 774400 && n[3] == 12390400);
    free(text);
    tw_network_destroy(&net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/network");
    TCase *tc    = tcase_create("network");

    tcase_add_loop_test(tc, models_have_the_published_size, 0, PUBLISHED);
    tcase_add_test(tc, all_models_are_listed);
    tcase_add_loop_test(tc, tensors_have_the_published_size, 0,
                        sizeof(tensors) / sizeof(tensors[0]));
    tcase_add_loop_test(tc, layers_have_the_published_shape, 0, sizeof(shapes) / sizeof(shapes[0]));
    tcase_add_loop_test(tc, modules_have_the_published_channels, 0,
                        sizeof(modules) / sizeof(modules[0]));
    tcase_add_test(tc, models_have_the_published_layers);
    tcase_add_test(tc, models_have_the_published_settings);
    tcase_add_test(tc, windows_are_counted_one_by_one);
    tcase_add_test(tc, data_bring_shape_and_classes);
    tcase_add_test(tc, descriptions_agree_with_the_network);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
