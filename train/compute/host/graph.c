/* SPDX-License-Identifier: BSD-3-Clause
 * host/graph.c - backend, graphs, tensors, and the operations' common part; see backend.h, host.h.
 */
#include "config.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/compute/host/host.h"

int tw_host_problem(tw_problem_t *problem, const char *what, dnnl_status_t status)
{
    return tw_problem_set(problem, "oneDNN: %s: %s", what,
                          status == dnnl_out_of_memory       ? "out of memory"
                          : status == dnnl_invalid_arguments ? "invalid arguments"
                          : status == dnnl_unimplemented     ? "not implemented"
                          : status == dnnl_runtime_error     ? "runtime error"
                                                             : "failed");
}

void tw_host_failed(tw_graph_t *graph, const char *what, dnnl_status_t status)
{
    (void)tw_host_problem(&graph->failure, what, status);
}

float *tw_host_memory(size_t bytes, tw_problem_t *problem)
{
    const size_t whole = (bytes + 63) / 64 * 64;
    float       *data  = aligned_alloc(64, whole == 0 ? 64 : whole);

    if (data == NULL) {
        (void)tw_problem_set(problem, "no memory for %zu bytes of activations", bytes);
        return NULL;
    }
    memset(data, 0, whole);
    return data;
}

int tw_host_temp(tw_backend_t *backend, tw_temp_use_t use, size_t bytes, tw_problem_t *problem)
{
    float *data;

    if (bytes <= backend->temp_bytes[use]) {
        return 0;
    }
    data = tw_host_memory(bytes, problem);
    if (data == NULL) {
        return -1;
    }
    free(backend->temp[use]);
    backend->temp[use]       = data;
    backend->temp_bytes[use] = bytes;
    return 0;
}

/* Attributes of all primitives: scratch memory is given; relu: the result is rectified. */
static dnnl_status_t attributes(dnnl_primitive_attr_t *attr_p, int relu)
{
    dnnl_post_ops_t ops;
    dnnl_status_t   s = dnnl_primitive_attr_create(attr_p);

    if (s != dnnl_success) {
        return s;
    }
    s = dnnl_primitive_attr_set_scratchpad_mode(*attr_p, dnnl_scratchpad_mode_user);
    if (s != dnnl_success || !relu) {
        return s;
    }
    s = dnnl_post_ops_create(&ops);
    if (s != dnnl_success) {
        return s;
    }
    s = tw_post_relu(ops);
    if (s == dnnl_success) {
        s = dnnl_primitive_attr_set_post_ops(*attr_p, ops);
    }
    (void)dnnl_post_ops_destroy(ops);
    return s;
}

/* oneDNN follows the level of the other kernels, so that one setting moves all. It can be set
 * before oneDNN's first use only; later, and where its build cannot, it stays as it is. */
static void limit_isa(const char *level)
{
#if defined(__x86_64__)
    if (strcmp(level, "scalar") == 0) {
        (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41);
    } else if (strcmp(level, "avx2") == 0) {
        (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
    }
#else
    (void)level;
#endif
}

int tw_backend_host(tw_backend_t **backend_p, const tw_compute_kernels_t *kernels, int threads,
                    tw_problem_t *problem)
{
    tw_backend_t         *backend = calloc(1, sizeof(*backend));
    const dnnl_version_t *version = dnnl_version();
    dnnl_status_t         s;

    *backend_p = NULL;
    if (backend == NULL) {
        return tw_problem_set(problem, "no memory for the backend");
    }
    limit_isa(kernels->isa);
    omp_set_num_threads(threads);
    backend->threads = threads;
    backend->loops   = TW_KERNELS_OF(kernels, tw_host_loops);
    (void)snprintf(backend->name, sizeof(backend->name), "oneDNN %d.%d.%d, %s loops",
                   version->major, version->minor, version->patch, kernels->isa);
    s = dnnl_engine_create(&backend->engine, dnnl_cpu, 0);
    if (s == dnnl_success) {
        s = dnnl_stream_create(&backend->stream, backend->engine, dnnl_stream_default_flags);
    }
    if (s == dnnl_success) {
        s = attributes(&backend->attr, 0);
    }
    if (s == dnnl_success) {
        s = attributes(&backend->relu_attr, 1);
    }
    if (s != dnnl_success) {
        tw_backend_destroy(backend);
        return tw_host_problem(problem, "the engine", s);
    }
    *backend_p = backend;
    return 0;
}

void tw_backend_destroy(tw_backend_t *backend)
{
    if (backend == NULL) {
        return;
    }
    for (int use = 0; use < TW_TEMPS; use++) {
        free(backend->temp[use]);
    }
    (void)dnnl_primitive_attr_destroy(backend->relu_attr);
    (void)dnnl_primitive_attr_destroy(backend->attr);
    (void)dnnl_stream_destroy(backend->stream);
    (void)dnnl_engine_destroy(backend->engine);
    free(backend);
}

const char *tw_backend_name(const tw_backend_t *backend)
{
    return backend->name;
}

int tw_graph_create(tw_backend_t *backend, size_t n, tw_graph_t **graph_p, tw_problem_t *problem)
{
    tw_graph_t *graph = calloc(1, sizeof(*graph));

    *graph_p = NULL;
    if (graph == NULL) {
        return tw_problem_set(problem, "no memory for a graph");
    }
    graph->backend = backend;
    graph->n       = n;
    *graph_p       = graph;
    return 0;
}

void tw_graph_destroy(tw_graph_t *graph)
{
    if (graph == NULL) {
        return;
    }
    while (graph->last != NULL) {
        tw_op_t *op = graph->last;

        graph->last = op->before;
        if (op->class->destroy != NULL) {
            op->class->destroy(op);
        }
        free(op);
    }
    while (graph->tensors != NULL) {
        tw_tensor_t *t = graph->tensors;

        graph->tensors = t->next;
        tw_md_destroy(t->md);
        free(t->memory);
        free(t);
    }
    for (size_t i = 0; i < graph->slots; i++) {
        free(graph->slot[i].data);
    }
    free(graph->slot);
    free(graph);
}

dnnl_status_t tw_host_md(tw_md_t *md_p, size_t n, tw_shape_t shape, int layout)
{
    static const dnnl_format_tag_t tag[] = {[TW_PLAIN]         = dnnl_nchw,
                                            [TW_CHANNELS_LAST] = dnnl_nhwc,
                                            [TW_BLOCKS_8]      = dnnl_nChw8c,
                                            [TW_BLOCKS_16]     = dnnl_nChw16c,
                                            [TW_ANY_LAYOUT]    = dnnl_format_tag_any};
    const dnnl_dims_t              dims  = {(dnnl_dim_t)n, (dnnl_dim_t)shape.c, (dnnl_dim_t)shape.h,
                                            (dnnl_dim_t)shape.w};

    return tw_md_create(md_p, 4, dims, tag[layout]);
}

tw_tensor_t *tw_tensor_create(tw_graph_t *graph, tw_shape_t shape, tw_layout_t layout,
                              float *shared, tw_problem_t *problem)
{
    const size_t  block = layout == TW_BLOCKS_16 ? 16 : layout == TW_BLOCKS_8 ? 8 : 1;
    tw_tensor_t  *t     = calloc(1, sizeof(*t));
    dnnl_status_t s;

    if (t == NULL) {
        (void)tw_problem_set(problem, "no memory for a tensor");
        return NULL;
    }
    t->next        = graph->tensors;
    graph->tensors = t;
    t->graph       = graph;
    t->shape       = shape;
    t->layout      = layout;
    t->width       = layout == TW_CHANNELS_LAST ? shape.c : block;
    t->runs        = (shape.c + t->width - 1) / t->width;
    t->rows        = shape.h * shape.w;
    t->count       = graph->n * t->runs * t->rows * t->width;
    s              = tw_host_md(&t->md, graph->n, shape, (int)layout);
    if (s != dnnl_success) {
        (void)tw_host_problem(problem, "a tensor", s);
        return NULL;
    }
    t->value = shared;
    if (shared == NULL) {
        t->value = t->memory = tw_host_memory(t->count * sizeof(float), problem);
    }
    return t->value == NULL ? NULL : t;
}

int tw_graph_input(tw_graph_t *graph, tw_shape_t shape, tw_tensor_t **y_p, float **plain_p,
                   tw_problem_t *problem)
{
    *y_p = tw_tensor_create(graph, shape, TW_PLAIN, NULL, problem);
    if (*y_p == NULL) {
        return -1;
    }
    *plain_p = (*y_p)->value;
    return 0;
}

int tw_host_check(const tw_network_layer_t *layer, tw_shape_t want, const tw_tensor_t *x,
                  tw_problem_t *problem)
{
    const tw_shape_t is = x->shape;

    if (is.c == want.c && is.h == want.h && is.w == want.w) {
        return 0;
    }
    return tw_problem_set(problem, "layer %s takes %zu x %zu x %zu, not %zu x %zu x %zu",
                          layer->name, want.c, want.h, want.w, is.c, is.h, is.w);
}

tw_op_t *tw_op_create(tw_graph_t *graph, const tw_op_class_t *class, tw_tensor_t *x1,
                      tw_tensor_t *x2, tw_problem_t *problem)
{
    tw_op_t *op = calloc(1, class->bytes);

    if (op == NULL) {
        (void)tw_problem_set(problem, "no memory for a layer");
        return NULL;
    }
    op->class                                                   = class;
    op->graph                                                   = graph;
    op->before                                                  = graph->last;
    *(graph->last == NULL ? &graph->first : &graph->last->next) = op;
    graph->last                                                 = op;
    op->x[0]                                                    = x1;
    op->x[1]                                                    = x2;
    for (int i = 0; i < 2 && op->x[i] != NULL; i++) {
        tw_tensor_t *x = op->x[i];

        x->consumers++;
        if (x->consumers > 1 &&
            tw_host_temp(graph->backend, TW_TEMP_SUM, x->count * sizeof(float), problem) != 0) {
            return NULL;
        }
    }
    return op;
}

int tw_op_result(tw_op_t *op, tw_shape_t shape, tw_layout_t layout, int params,
                 tw_problem_t *problem)
{
    tw_tensor_t *y = tw_tensor_create(op->graph, shape, layout, NULL, problem);

    if (y == NULL) {
        return -1;
    }
    y->producer = op;
    y->wanted   = params || op->x[0]->wanted || (op->x[1] != NULL && op->x[1]->wanted);
    op->y       = y;
    if (params) {
        op->graph->trained = 1;
    }
    return 0;
}

int tw_graph_backward_begin(tw_graph_t *graph, tw_problem_t *problem)
{
    if (!graph->trained) {
        return tw_problem_set(problem, "a graph without gradients is run backward");
    }
    if (!graph->planned && tw_gradients_plan(graph, problem) != 0) {
        return -1;
    }
    graph->planned = 1;
    for (tw_tensor_t *t = graph->tensors; t != NULL; t = t->next) {
        t->written = 0;
        t->addend  = NULL;
    }
    for (tw_op_t *op = graph->first; op != NULL; op = op->next) {
        op->settled = 0;
    }
    return 0;
}

int tw_graph_finish(tw_graph_t *graph, tw_problem_t *problem)
{
    const tw_problem_t failure = graph->failure;

    memset(&graph->failure, 0, sizeof(graph->failure));
    return failure.set ? tw_problem_set(problem, "%s", failure.text) : 0;
}

void tw_op_forward(tw_op_t *op, const tw_op_pass_t *pass)
{
    op->class->forward(op, pass);
}

void tw_op_backward_params(tw_op_t *op)
{
    if (op->class->params != NULL && op->y->wanted) {
        op->class->params(op);
    }
}

void tw_op_backward_data(tw_op_t *op)
{
    if (op->x[0]->wanted || (op->x[1] != NULL && op->x[1]->wanted)) {
        op->class->data(op);
    }
}
