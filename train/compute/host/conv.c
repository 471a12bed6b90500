/* SPDX-License-Identifier: BSD-3-Clause
 * host/conv.c - convolution by oneDNN.
 *
 * The input keeps its layout if oneDNN is fast with it, the result takes the layout that oneDNN
 * likes best, and both gradients follow their values. Where that gives a slow implementation, the
 * data is brought into the one that oneDNN likes, in scratch memory. Weights are plain for the
 * caller and brought into their layout by every pass, for they change in between.
 */
#include "config.h"

#include <string.h>

#include "train/compute/host/host.h"

/* A primitive, and conversions of its arguments where they are needed. */
typedef struct tw_way {
    tw_primitive_t main, x, w, y;
} tw_way_t;

typedef struct tw_conv {
    tw_op_t        op;
    float         *w, *b, *gw, *gb; /* w and b are only read */
    float         *dx;
    tw_shape_t     shape; /* of y */
    tw_conv_form_t form;
    tw_way_t       way[3]; /* by tw_role_t */
} tw_conv_t;

static void conv_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    tw_conv_t *conv = (tw_conv_t *)op;
    tw_way_t  *way  = &conv->way[TW_FORWARD];

    (void)pass;
    if (way->x.run != NULL) {
        tw_primitive_run(op->graph, &way->x);
    }
    if (way->w.run != NULL) {
        tw_primitive_run(op->graph, &way->w);
    }
    tw_primitive_run(op->graph, &way->main);
    if (op->activation == TW_LOGISTIC) {
        tw_activate(op->y, op->y->value, TW_LOGISTIC);
    }
}

static void backward_params(tw_op_t *op)
{
    tw_conv_t *conv = (tw_conv_t *)op;
    tw_way_t  *way  = &conv->way[TW_BACKWARD_WEIGHTS];

    (void)tw_gradient_settled(op);
    if (way->x.run != NULL) {
        tw_primitive_run(op->graph, &way->x);
    }
    if (way->y.run != NULL) {
        tw_primitive_run(op->graph, &way->y);
    }
    tw_primitive_run(op->graph, &way->main);
    if (way->w.run != NULL) {
        tw_primitive_run(op->graph, &way->w);
    }
}

static void backward_data(tw_op_t *op)
{
    tw_conv_t *conv = (tw_conv_t *)op;
    tw_way_t  *way  = &conv->way[TW_BACKWARD_DATA];

    (void)tw_gradient_settled(op);
    conv->dx = tw_gradient_take(op->x[0]);
    if (way->y.run != NULL) {
        tw_primitive_run(op->graph, &way->y);
    }
    if (way->w.run != NULL) {
        tw_primitive_run(op->graph, &way->w);
    }
    tw_primitive_run(op->graph, &way->main);
    if (way->x.run != NULL) {
        tw_primitive_run(op->graph, &way->x);
    }
    tw_gradient_put(op->x[0], conv->dx);
}

static void conv_destroy(tw_op_t *op)
{
    tw_conv_t *conv = (tw_conv_t *)op;

    for (int role = 0; role < 3; role++) {
        tw_primitive_destroy(&conv->way[role].x);
        tw_primitive_destroy(&conv->way[role].w);
        tw_primitive_destroy(&conv->way[role].y);
        tw_primitive_destroy(&conv->way[role].main);
    }
}

/* How slow a description's implementation is: 0 made for its layout, 1 by copies and matrix
 * products, 2 plain loops; 3: there is none. */
static int slowness(dnnl_primitive_desc_t desc)
{
    const char *name = "";

    if (desc == NULL) {
        return 3;
    }
    (void)dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
    if (strncmp(name, "ref", 3) == 0 || strncmp(name, "simple", 6) == 0) {
        return 2;
    }
    return strncmp(name, "gemm:", 5) == 0 || strstr(name, ":gemm:") != NULL;
}

/* A description with the layouts given, NULL if there is none. */
static dnnl_primitive_desc_t try_layouts(tw_conv_t *conv, tw_role_t role, int x, int y)
{
    tw_graph_t           *graph = conv->op.graph;
    dnnl_primitive_desc_t desc  = NULL;
    tw_conv_form_t        form  = conv->form;
    tw_describe_t         how   = {
                  .role = role, .training = conv->gw != NULL, .hint = conv->way[TW_FORWARD].main.desc};

    how.attr = role == TW_FORWARD && conv->op.activation == TW_RELU ? tw_host_of(graph)->relu_attr
                                                                    : tw_host_of(graph)->attr;
    form.x = form.y = NULL;
    if (tw_host_md(&form.x, graph->n, conv->op.x[0]->shape, x) == dnnl_success &&
        tw_host_md(&form.y, graph->n, conv->shape, y) == dnnl_success &&
        tw_conv_describe(&desc, tw_host_of(graph)->engine, &how, &form) != dnnl_success) {
        desc = NULL;
    }
    tw_md_destroy(form.x);
    tw_md_destroy(form.y);
    return desc;
}

/* A description with these layouts, or with any if that is faster. */
static dnnl_primitive_desc_t choose(tw_conv_t *conv, tw_role_t role, int x, int y)
{
    dnnl_primitive_desc_t desc = try_layouts(conv, role, x, y), other;

    if (slowness(desc) == 0) {
        return desc;
    }
    other = try_layouts(conv, role, TW_ANY_LAYOUT, TW_ANY_LAYOUT);
    if (slowness(other) < slowness(desc)) {
        (void)dnnl_primitive_desc_destroy(desc);
        return other;
    }
    (void)dnnl_primitive_desc_destroy(other);
    return desc;
}

/* Which of our layouts a descriptor of y has, TW_ANY_LAYOUT if none. */
static int layout_of(tw_conv_t *conv, tw_md_t md)
{
    int layout, found = 0;

    for (layout = 0; layout < TW_LAYOUTS && !found; layout++) {
        tw_md_t ours = NULL;

        found = tw_host_md(&ours, conv->op.graph->n, conv->shape, layout) == dnnl_success &&
                dnnl_memory_desc_equal(ours, md);
        tw_md_destroy(ours);
    }
    return found ? layout - 1 : TW_ANY_LAYOUT;
}

/* Bind an argument: to the caller's variable if the layouts are the same, else to scratch with a
 * conversion there or, out, back. */
static int attach(tw_conv_t *conv, tw_primitive_t *main, tw_primitive_t *convert, int arg,
                  dnnl_query_t query, tw_md_t ours, float *const *from, tw_temp_use_t use, int out,
                  tw_problem_t *problem)
{
    tw_host_t    *backend = tw_host_of(conv->op.graph);
    const tw_md_t theirs  = tw_primitive_md(main, query);
    float *const *temp    = &backend->temp[use];

    if (dnnl_memory_desc_equal(ours, theirs)) {
        return tw_primitive_bind(backend, main, arg, ours, from, problem);
    }
    if (tw_host_temp(backend, use, dnnl_memory_desc_get_size(theirs), problem) != 0 ||
        tw_primitive_bind(backend, main, arg, theirs, temp, problem) != 0) {
        return -1;
    }
    return out ? tw_primitive_reorder(backend, convert, theirs, temp, ours, from, problem)
               : tw_primitive_reorder(backend, convert, ours, from, theirs, temp, problem);
}

static int bind_bias(tw_conv_t *conv, tw_primitive_t *main, int arg, float *const *from,
                     tw_problem_t *problem)
{
    return conv->form.b == NULL ? 0
                                : tw_primitive_bind(tw_host_of(conv->op.graph), main, arg,
                                                    conv->form.b, from, problem);
}

static int make(tw_conv_t *conv, tw_role_t role, dnnl_primitive_desc_t desc, tw_problem_t *problem)
{
    if (desc == NULL) {
        return tw_host_problem(problem, "a convolution", dnnl_unimplemented);
    }
    return tw_primitive_create(tw_host_of(conv->op.graph), &conv->way[role].main, desc, problem);
}

static int make_forward(tw_conv_t *conv, tw_md_t plain_w, tw_problem_t *problem)
{
    tw_way_t             *way  = &conv->way[TW_FORWARD];
    tw_tensor_t          *x    = conv->op.x[0];
    dnnl_primitive_desc_t desc = choose(conv, TW_FORWARD, (int)x->layout, TW_ANY_LAYOUT);
    int                   layout;

    if (make(conv, TW_FORWARD, desc, problem) != 0) {
        return -1;
    }
    layout = layout_of(conv, tw_primitive_md(&way->main, dnnl_query_dst_md));
    if (layout == TW_ANY_LAYOUT) {
        tw_primitive_destroy(&way->main);
        layout = TW_PLAIN;
        desc   = try_layouts(conv, TW_FORWARD, (int)x->layout, TW_PLAIN);
        if (make(conv, TW_FORWARD, desc, problem) != 0) {
            return -1;
        }
    }
    if (tw_op_result(&conv->op, conv->shape, (tw_layout_t)layout, conv->gw != NULL, problem) != 0) {
        return -1;
    }
    return attach(conv, &way->main, &way->x, DNNL_ARG_SRC, dnnl_query_src_md, x->md, &x->value,
                  TW_TEMP_X, 0, problem) == 0 &&
                   attach(conv, &way->main, &way->w, DNNL_ARG_WEIGHTS, dnnl_query_weights_md,
                          plain_w, &conv->w, TW_TEMP_W, 0, problem) == 0 &&
                   bind_bias(conv, &way->main, DNNL_ARG_BIAS, &conv->b, problem) == 0
               ? tw_primitive_bind(tw_host_of(conv->op.graph), &way->main, DNNL_ARG_DST,
                                   conv->op.y->md, &conv->op.y->value, problem)
               : -1;
}

static int make_params(tw_conv_t *conv, tw_md_t plain_w, tw_problem_t *problem)
{
    tw_way_t             *way = &conv->way[TW_BACKWARD_WEIGHTS];
    tw_tensor_t          *x = conv->op.x[0], *y = conv->op.y;
    dnnl_primitive_desc_t desc = choose(conv, TW_BACKWARD_WEIGHTS, (int)x->layout, (int)y->layout);

    return make(conv, TW_BACKWARD_WEIGHTS, desc, problem) == 0 &&
                   attach(conv, &way->main, &way->x, DNNL_ARG_SRC, dnnl_query_src_md, x->md,
                          &x->value, TW_TEMP_X, 0, problem) == 0 &&
                   attach(conv, &way->main, &way->w, DNNL_ARG_DIFF_WEIGHTS,
                          dnnl_query_diff_weights_md, plain_w, &conv->gw, TW_TEMP_W, 1,
                          problem) == 0 &&
                   bind_bias(conv, &way->main, DNNL_ARG_DIFF_BIAS, &conv->gb, problem) == 0
               ? attach(conv, &way->main, &way->y, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, y->md,
                        &y->settled, TW_TEMP_Y, 0, problem)
               : -1;
}

static int make_data(tw_conv_t *conv, tw_md_t plain_w, tw_problem_t *problem)
{
    tw_way_t             *way = &conv->way[TW_BACKWARD_DATA];
    tw_tensor_t          *x = conv->op.x[0], *y = conv->op.y;
    dnnl_primitive_desc_t desc = choose(conv, TW_BACKWARD_DATA, (int)x->layout, (int)y->layout);

    return make(conv, TW_BACKWARD_DATA, desc, problem) == 0 &&
                   attach(conv, &way->main, &way->x, DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md,
                          x->md, &conv->dx, TW_TEMP_X, 1, problem) == 0 &&
                   attach(conv, &way->main, &way->w, DNNL_ARG_WEIGHTS, dnnl_query_weights_md,
                          plain_w, &conv->w, TW_TEMP_W, 0, problem) == 0
               ? attach(conv, &way->main, &way->y, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, y->md,
                        &y->settled, TW_TEMP_Y, 0, problem)
               : -1;
}

/* A descriptor of the weights: those of several groups have a dimension more. */
static dnnl_status_t weights_md(tw_md_t *md_p, const tw_network_layer_t *layer,
                                dnnl_format_tag_t one, dnnl_format_tag_t several)
{
    const dnnl_dim_t g = (dnnl_dim_t)layer->groups, out = (dnnl_dim_t)layer->out.c,
                     in = (dnnl_dim_t)layer->in.c, h = (dnnl_dim_t)layer->kernel[0],
                     w        = (dnnl_dim_t)layer->kernel[1];
    const dnnl_dims_t whole   = {out, in, h, w};
    const dnnl_dims_t grouped = {g, out / g, in / g, h, w};

    return g > 1 ? tw_md_create(md_p, 5, grouped, several) : tw_md_create(md_p, 4, whole, one);
}

/* All three ways, with descriptors of weights and biases that oneDNN may lay out (form) and plain.
 */
static int make_all(tw_conv_t *conv, const tw_network_layer_t *layer, tw_problem_t *problem)
{
    const dnnl_dims_t b_dims = {(dnnl_dim_t)layer->out.c};
    tw_md_t           plain_w;
    dnnl_status_t     s;
    int               rc = -1;

    s = weights_md(&plain_w, layer, dnnl_oihw, dnnl_goihw);
    if (s == dnnl_success) {
        s = weights_md(&conv->form.w, layer, dnnl_format_tag_any, dnnl_format_tag_any);
    }
    if (s == dnnl_success && conv->b != NULL) {
        s = tw_md_create(&conv->form.b, 1, b_dims, dnnl_x);
    }
    if (s != dnnl_success) {
        (void)tw_host_problem(problem, "a convolution", s);
    } else if (make_forward(conv, plain_w, problem) == 0) {
        rc = 0;
        if (conv->gw != NULL) {
            rc = make_params(conv, plain_w, problem);
        }
        if (rc == 0 && conv->op.x[0]->wanted) {
            rc = make_data(conv, plain_w, problem);
        }
    }
    tw_md_destroy(plain_w);
    tw_md_destroy(conv->form.w);
    tw_md_destroy(conv->form.b);
    conv->form.w = conv->form.b = NULL;
    return rc;
}

static int conv_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                     tw_problem_t *problem)
{
    tw_conv_t *conv = (tw_conv_t *)op;

    conv->shape = layer->out;
    conv->w     = (float *)(uintptr_t)params.w;
    conv->b     = (float *)(uintptr_t)params.b;
    conv->gw    = params.gw;
    conv->gb    = params.gb;
    for (int i = 0; i < 2; i++) {
        conv->form.stride[i] = (dnnl_dim_t)layer->stride[i];
        conv->form.pad[i]    = (dnnl_dim_t)layer->pad[i];
    }
    return make_all(conv, layer, problem);
}

const tw_op_class_t tw_host_conv = {.name     = "conv",
                                    .bytes    = sizeof(tw_conv_t),
                                    .forward  = conv_forward,
                                    .params   = backward_params,
                                    .data     = backward_data,
                                    .destroy  = conv_destroy,
                                    .lays_out = 1,
                                    .make     = conv_make};
