/* SPDX-License-Identifier: BSD-3-Clause
 * host/pool.c - pooling and local response normalisation by oneDNN: operations that keep their
 * input's layout and, in training, may keep a workspace from forward to backward.
 */
#include "config.h"

#include "train/compute/host/host.h"

typedef struct tw_simple {
    tw_op_t        op;
    tw_primitive_t forward, backward;
    float         *workspace, *dx;
} tw_simple_t;

static void pool_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    (void)pass;
    tw_primitive_run(op->graph, &((tw_simple_t *)op)->forward);
}

static void backward_data(tw_op_t *op)
{
    tw_simple_t *simple = (tw_simple_t *)op;

    (void)tw_gradient_settled(op);
    simple->dx = tw_gradient_take(op->x[0]);
    tw_primitive_run(op->graph, &simple->backward);
    tw_gradient_put(op->x[0], simple->dx);
}

static void pool_destroy(tw_op_t *op)
{
    tw_simple_t *simple = (tw_simple_t *)op;

    tw_primitive_destroy(&simple->backward);
    tw_primitive_destroy(&simple->forward);
    tw_backend_release(op->graph->backend, simple->workspace);
}

/* Memory for the workspace, if the forward primitive has one, bound to a primitive. */
static int bind_workspace(tw_simple_t *simple, tw_primitive_t *p, tw_problem_t *problem)
{
    const tw_md_t md    = tw_primitive_md(&simple->forward, dnnl_query_workspace_md);
    const size_t  bytes = md == NULL ? 0 : dnnl_memory_desc_get_size(md);

    if (bytes == 0) {
        return 0;
    }
    if (simple->workspace == NULL) {
        void *memory;

        if (tw_backend_allocate(simple->op.graph->backend, bytes, &memory, problem) != 0) {
            return -1;
        }
        simple->workspace = memory;
    }
    return tw_primitive_bind(tw_host_of(simple->op.graph), p, DNNL_ARG_WORKSPACE, md,
                             &simple->workspace, problem);
}

static int make_forward(tw_simple_t *simple, dnnl_primitive_desc_t desc, tw_problem_t *problem)
{
    tw_host_t      *backend = tw_host_of(simple->op.graph);
    tw_primitive_t *p       = &simple->forward;
    tw_tensor_t    *x = simple->op.x[0], *y = simple->op.y;

    return tw_primitive_create(backend, p, desc, problem) == 0 &&
                   tw_primitive_bind(backend, p, DNNL_ARG_SRC, x->md, &x->value, problem) == 0 &&
                   tw_primitive_bind(backend, p, DNNL_ARG_DST, y->md, &y->value, problem) == 0
               ? bind_workspace(simple, p, problem)
               : -1;
}

/* value: the primitive reads x again. */
static int make_backward(tw_simple_t *simple, dnnl_primitive_desc_t desc, int value,
                         tw_problem_t *problem)
{
    tw_host_t      *backend = tw_host_of(simple->op.graph);
    tw_primitive_t *p       = &simple->backward;
    tw_tensor_t    *x = simple->op.x[0], *y = simple->op.y;

    if (tw_primitive_create(backend, p, desc, problem) != 0 ||
        tw_primitive_bind(backend, p, DNNL_ARG_DIFF_SRC, x->md, &simple->dx, problem) != 0 ||
        tw_primitive_bind(backend, p, DNNL_ARG_DIFF_DST, y->md, &y->settled, problem) != 0) {
        return -1;
    }
    if (value && tw_primitive_bind(backend, p, DNNL_ARG_SRC, x->md, &x->value, problem) != 0) {
        return -1;
    }
    return bind_workspace(simple, p, problem);
}

/* What differs between the two kinds: the description of a primitive from a form of theirs. */
typedef dnnl_status_t tw_describe_fn(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                                     const tw_describe_t *how, const void *form);

static dnnl_status_t describe_pool(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                                   const tw_describe_t *how, const void *form)
{
    return tw_pool_describe(desc_p, engine, how, form);
}

static dnnl_status_t describe_lrn(dnnl_primitive_desc_t *desc_p, dnnl_engine_t engine,
                                  const tw_describe_t *how, const void *form)
{
    return tw_lrn_describe(desc_p, engine, how, form);
}

/* Forward, and backward where somebody wants the gradient by x. */
static int make_both(tw_simple_t *simple, tw_describe_fn *describe, const void *form, int value,
                     const char *layer, tw_problem_t *problem)
{
    const tw_host_t      *backend = tw_host_of(simple->op.graph);
    const int             wanted  = simple->op.x[0]->wanted;
    tw_describe_t         how     = {.role = TW_FORWARD, .attr = backend->attr, .training = wanted};
    dnnl_primitive_desc_t desc    = NULL;
    dnnl_status_t         s       = describe(&desc, backend->engine, &how, form);

    if (s != dnnl_success) {
        return tw_host_problem(problem, layer, s);
    }
    if (make_forward(simple, desc, problem) != 0) {
        return -1;
    }
    if (!wanted) {
        return 0;
    }
    how.role = TW_BACKWARD_DATA;
    how.hint = simple->forward.desc;
    s        = describe(&desc, backend->engine, &how, form);
    if (s != dnnl_success) {
        return tw_host_problem(problem, layer, s);
    }
    return make_backward(simple, desc, value, problem);
}

/* The operation with its result, which has x's layout. */
/* How far the last window reaches beyond the image and its border is what rounding up adds. */
static void pool_form(const tw_network_layer_t *layer, tw_pool_form_t *form)
{
    const size_t in[2] = {layer->in.h, layer->in.w}, out[2] = {layer->out.h, layer->out.w};

    form->how = layer->pooling == TW_POOL_MAX ? dnnl_pooling_max
                : layer->count_pad            ? dnnl_pooling_avg_include_padding
                                              : dnnl_pooling_avg_exclude_padding;
    for (int i = 0; i < 2; i++) {
        const size_t last = (out[i] - 1) * layer->stride[i], reach = last + layer->kernel[i];

        form->kernel[i]  = (dnnl_dim_t)layer->kernel[i];
        form->stride[i]  = (dnnl_dim_t)layer->stride[i];
        form->pad[i]     = (dnnl_dim_t)layer->pad[i];
        form->pad_end[i] = reach > in[i] + 2 * layer->pad[i]
                               ? (dnnl_dim_t)(reach - in[i] - layer->pad[i])
                               : form->pad[i];
    }
}

static int pool_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                     tw_problem_t *problem)
{
    tw_pool_form_t form;

    (void)params;
    pool_form(layer, &form);
    form.x = op->x[0]->md;
    form.y = op->y->md;
    return make_both((tw_simple_t *)op, describe_pool, &form, 0, layer->name, problem);
}

const tw_op_class_t tw_host_pool = {.name    = "pool",
                                    .bytes   = sizeof(tw_simple_t),
                                    .forward = pool_forward,
                                    .data    = backward_data,
                                    .destroy = pool_destroy,
                                    .make    = pool_make};

static int lrn_make(tw_op_t *op, const tw_network_layer_t *layer, tw_op_params_t params,
                    tw_problem_t *problem)
{
    tw_lrn_form_t form = {.x     = op->x[0]->md,
                          .size  = (dnnl_dim_t)layer->lrn_size,
                          .alpha = layer->lrn_scale * (float)layer->lrn_size,
                          .beta  = layer->lrn_power,
                          .k     = layer->lrn_k};

    (void)params;
    return make_both((tw_simple_t *)op, describe_lrn, &form, 1, layer->name, problem);
}

const tw_op_class_t tw_host_lrn = {.name    = "lrn",
                                   .bytes   = sizeof(tw_simple_t),
                                   .forward = pool_forward,
                                   .data    = backward_data,
                                   .destroy = pool_destroy,
                                   .make    = lrn_make};
