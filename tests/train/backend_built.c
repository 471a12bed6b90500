/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/backend_built.c - networks by a backend; see backend_net.h.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/train/backend_net.h"

void *net_room(built_t *b, size_t bytes)
{
    void *p;

    ck_assert_msg(tw_backend_allocate(b->backend, bytes, &p, &b->problem) == 0, "%s",
                  b->problem.text);
    return p;
}

void net_put(built_t *b, void *to, const void *from, size_t bytes)
{
    ck_assert_int_eq(tw_backend_put(b->backend, to, from, bytes, &b->problem), 0);
}

void net_get(built_t *b, void *to, const void *from, size_t bytes)
{
    ck_assert_msg(tw_backend_get(b->backend, to, from, bytes, &b->problem) == 0, "%s",
                  b->problem.text);
}

static void lend(built_t *b, numbers_t *v)
{
    v->on       = net_room(b, v->count * sizeof(float));
    v->gradient = net_room(b, v->count * sizeof(float));
    net_put(b, v->on, v->f, v->count * sizeof(float));
}

static void take_back(built_t *b, numbers_t *v)
{
    tw_backend_release(b->backend, v->on);
    tw_backend_release(b->backend, v->gradient);
    v->on = v->gradient = NULL;
}

static tw_tensor_t *tensor_of(net_t *net, tw_tensor_t *image, int index)
{
    return index < 0 ? image : net->layer[index].tensor;
}

static int build_layer(net_t *net, built_t *b, tw_tensor_t *image, layer_t *layer, int gradients)
{
    const tw_network_layer_t *l      = &layer->l;
    const size_t              inputs = tw_layer_inputs(l);
    tw_tensor_t              *x[TW_LAYER_INPUTS];
    tw_op_params_t            params = {.w = NULL};

    for (size_t i = 0; i < inputs; i++) {
        x[i] = tensor_of(net, image, l->input[i]);
    }
    lend(b, &layer->w);
    lend(b, &layer->b);
    params.w  = layer->w.on;
    params.b  = layer->b.count > 0 ? layer->b.on : NULL;
    params.gw = gradients ? layer->w.gradient : NULL;
    params.gb = gradients && layer->b.count > 0 ? layer->b.gradient : NULL;
    return tw_graph_layer(b->graph, l, params, x, inputs, &layer->tensor, &layer->op, &b->problem);
}

void net_build(net_t *net, built_t *b, const tw_compute_kernels_t *kernels, int threads,
               int gradients)
{
    tw_tensor_t *image;

    memset(b, 0, sizeof(*b));
    ck_assert_msg(backend_here(&b->backend, kernels, threads, &b->problem) == 0, "%s",
                  b->problem.text);
    if (net->direct) {
        backend_direct(b->backend);
    }
    b->moments = net_room(b, 513 * sizeof(double));
    b->sums    = net_room(b, 512 * sizeof(double));
    b->fixed   = net_room(b, 512 * sizeof(float));
    b->count   = net->n * tw_shape_size(net->layer[net->layers - 1].l.out);
    b->got     = calloc(b->count, sizeof(float));
    ck_assert_int_eq(tw_graph_create(b->backend, net->n, &b->graph, &b->problem), 0);
    ck_assert_int_eq(tw_graph_input(b->graph, net->input, &image, &b->input, &b->problem), 0);
    for (size_t i = 0; i < net->layers; i++) {
        ck_assert_msg(build_layer(net, b, image, &net->layer[i], gradients) == 0, "%s: %s",
                      net->name, b->problem.text);
    }
    ck_assert_int_eq(tw_graph_output(b->graph, net->layer[net->layers - 1].tensor, &b->output,
                                     &b->gradient, &b->end, &b->problem),
                     0);
}

void net_built_end(net_t *net, built_t *b)
{
    tw_graph_destroy(b->graph);
    for (size_t i = 0; i < net->layers; i++) {
        take_back(b, &net->layer[i].w);
        take_back(b, &net->layer[i].b);
    }
    tw_backend_release(b->backend, b->moments);
    tw_backend_release(b->backend, b->sums);
    tw_backend_release(b->backend, b->fixed);
    ck_assert_uint_eq(tw_backend_memory_used(b->backend), backend_keeps(b->backend));
    tw_backend_destroy(b->backend);
    free(b->got);
}

void net_forward(net_t *net, built_t *b, const tw_op_pass_t *pass)
{
    net_put(b, b->input, net->x.f, net->x.count * sizeof(float));
    for (size_t i = 0; i < net->layers; i++) {
        layer_t     *layer = &net->layer[i];
        const size_t c     = layer->l.in.c;

        if (layer->l.kind == TW_NORM && pass->training) {
            tw_op_norm_moments(layer->op, b->moments);
            tw_op_norm_set(layer->op, b->moments);
        } else if (layer->l.kind == TW_NORM) {
            float mean[256], var[256];

            for (size_t k = 0; k < c; k++) {
                mean[k] = net_fixed_mean(k);
                var[k]  = net_fixed_var(k);
            }
            net_put(b, b->fixed, mean, c * sizeof(float));
            net_put(b, b->fixed + c, var, c * sizeof(float));
            tw_op_norm_fixed(layer->op, b->fixed, b->fixed + c);
        }
        tw_op_forward(layer->op, pass);
    }
    tw_op_forward(b->end, pass);
    net_get(b, b->got, b->output, b->count * sizeof(float));
}

void net_backward_to(net_t *net, built_t *b, size_t last)
{
    net_put(b, b->gradient, net->out.f, net->out.count * sizeof(float));
    ck_assert_msg(tw_graph_backward_begin(b->graph, &b->problem) == 0, "%s", b->problem.text);
    tw_op_backward_params(b->end);
    tw_op_backward_data(b->end);
    for (size_t i = net->layers; i > last; i--) {
        layer_t *layer = &net->layer[i - 1];

        if (layer->l.kind == TW_NORM) {
            const double count = (double)net->n * (double)(layer->l.in.h * layer->l.in.w);

            net_put(b, b->moments, &count, sizeof(count));
            tw_op_norm_sums(layer->op, b->sums);
            tw_op_norm_set_sums(layer->op, b->sums, b->moments);
        }
        tw_op_backward_params(layer->op);
        tw_op_backward_data(layer->op);
    }
    ck_assert_msg(tw_graph_finish(b->graph, &b->problem) == 0, "%s", b->problem.text);
    for (size_t i = last; i < net->layers; i++) {
        layer_t *layer = &net->layer[i];

        net_get(b, layer->w.got, layer->w.gradient, layer->w.count * sizeof(float));
        net_get(b, layer->b.got, layer->b.gradient, layer->b.count * sizeof(float));
    }
}

void net_backward(net_t *net, built_t *b)
{
    net_backward_to(net, b, 0);
}
