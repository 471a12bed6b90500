/* SPDX-License-Identifier: BSD-3-Clause
 * compute/layers.c - the layers of a graph, a row each: what every backend refuses of it, and how
 * its gradients go. What a backend has to compute is in its own class.
 */
#include "config.h"

#include "train/compute/backend_ops.h"

typedef struct tw_layer_row {
    /* The shape of x[0] is checked already. NULL: nothing more. */
    int (*check)(const tw_network_layer_t *layer, tw_tensor_t *const *x, tw_problem_t *problem);
    size_t inputs;    /* at most, and two at least; 0: one                              */
    int    rectifies; /* a rectified result has its derivative in the operation itself */
    int    linear;    /* no activation                                                 */
    int    passes;    /* before the activation, gradients by y and by x are the same   */
    int    pools;     /* its result may be the largest of its inputs                   */
} tw_layer_row_t;

static int is_of(tw_shape_t want, tw_shape_t is)
{
    return is.c == want.c && is.h == want.h && is.w == want.w;
}

static int check_groups(const tw_network_layer_t *layer, tw_tensor_t *const *x,
                        tw_problem_t *problem)
{
    (void)x;
    return layer->groups > 0 && layer->in.c % layer->groups == 0 &&
                   layer->out.c % layer->groups == 0
               ? 0
               : tw_problem_set(problem, "layer %s: %zu groups of %zu and %zu channels",
                                layer->name, layer->groups, layer->in.c, layer->out.c);
}

/* All windows of a pooling have something of the image. */
static int check_windows(const tw_network_layer_t *layer, tw_tensor_t *const *x,
                         tw_problem_t *problem)
{
    const size_t in[2] = {layer->in.h, layer->in.w}, out[2] = {layer->out.h, layer->out.w};

    (void)x;
    for (int i = 0; i < 2; i++) {
        if ((out[i] - 1) * layer->stride[i] >= in[i] + layer->pad[i] ||
            layer->pad[i] >= layer->kernel[i]) {
            return tw_problem_set(problem, "layer %s has a window outside of the image",
                                  layer->name);
        }
    }
    return 0;
}

static int check_lrn(const tw_network_layer_t *layer, tw_tensor_t *const *x, tw_problem_t *problem)
{
    (void)x;
    return layer->lrn_size % 2 == 1
               ? 0
               : tw_problem_set(problem, "layer %s: a window of %zu channels; it must be odd",
                                layer->name, layer->lrn_size);
}

/* x[1] is such that an addition can take every stride-th position of it; the sum's activation. */
static int check_shortcut(const tw_network_layer_t *layer, tw_tensor_t *const *x,
                          tw_problem_t *problem)
{
    const tw_shape_t in = x[1]->shape, out = layer->out;

    if (layer->stride[0] == 0 || layer->stride[1] == 0 || in.c > out.c ||
        (in.h - 1) / layer->stride[0] + 1 != out.h || (in.w - 1) / layer->stride[1] + 1 != out.w) {
        return tw_problem_set(problem,
                              "layer %s adds %zu x %zu x %zu to %zu x %zu x %zu by a stride of "
                              "%zu x %zu, which does not fit",
                              layer->name, in.c, in.h, in.w, out.c, out.h, out.w, layer->stride[0],
                              layer->stride[1]);
    }
    if (layer->activation == TW_LOGISTIC) {
        return tw_problem_set(problem, "layer %s: a sum may be linear or rectified", layer->name);
    }
    return 0;
}

/* The inputs have one height and width, and together the channels of the result. */
static int check_joined(const tw_network_layer_t *layer, tw_tensor_t *const *x,
                        tw_problem_t *problem)
{
    tw_shape_t sum = {.h = layer->in.h, .w = layer->in.w};

    for (size_t i = 0; i < tw_layer_inputs(layer); i++) {
        if (x[i]->shape.h != sum.h || x[i]->shape.w != sum.w) {
            return tw_problem_set(problem, "layer %s joins %zu x %zu x %zu to %zu x %zu x %zu",
                                  layer->name, x[i]->shape.c, x[i]->shape.h, x[i]->shape.w,
                                  layer->in.c, layer->in.h, layer->in.w);
        }
        sum.c += x[i]->shape.c;
    }
    return is_of(layer->out, sum) ? 0
                                  : tw_problem_set(problem,
                                                   "layer %s joins %zu x %zu x %zu, not the %zu x "
                                                   "%zu x %zu of its output",
                                                   layer->name, sum.c, sum.h, sum.w, layer->out.c,
                                                   layer->out.h, layer->out.w);
}

static const tw_layer_row_t rows[TW_LAYER_KINDS] = {
    [TW_CONV]       = {check_groups},
    [TW_POOL]       = {check_windows, .linear = 1, .pools = 1},
    [TW_ACTIVATION] = {NULL, .passes = 1},
    [TW_LRN]        = {check_lrn, .linear = 1},
    [TW_NORM]       = {NULL, .rectifies = 1},
    [TW_ADD]        = {check_shortcut, .inputs = 2, .passes = 1},
    [TW_CONCAT]     = {check_joined, .inputs = TW_LAYER_INPUTS, .linear = 1},
    [TW_DROPOUT]    = {NULL, .linear = 1},
};

static int layers_check(const tw_network_layer_t *layer, tw_tensor_t *const *x, size_t inputs,
                        tw_problem_t *problem)
{
    const tw_layer_row_t *row  = &rows[layer->kind];
    const size_t          most = row->inputs != 0 ? row->inputs : 1;
    const tw_shape_t      want = layer->in, is = x[0]->shape;

    if (inputs > most || (inputs > 1) != (most > 1)) {
        return tw_problem_set(problem, "layer %s: %zu inputs; accepted are %u to %zu", layer->name,
                              inputs, most > 1 ? 2u : 1u, most);
    }
    if (!is_of(want, is)) {
        return tw_problem_set(problem, "layer %s takes %zu x %zu x %zu, not %zu x %zu x %zu",
                              layer->name, want.c, want.h, want.w, is.c, is.h, is.w);
    }
    return row->check != NULL ? row->check(layer, x, problem) : 0;
}

static void share(tw_op_t *op, const tw_network_layer_t *layer)
{
    const tw_layer_row_t *row = &rows[layer->kind];

    op->activation = row->linear ? TW_LINEAR : layer->activation;
    op->masked     = op->activation != TW_LINEAR && !(row->rectifies && op->activation == TW_RELU);
    op->maximum    = row->pools && layer->pooling == TW_POOL_MAX;
    for (size_t i = 0; i < op->inputs; i++) {
        op->passes[i] = row->passes && is_of(op->x[0]->shape, op->x[i]->shape) &&
                        op->x[0]->layout == op->x[i]->layout;
    }
}

int tw_graph_layer(tw_graph_t *graph, const tw_network_layer_t *layer, tw_op_params_t params,
                   tw_tensor_t *const *x, size_t inputs, tw_tensor_t **y_p, tw_op_t **op_p,
                   tw_problem_t *problem)
{
    const tw_op_class_t *class = graph->backend->ops->layers[layer->kind];
    tw_op_t *op;

    if (class == NULL || class->bytes == 0) {
        return tw_problem_set(problem, "layer %s: %s is unsupported by %s", layer->name,
                              tw_kind_name(layer->kind), graph->backend->name);
    }
    if (layers_check(layer, x, inputs, problem) != 0) {
        return -1;
    }
    op = tw_op_create(graph, class, x, inputs, problem);
    if (op == NULL) {
        return -1;
    }
    share(op, layer);
    if ((!class->lays_out &&
         tw_op_result(op, layer->out, x[0]->layout, params.gw != NULL && class->params != NULL,
                      problem) != 0) ||
        (class->make != NULL && class->make(op, layer, params, problem) != 0)) {
        return -1;
    }
    *y_p  = op->y;
    *op_p = op;
    return 0;
}
