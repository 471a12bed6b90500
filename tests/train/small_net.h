/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/small_net.h - networks with every kind of layer, small enough for the oracle, and
 * examples for them.
 */
#ifndef TW_TESTS_SMALL_NET_H
#define TW_TESTS_SMALL_NET_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/model/network.h"
#include "train/base/random.h"

/* Three residual blocks: the shortcut as it is, subsampled with new channels (option A), and by a
 * projection, whose two normalisations are independent. */
static const char small_net_text[] =
    "name = \"small\"; classes = 5;\n"
    "input = { channels = 3; height = 9; width = 8; mean = 0.0; scale = 1.0; };\n"
    "training = { rate = 0.05; momentum = 0.9; decay = 0.01; batch = 12; epochs = 1; };\n"
    "defaults = { conv = { kernel = 3; pad = 1; bias = false; init = \"he\"; };\n"
    "             dense = { init = \"glorot\"; bias_init = \"constant:0.1\"; }; };\n"
    "layers = (\n"
    " { type = \"conv\"; name = \"conv1\"; channels = 6; bias = true; activation = \"relu\";\n"
    "   bias_init = \"gaussian:0.2\"; bias_rate_factor = 2.0; bias_decay_factor = 0.0; },\n"
    " { type = \"lrn\"; name = \"lrn1\"; size = 3; scale = 0.1; power = 0.75; k = 2.0; },\n"
    " { type = \"pool\"; name = \"pool1\"; pooling = \"max\"; kernel = 3; stride = 2; ceil = true; "
    "},\n"
    " { type = \"conv\"; name = \"conv2\"; channels = 8; },\n"
    " { type = \"norm\"; name = \"norm2\"; activation = \"relu\"; },\n"
    " { type = \"conv\"; name = \"same.conv1\"; channels = 8; },\n"
    " { type = \"norm\"; name = \"same.norm1\"; activation = \"relu\"; bias_init = "
    "\"constant:0.1\"; },\n"
    " { type = \"conv\"; name = \"same.conv2\"; channels = 8; },\n"
    " { type = \"norm\"; name = \"same.norm2\"; },\n"
    " { type = \"add\"; name = \"same\"; with = \"norm2\"; activation = \"relu\"; },\n"
    " { type = \"conv\"; name = \"half.conv1\"; channels = 12; stride = 2; },\n"
    " { type = \"norm\"; name = \"half.norm1\"; activation = \"relu\"; },\n"
    " { type = \"conv\"; name = \"half.conv2\"; channels = 12; },\n"
    " { type = \"norm\"; name = \"half.norm2\"; },\n"
    " { type = \"add\"; name = \"half\"; with = \"same\"; activation = \"relu\"; },\n"
    " { type = \"conv\"; name = \"proj.conv1\"; channels = 10; },\n"
    " { type = \"norm\"; name = \"proj.norm1\"; activation = \"relu\"; },\n"
    " { type = \"conv\"; name = \"proj.conv2\"; channels = 10; },\n"
    " { type = \"norm\"; name = \"proj.norm2\"; },\n"
    " { type = \"conv\"; name = \"proj.conv0\"; input = \"half\"; channels = 10; kernel = 1; pad = "
    "0; },\n"
    " { type = \"norm\"; name = \"proj.norm0\"; },\n"
    " { type = \"add\"; name = \"proj\"; input = \"proj.norm2\"; with = \"proj.norm0\"; },\n"
    " { type = \"activation\"; name = \"squash\"; activation = \"logistic\"; },\n"
    " { type = \"dropout\"; name = \"drop\"; rate = 0.3; },\n"
    " { type = \"pool\"; name = \"pool2\"; pooling = \"average\"; kernel = 2; stride = 1; pad = 1; "
    "},\n"
    " { type = \"dense\"; name = \"fc1\"; units = 7; activation = \"relu\"; },\n"
    " { type = \"dropout\"; name = \"drop1\"; rate = 0.5; },\n"
    " { type = \"dense\"; name = \"fc2\"; }\n"
    ");\n";

/* Two modules whose branches are joined: of four branches, one of them the input as it is, with
 * normalisations in two; and of a pooling and a convolution by groups. The processor only. */
static const char branches_net_text[] =
    "name = \"branches\"; classes = 5;\n"
    "input = { channels = 3; height = 9; width = 8; mean = 0.0; scale = 1.0; };\n"
    "training = { rate = 0.05; momentum = 0.9; decay = 0.01; batch = 12; epochs = 1; };\n"
    "defaults = { conv = { kernel = 1; init = \"he\"; bias_init = \"gaussian:0.2\"; };\n"
    "             norm = { bias_init = \"gaussian:0.3\"; };\n"
    "             dense = { bias_init = \"gaussian:0.2\"; }; };\n"
    "layers = (\n"
    " { type = \"conv\"; name = \"stem\"; channels = 6; kernel = 3; pad = 1; activation = "
    "\"relu\"; "
    "},\n"
    " { type = \"conv\"; name = \"a\"; channels = 5; bias = false; },\n"
    " { type = \"norm\"; name = \"a.norm\"; activation = \"relu\"; },\n"
    " { type = \"conv\"; name = \"b1\"; input = \"stem\"; channels = 4; activation = \"relu\"; },\n"
    " { type = \"conv\"; name = \"b2\"; channels = 7; kernel = 3; pad = 1; bias = false; },\n"
    " { type = \"norm\"; name = \"b.norm\"; activation = \"relu\"; },\n"
    " { type = \"pool\"; name = \"c\"; input = \"stem\"; pooling = \"max\"; kernel = 3; stride = "
    "1; "
    "pad = 1; },\n"
    " { type = \"conv\"; name = \"c1\"; channels = 3; activation = \"logistic\"; },\n"
    " { type = \"concat\"; name = \"join\"; input = \"a.norm\"; with = [\"b.norm\", \"c1\", "
    "\"stem\"]; },\n"
    " { type = \"norm\"; name = \"norm1\"; activation = \"relu\"; },\n"
    " { type = \"conv\"; name = \"d\"; channels = 9; kernel = 3; stride = 2; pad = 1; groups = 3; "
    "},\n"
    " { type = \"pool\"; name = \"e\"; input = \"norm1\"; pooling = \"max\"; kernel = 3; stride = "
    "2; "
    "pad = 1; },\n"
    " { type = \"concat\"; name = \"join2\"; with = \"d\"; },\n"
    " { type = \"pool\"; name = \"mean\"; pooling = \"average\"; global = true; },\n"
    " { type = \"dense\"; name = \"fc1\"; units = 8; groups = 2; activation = \"relu\"; },\n"
    " { type = \"dense\"; name = \"fc2\"; units = 12; groups = 4; activation = \"relu\"; },\n"
    " { type = \"dense\"; name = \"fc\"; }\n"
    ");\n";

/* What every test here needs to go on; in Check programs and under MPI alike. */
static inline void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static inline void small_net_read(tw_network_t *net, const char *text)
{
    tw_problem_t problem = {.set = 0};

    must(tw_network_parse(net, text, "small.cfg", &problem) == 0, problem.text);
}

/* n examples of a network, in float and the same in double. */
typedef struct examples {
    size_t    n, size;
    float    *images;
    double   *doubles;
    uint64_t *index;
    uint32_t *labels;
} examples_t;

static inline examples_t examples_make(const tw_network_t *net, size_t n, uint64_t seed)
{
    const size_t   size = tw_shape_size(net->input);
    const uint64_t key  = tw_random_key(seed, TW_RANDOM_DIGITS, 0, 0);
    examples_t     e    = {n,
                           size,
                           calloc(n * size + 1, sizeof(float)),
                           calloc(n * size + 1, sizeof(double)),
                           calloc(n + 1, sizeof(uint64_t)),
                           calloc(n + 1, sizeof(uint32_t))};

    for (size_t i = 0; i < n * size; i++) {
        e.doubles[i] = e.images[i] = 2.0f * tw_random_uniform(key, i) - 1.0f;
    }
    for (size_t i = 0; i < n; i++) {
        e.index[i]  = i;
        e.labels[i] = tw_random_below(~key, i, (uint32_t)net->classes);
    }
    return e;
}

static inline void examples_free(examples_t *e)
{
    free(e->images);
    free(e->doubles);
    free(e->index);
    free(e->labels);
}

#endif /* TW_TESTS_SMALL_NET_H */
