/* SPDX-License-Identifier: BSD-3-Clause
 * model/net.c - memory, first weights and hashes of a network; the passes are in pass.c.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/hash.h"
#include "train/model/net.h"
#include "train/random.h"

/* Aligned for the widest vectors, zeroed; NULL without memory. */
static float *floats(size_t n)
{
    const size_t bytes = (n * sizeof(float) + 63) / 64 * 64;
    float       *p     = aligned_alloc(64, bytes == 0 ? 64 : bytes);

    if (p != NULL) {
        memset(p, 0, bytes);
    }
    return p;
}

static int create_layer(tw_layer_t *layer, size_t rows_max, int last)
{
    const size_t n = layer->in * layer->units;

    layer->w = floats(n);
    layer->m = floats(n);
    layer->g = floats(n);
    layer->y = floats(rows_max * layer->units);
    layer->d = last ? layer->y : floats(rows_max * layer->units);
    return layer->w != NULL && layer->m != NULL && layer->g != NULL && layer->y != NULL &&
                   layer->d != NULL
               ? 0
               : -1;
}

int tw_net_create(tw_net_t *net, const tw_model_t *model, const tw_kernels_t *kernels,
                  size_t rows_max, int threads)
{
    size_t widest = 0;
    int    status = 0;

    *net = (tw_net_t){.model    = model,
                      .kernels  = kernels,
                      .threads  = threads,
                      .rows_max = rows_max,
                      .layers   = model->layers};
    for (size_t l = 0; l < model->layers; l++) {
        tw_layer_t *layer = &net->layer[l];

        layer->in    = tw_model_inputs(model, l);
        layer->units = model->layer[l].units;
        layer->bias  = net->biases;
        net->biases += layer->units;
        widest = layer->units > widest ? layer->units : widest;
        if (create_layer(layer, rows_max, l + 1 == model->layers) != 0) {
            status = -1;
        }
    }
    net->b      = floats(net->biases);
    net->bm     = floats(net->biases);
    net->bg     = floats(net->biases + 2);
    net->x      = floats(rows_max * model->inputs);
    net->column = floats(widest);
    if (status != 0 || net->b == NULL || net->bm == NULL || net->bg == NULL || net->x == NULL ||
        net->column == NULL) {
        tw_net_destroy(net);
        return -1;
    }
    return 0;
}

void tw_net_destroy(tw_net_t *net)
{
    for (size_t l = 0; l < net->layers; l++) {
        tw_layer_t *layer = &net->layer[l];

        if (layer->d != layer->y) {
            free(layer->d);
        }
        free(layer->y);
        free(layer->g);
        free(layer->m);
        free(layer->w);
    }
    free(net->column);
    free(net->x);
    free(net->bg);
    free(net->bm);
    free(net->b);
    memset(net, 0, sizeof(*net));
}

void tw_net_init(tw_net_t *net, uint64_t seed)
{
    for (size_t l = 0; l < net->layers; l++) {
        tw_layer_t    *layer = &net->layer[l];
        const uint64_t key   = tw_random_key(seed, TW_RANDOM_WEIGHTS, l, 0);
        const float    range = net->model->init * sqrtf(6.0f / (float)(layer->in + layer->units));

        for (size_t i = 0; i < layer->in * layer->units; i++) {
            layer->w[i] = range * (2.0f * tw_random_uniform(key, i) - 1.0f);
        }
        memset(layer->m, 0, layer->in * layer->units * sizeof(float));
    }
    memset(net->b, 0, net->biases * sizeof(float));
    memset(net->bm, 0, net->biases * sizeof(float));
}

static int all_finite(const float *x, size_t n)
{
    uint32_t found = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &x[i], sizeof(bits));
        found |= (bits & UINT32_C(0x7f800000)) == UINT32_C(0x7f800000);
    }
    return found == 0;
}

uint64_t tw_net_hash(const tw_net_t *net, size_t l, int *finite_p)
{
    const tw_layer_t *layer = &net->layer[l];
    const size_t      n     = layer->in * layer->units;

    *finite_p = all_finite(layer->w, n) && all_finite(net->b + layer->bias, layer->units);
    return tw_hash(tw_hash(l, layer->w, n * sizeof(float)), net->b + layer->bias,
                   layer->units * sizeof(float));
}
