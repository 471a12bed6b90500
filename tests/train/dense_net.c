/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/dense_net.c - see dense_net.h.
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/train/dense_net.h"
#include "tests/train/reference.h"
#include "train/base/random.h"

enum { LAYERS_MAX = 16 };

static void set_layer(tw_network_t *net, char letter, double number, size_t groups, int by_input)
{
    tw_network_layer_t *layer = &net->layer[net->layers];

    layer->in = net->layers == 0 ? net->input : layer[-1].out;
    snprintf(layer->name, sizeof(layer->name), "%c%zu", letter, net->layers);
    layer->input[0] = (int)net->layers - 1;
    for (size_t i = 1; i < TW_LAYER_INPUTS; i++) {
        layer->input[i] = -2;
    }
    layer->groups   = groups;
    layer->by_input = by_input;
    layer->w_rate = layer->b_rate = 1.0f;
    net->layers++;
    if (letter == 'd') {
        layer->kind = TW_DROPOUT;
        layer->rate = (float)number;
        layer->out  = layer->in;
        for (size_t i = 0; i + 1 < net->layers; i++) {
            layer->drop += net->layer[i].kind == TW_DROPOUT;
        }
        return;
    }
    layer->kind = TW_DENSE;
    layer->out  = (tw_shape_t){(size_t)number, 1, 1};
    layer->bias = islower(letter) != 0;
    layer->activation =
        tolower(letter) == 'r' ? TW_RELU : (tolower(letter) == 's' ? TW_LOGISTIC : TW_LINEAR);
    net->classes = layer->out.c;
}

void dense_net_make(tw_network_t *net, tw_shape_t input, tw_loss_t loss, const char *layers)
{
    *net       = (tw_network_t){.name = "test", .input = input, .loss = loss};
    net->layer = calloc(LAYERS_MAX, sizeof(*net->layer));
    for (const char *at = layers; *at != '\0' && net->layers < LAYERS_MAX;) {
        char        *end;
        const double number = strtod(at + 1, &end);
        const size_t groups = *end == '/' ? strtoul(end + 1, &end, 10) : 1;

        const int by_input = *end == '+';

        set_layer(net, *at, number, groups, by_input);
        end += by_input;
        at = *end == ' ' ? end + 1 : end;
    }
}

void dense_net_destroy(tw_network_t *net)
{
    free(net->layer);
}

void dense_net_fill(float *x, size_t n, uint64_t key, float range)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = range * (2.0f * tw_random_uniform(key, i) - 1.0f);
    }
}

float *dense_net_drawn(size_t n, uint64_t key)
{
    float *x = aligned_alloc(64, (n * sizeof(float) + 64 + 63) / 64 * 64);

    dense_net_fill(x, n, key, 1.0f);
    return x;
}

void dense_net_examples(size_t n, size_t classes, uint64_t key, uint32_t *labels,
                        uint64_t *examples)
{
    for (size_t j = 0; j < n; j++) {
        labels[j]   = tw_random_below(key + 1, j, (uint32_t)classes);
        examples[j] = 1000 + 7 * j + (key & 0xff);
    }
}

/* ---- in double ------------------------------------------------------------------------------ */

typedef struct values {
    double *y[LAYERS_MAX + 1]; /* y[0] is the input, y[i + 1] what layer i gives */
} values_t;

static const double *tensor(const tw_params_t *params, const double *flat, size_t layer,
                            tw_param_role_t role)
{
    const tw_param_t *param = tw_params_find(params, layer, role);

    return param == NULL || flat == NULL ? NULL : flat + param->first;
}

static void run_forward(const tw_network_t *net, const tw_params_t *params,
                        const tw_head_pass_t *pass, const double *value, values_t *v)
{
    const ref_pass_t how = {pass->training, pass->seed, pass->step, pass->examples, pass->less};

    for (size_t i = 0; i < net->layers; i++) {
        const tw_network_layer_t *layer = &net->layer[i];
        const size_t              out   = pass->n * tw_shape_size(layer->out);

        v->y[i + 1] = calloc(out + 1, sizeof(double));
        if (layer->kind == TW_DROPOUT) {
            memcpy(v->y[i + 1], v->y[i], out * sizeof(double));
            ref_dropout(layer, pass->n, &how, v->y[i + 1]);
        } else {
            ref_dense(layer, pass->n, v->y[i], tensor(params, value, i, TW_WEIGHT),
                      tensor(params, value, i, TW_BIAS), v->y[i + 1]);
            ref_activate(layer->activation, out, v->y[i + 1]);
        }
    }
}

/* d: the gradient by what the last layer gives; freed. */
static void run_backward(const tw_network_t *net, const tw_params_t *params,
                         const tw_head_pass_t *pass, const double *value, const values_t *v,
                         double *d, double *gradient, double *gx)
{
    const ref_pass_t how = {pass->training, pass->seed, pass->step, pass->examples, pass->less};

    for (size_t i = net->layers; i-- > 0;) {
        const tw_network_layer_t *layer = &net->layer[i];
        double                   *below;

        if (layer->kind == TW_DROPOUT) {
            ref_dropout(layer, pass->n, &how, d);
            continue;
        }
        below = calloc(pass->n * tw_shape_size(layer->in) + 1, sizeof(double));
        ref_activate_back(layer->activation, pass->n * layer->out.c, v->y[i + 1], d);
        ref_dense_back(layer, pass->n, v->y[i], tensor(params, value, i, TW_WEIGHT), d, below,
                       (double *)tensor(params, gradient, i, TW_WEIGHT),
                       (double *)tensor(params, gradient, i, TW_BIAS));
        free(d);
        d = below;
    }
    if (gx != NULL) {
        memcpy(gx, d, pass->n * tw_shape_size(net->input) * sizeof(double));
    }
    free(d);
}

static tw_head_wrong_t count_wrong(size_t n, size_t classes, const double *z,
                                   const uint32_t *labels)
{
    tw_head_wrong_t wrong = {.one = 0};

    for (size_t j = 0; j < n; j++) {
        size_t greater = 0;

        for (size_t c = 0; c < classes; c++) {
            greater += z[j * classes + c] > z[j * classes + labels[j]];
        }
        wrong.one += greater >= 1;
        wrong.five += greater >= 5;
    }
    return wrong;
}

double dense_net_reference(const tw_network_t *net, const tw_params_t *params,
                           const tw_head_pass_t *pass, const double *value, const double *x,
                           double *gradient, double *gx, tw_head_wrong_t *wrong_p)
{
    values_t v = {.y = {(double *)x}};
    double  *d = calloc(pass->n * net->classes + 1, sizeof(double)), loss;

    run_forward(net, params, pass, value, &v);
    loss = ref_loss(net->loss, net->classes, pass->n, v.y[net->layers], pass->labels,
                    (double)pass->scale, d);
    if (wrong_p != NULL) {
        *wrong_p = count_wrong(pass->n, net->classes, v.y[net->layers], pass->labels);
    }
    if (gradient != NULL) {
        memset(gradient, 0, params->total * sizeof(double));
        run_backward(net, params, pass, value, &v, d, gradient, gx);
    } else {
        free(d);
    }
    for (size_t i = 1; i <= net->layers; i++) {
        free(v.y[i]);
    }
    return loss;
}
