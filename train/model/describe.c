/* SPDX-License-Identifier: BSD-3-Clause
 * model/describe.c - a network as a table of text.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "train/model/network_file.h"

static const char *const losses[]     = {"softmax", "logistic"};
static const char *const optimizers[] = {"sgd", "rmsprop"};

typedef struct tw_sums {
    size_t   parameters, bytes;
    uint64_t operations;
} tw_sums_t;

static size_t layer_bytes(const tw_network_t *net, size_t l)
{
    return tw_shape_size(net->layer[l].out) * sizeof(float);
}

static tw_sums_t sum_up(const tw_network_t *net)
{
    tw_sums_t sums = {tw_network_parameters(net), 0, 0};

    for (size_t l = 0; l < net->layers; l++) {
        sums.bytes += layer_bytes(net, l);
        sums.operations += tw_network_operations(net, l);
    }
    return sums;
}

/* ---- table --------------------------------------------------------------------------------- */

static void shape_text(tw_shape_t shape, char *text, size_t size)
{
    if (shape.h == 1 && shape.w == 1) {
        snprintf(text, size, "%zu", shape.c);
    } else {
        snprintf(text, size, "%zux%zux%zu", shape.c, shape.h, shape.w);
    }
}

static int name_width(const tw_network_t *net)
{
    size_t width = 5;

    for (size_t l = 0; l < net->layers; l++) {
        width = strlen(net->layer[l].name) > width ? strlen(net->layer[l].name) : width;
    }
    return (int)width;
}

static void print_row(FILE *out, int width, const char *name, const char *kind, const char *shape,
                      size_t parameters, uint64_t operations, size_t bytes, size_t batch)
{
    fprintf(out, "%-*s  %-10s  %13s  %11zu  %14" PRIu64 "  %12zu  %14zu\n", width, name, kind,
            shape, parameters, operations, bytes, bytes * batch);
}

/* How it is trained, in the words of the file. */
static void print_training(const tw_network_t *net, FILE *out)
{
    fprintf(out, "training: %s, rate %g, ", optimizers[net->optimizer], net->rate);
    if (net->optimizer == TW_SGD) {
        fprintf(out, "momentum %g, ", net->momentum);
    } else {
        fprintf(out, "rms_decay %g, ", net->rms_decay);
    }
    fprintf(out, "decay %g, schedule %s, batch %" PRIu64 ", epochs %" PRIu64, net->decay,
            net->schedule[0] != '\0' ? net->schedule : "constant", net->batch, net->epochs);
    if (net->dropout_schedule[0] != '\0') {
        fprintf(out, ", dropout_schedule %s", net->dropout_schedule);
    }
    if (net->max_norm > 0.0) {
        fprintf(out, ", max_norm %g", net->max_norm);
    }
    fprintf(out, "\nimages: mean %g, scale %g, crop_pad %zu, mirror %s\n", (double)net->mean,
            (double)net->scale, net->crop_pad, net->mirror ? "true" : "false");
}

void tw_network_describe(const tw_network_t *net, size_t batch, FILE *out)
{
    const int       width = name_width(net);
    const tw_sums_t sums  = sum_up(net);
    char            shape[64], title[32];

    fprintf(out, "%s (%s)%s%s\n", net->name, net->source, net->help[0] != '\0' ? ": " : "",
            net->help);
    fprintf(out, "loss: %s over %zu classes\n", losses[net->loss], net->classes);
    print_training(net, out);
    snprintf(title, sizeof(title), "bytes of %zu", batch);
    fprintf(out, "\n%-*s  %-10s  %13s  %11s  %14s  %12s  %14s\n", width, "layer", "kind", "output",
            "parameters", "multiply-adds", "bytes of 1", title);
    shape_text(net->input, shape, sizeof(shape));
    print_row(out, width, "image", "", shape, 0, 0, tw_shape_size(net->input) * sizeof(float),
              batch);
    for (size_t l = 0; l < net->layers; l++) {
        const tw_network_layer_t *layer = &net->layer[l];

        shape_text(layer->out, shape, sizeof(shape));
        print_row(out, width, layer->name, tw_kind_name(layer->kind), shape,
                  tw_network_weights(net, l) + tw_network_biases(net, l),
                  tw_network_operations(net, l), layer_bytes(net, l), batch);
    }
    print_row(out, width, "total", "", "", sums.parameters, sums.operations, sums.bytes, batch);
    fprintf(out,
            "\nMultiply-adds are those forward, of one example; backward takes twice as many. "
            "Bytes are of the\n"
            "layers' outputs as float32, of 1 and of %zu examples.\n"
            "The optimizer keeps %zu bytes: on every rank with --update replicated, on rank 0 with "
            "root, a P-th\n"
            "on each of P ranks with sharded.\n",
            batch, sums.parameters * sizeof(float));
}

/* ---- memory of a device ---------------------------------------------------------------------- */

/* The largest of equal shares. */
static size_t share_of(size_t n, size_t ranks)
{
    return (n + ranks - 1) / ranks;
}

/* Parameters that a rank holds, and those that have owners elsewhere. */
static size_t count_parameters(const tw_network_t *net, const tw_network_share_t *share,
                               size_t *owned_p)
{
    size_t all = 0;

    *owned_p = 0;
    for (size_t l = 0; l < net->layers; l++) {
        const size_t n     = tw_network_weights(net, l) + tw_network_biases(net, l);
        const int    split = share->parts > 1 && net->layer[l].kind == TW_DENSE;

        all += !split || n == 0
                   ? n
                   : share_of(net->layer[l].out.c, share->parts) * (n / net->layer[l].out.c);
        *owned_p += split ? 0 : n;
    }
    return all;
}

/* Outputs before the first dense layer, of a rank's examples; and of dense layers, of as many as go
 * through them at a time, which with split layers are those of the ranks that share them. */
static size_t count_outputs(const tw_network_t *net, const tw_network_share_t *share)
{
    const size_t rows  = share_of(share->batch, share->ranks);
    size_t       trunk = tw_shape_size(net->input), dense = 0;

    for (size_t l = 0; l < net->layers; l++) {
        *(l < net->first_dense ? &trunk : &dense) += tw_shape_size(net->layer[l].out);
    }
    return rows * trunk +
           (share->parts == share->ranks ? share->batch : rows * share->parts) * dense;
}

static void print_memory(FILE *out, const char *what, size_t numbers)
{
    fprintf(out, "  %-34s %14zu bytes\n", what, numbers * sizeof(float));
}

void tw_network_describe_memory(const tw_network_t *net, const tw_network_share_t *share, FILE *out)
{
    size_t       owned, state;
    const size_t all     = count_parameters(net, share, &owned);
    const size_t outputs = count_outputs(net, share);
    const size_t masters = share->owners == 0   ? 0
                           : share->owners == 1 ? owned
                                                : share_of(owned, share->ranks);

    state = share->owners == 0 ? all : all - owned + masters;
    fprintf(out, "\nmemory of each device, %zu rank%s, batch %zu:\n", share->ranks,
            share->ranks == 1 ? "" : "s", share->batch);
    print_memory(out, "parameters", all);
    print_memory(out, "their gradients", all);
    print_memory(out, "the optimizer's state", state);
    if (share->owners != 0) {
        print_memory(out, "masters of what it owns", masters);
    }
    print_memory(out, "layers' outputs", outputs);
    print_memory(out, "their gradients, at most", outputs);
    print_memory(out, "in all", 2 * all + state + masters + 2 * outputs);
    fputs("and what cuDNN works in, batches on their way and messages; a run tells what it took.\n",
          out);
}
