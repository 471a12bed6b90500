/* SPDX-License-Identifier: BSD-3-Clause
 * compute/graph.c - graphs, tensors, and the common part of operations, for all backends; see
 * backend.h, backend_ops.h.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "train/compute/backend_ops.h"

int tw_graph_create(tw_backend_t *backend, size_t n, tw_graph_t **graph_p, tw_problem_t *problem)
{
    tw_graph_t *graph = calloc(1, sizeof(*graph));

    *graph_p = NULL;
    if (graph == NULL) {
        return tw_problem_set(problem, "no memory for a graph");
    }
    graph->backend = backend;
    graph->n       = n;
    graph->segment = -1;
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
        graph->backend->ops->forget(t);
        tw_backend_release(graph->backend, t->memory);
        tw_backend_release(graph->backend, t->stored);
        free(t);
    }
    for (size_t i = 0; i < graph->slots; i++) {
        tw_backend_release(graph->backend, graph->slot[i].data);
    }
    for (size_t i = 0; i < graph->value_slots; i++) {
        tw_backend_release(graph->backend, graph->value_slot[i].data);
    }
    free(graph->value_slot);
    free(graph->slot);
    free(graph);
}

void tw_graph_segment(tw_graph_t *graph, int segment)
{
    graph->segment = segment;
}

/* The smallest memory of other segments that is large enough, or more. */
static float *share_value(tw_graph_t *graph, size_t bytes, tw_problem_t *problem)
{
    tw_value_slot_t *best = NULL, *list;
    void            *p;

    for (size_t i = 0; i < graph->value_slots; i++) {
        tw_value_slot_t *slot = &graph->value_slot[i];

        if (slot->segment != graph->segment && slot->bytes >= bytes &&
            (best == NULL || slot->bytes < best->bytes)) {
            best = slot;
        }
    }
    if (best == NULL) {
        list = realloc(graph->value_slot, (graph->value_slots + 1) * sizeof(*list));
        if (list == NULL) {
            (void)tw_problem_set(problem, "no memory for a tensor");
            return NULL;
        }
        graph->value_slot = list;
        if (tw_backend_allocate(graph->backend, bytes, &p, problem) != 0) {
            return NULL;
        }
        best  = &graph->value_slot[graph->value_slots++];
        *best = (tw_value_slot_t){.data = p, .bytes = bytes};
    }
    best->segment = graph->segment;
    return best->data;
}

tw_tensor_t *tw_tensor_create(tw_graph_t *graph, tw_shape_t shape, tw_layout_t layout,
                              float *shared, tw_problem_t *problem)
{
    tw_tensor_t *t = calloc(1, sizeof(*t));
    void        *p;

    if (t == NULL) {
        (void)tw_problem_set(problem, "no memory for a tensor");
        return NULL;
    }
    t->next        = graph->tensors;
    graph->tensors = t;
    t->graph       = graph;
    t->shape       = shape;
    t->layout      = layout;
    t->segment     = shared == NULL ? graph->segment : -1;
    if (graph->backend->ops->describe(t, problem) != 0) {
        return NULL;
    }
    t->value = shared;
    if (shared == NULL && graph->segment >= 0) {
        t->value = share_value(graph, t->count * sizeof(float), problem);
        if (t->value == NULL) {
            return NULL;
        }
    } else if (shared == NULL) {
        if (tw_backend_allocate(graph->backend, t->count * sizeof(float), &p, problem) != 0) {
            return NULL;
        }
        t->value = t->memory = p;
    }
    return t;
}

static int codec_check(tw_status_t status, tw_problem_t *problem)
{
    return status == TW_OK
               ? 0
               : tw_problem_set(problem, "stored values of layers: %s", tw_status_text(status));
}

static int store_value(tw_tensor_t *t, const tw_codec_t *codec, tw_problem_t *problem)
{
    const tw_exec_t *exec = tw_backend_exec(t->graph->backend);
    size_t           bytes;

    if (codec_check(tw_codec_size(codec, t->count, &bytes), problem) != 0 ||
        (t->stored == NULL &&
         tw_backend_allocate(t->graph->backend, bytes, &t->stored, problem) != 0)) {
        return -1;
    }
    return codec_check(tw_codec_encode(codec, exec, t->value, t->count, t->stored), problem);
}

int tw_graph_store(tw_graph_t *graph, int segment, const tw_codec_t *codec, tw_problem_t *problem)
{
    int status = 0;

    for (tw_tensor_t *t = graph->tensors; t != NULL && status == 0; t = t->next) {
        status = t->segment == segment ? store_value(t, codec, problem) : 0;
    }
    return status;
}

int tw_graph_load(tw_graph_t *graph, int segment, const tw_codec_t *codec, tw_problem_t *problem)
{
    const tw_exec_t *exec   = tw_backend_exec(graph->backend);
    int              status = 0;

    for (tw_tensor_t *t = graph->tensors; t != NULL && status == 0; t = t->next) {
        status =
            t->segment == segment
                ? codec_check(tw_codec_decode(codec, exec, t->stored, t->count, t->value), problem)
                : 0;
    }
    return status;
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

/* Scratch for a gradient that is added to another. */
static int need_sum(tw_backend_t *backend, size_t bytes, tw_problem_t *problem)
{
    void *p;

    if (bytes <= backend->sum_bytes) {
        return 0;
    }
    if (tw_backend_allocate(backend, bytes, &p, problem) != 0) {
        return -1;
    }
    tw_backend_release(backend, backend->sum);
    backend->sum       = p;
    backend->sum_bytes = bytes;
    return 0;
}

tw_op_t *tw_op_create(tw_graph_t *graph, const tw_op_class_t *class, tw_tensor_t *const *x,
                      size_t inputs, tw_problem_t *problem)
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
    op->inputs                                                  = inputs;
    for (size_t i = 0; i < inputs; i++) {
        op->x[i] = x[i];
        x[i]->consumers++;
        if (x[i]->consumers > 1 &&
            need_sum(graph->backend, x[i]->count * sizeof(float), problem) != 0) {
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
    y->wanted   = params || tw_op_wanted(op);
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

int tw_graph_check(tw_graph_t *graph, tw_problem_t *problem)
{
    const tw_problem_t failure = graph->failure;

    memset(&graph->failure, 0, sizeof(graph->failure));
    return failure.set ? tw_problem_set(problem, "%s", failure.text) : 0;
}

int tw_graph_finish(tw_graph_t *graph, tw_problem_t *problem)
{
    const int done = tw_backend_finish(graph->backend, problem);

    return tw_graph_check(graph, problem) != 0 ? -1 : done;
}
