/* SPDX-License-Identifier: BSD-3-Clause
 * compute/backend.c - the functions of backend.h, dispatched by the backend's table.
 */
#include "config.h"

#include <stdlib.h>

#include "train/compute/backend_ops.h"

void tw_backend_begin(tw_backend_t *backend, const tw_backend_ops_t *ops, tw_exec_t exec)
{
    backend->ops  = ops;
    backend->exec = exec;
}

void tw_backend_destroy(tw_backend_t *backend)
{
    tw_backend_piece_t *piece;

    if (backend == NULL) {
        return;
    }
    tw_backend_release(backend, backend->sum);
    piece = backend->piece;
    backend->ops->destroy(backend); /* which may release more */
    free(piece);
}

const char *tw_backend_name(const tw_backend_t *backend)
{
    return backend->name;
}

const char *tw_backend_note(const tw_backend_t *backend)
{
    return backend->note;
}

/* ---- memory ---- */

tw_memory_t tw_backend_memory(const tw_backend_t *backend)
{
    return backend->exec.memory;
}

const tw_exec_t *tw_backend_exec(const tw_backend_t *backend)
{
    return &backend->exec;
}

size_t tw_backend_memory_used(const tw_backend_t *backend)
{
    return backend->used;
}

size_t tw_backend_memory_total(const tw_backend_t *backend)
{
    return backend->ops->memory_total(backend);
}

int tw_backend_marks(const tw_backend_t *backend)
{
    return backend->ops->mark != NULL;
}

int tw_backend_mark_create(tw_backend_t *backend, void **mark_p, tw_problem_t *problem)
{
    *mark_p = NULL;
    return backend->ops->mark_create(backend, mark_p, problem);
}

void tw_backend_mark_destroy(tw_backend_t *backend, void *mark)
{
    if (mark != NULL) {
        backend->ops->mark_destroy(backend, mark);
    }
}

int tw_backend_mark(tw_backend_t *backend, void *mark, tw_problem_t *problem)
{
    return backend->ops->mark(backend, mark, problem);
}

int tw_backend_elapsed(tw_backend_t *backend, void *from, void *to, double *seconds,
                       tw_problem_t *problem)
{
    return backend->ops->elapsed(backend, from, to, seconds, problem);
}

int tw_backend_images(tw_backend_t *backend, size_t rows, const struct tw_input_device **device_p,
                      tw_problem_t *problem)
{
    *device_p = NULL;
    return backend->ops->images != NULL ? backend->ops->images(backend, rows, device_p, problem)
                                        : 0;
}

static int make_room(tw_backend_t *backend, tw_problem_t *problem)
{
    const size_t        room = 2 * backend->room + 16;
    tw_backend_piece_t *piece;

    if (backend->pieces < backend->room) {
        return 0;
    }
    piece = realloc(backend->piece, room * sizeof(*piece));
    if (piece == NULL) {
        return tw_problem_machine(problem, "no memory for the list of a device's memory");
    }
    backend->piece = piece;
    backend->room  = room;
    return 0;
}

int tw_backend_allocate(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem)
{
    bytes = bytes == 0 ? 1 : bytes;
    *p    = NULL;
    if (make_room(backend, problem) != 0 ||
        backend->ops->allocate(backend, bytes, p, problem) != 0) {
        return -1;
    }
    backend->piece[backend->pieces++] = (tw_backend_piece_t){.p = *p, .bytes = bytes};
    backend->used += bytes;
    return 0;
}

void tw_backend_release(tw_backend_t *backend, void *p)
{
    for (size_t i = backend->pieces; p != NULL && i-- > 0;) {
        if (backend->piece[i].p == p) {
            backend->used -= backend->piece[i].bytes;
            backend->piece[i] = backend->piece[--backend->pieces];
            backend->ops->release(backend, p);
            return;
        }
    }
}

int tw_backend_allocate_pinned(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem)
{
    *p = NULL;
    return backend->ops->allocate_pinned(backend, bytes == 0 ? 1 : bytes, p, problem);
}

void tw_backend_release_pinned(tw_backend_t *backend, void *p)
{
    if (p != NULL) {
        backend->ops->release_pinned(backend, p);
    }
}

int tw_backend_put(tw_backend_t *backend, void *to, const void *host, size_t bytes,
                   tw_problem_t *problem)
{
    return bytes == 0 ? 0 : backend->ops->put(backend, to, host, bytes, problem);
}

int tw_backend_get(tw_backend_t *backend, void *host, const void *from, size_t bytes,
                   tw_problem_t *problem)
{
    return bytes == 0 ? 0 : backend->ops->get(backend, host, from, bytes, problem);
}

int tw_backend_copy(tw_backend_t *backend, void *to, const void *from, size_t bytes,
                    tw_problem_t *problem)
{
    return bytes == 0 || to == from ? 0 : backend->ops->copy(backend, to, from, bytes, problem);
}

int tw_backend_zero(tw_backend_t *backend, void *p, size_t bytes, tw_problem_t *problem)
{
    return bytes == 0 ? 0 : backend->ops->zero(backend, p, bytes, problem);
}

int tw_backend_finish(tw_backend_t *backend, tw_problem_t *problem)
{
    return backend->ops->finish(backend, problem);
}

int tw_graph_output(tw_graph_t *graph, tw_tensor_t *x, const float **value_p, float **gradient_p,
                    tw_op_t **op_p, tw_problem_t *problem)
{
    return graph->backend->ops->output(graph, x, value_p, gradient_p, op_p, problem);
}

/* ---- operations ---- */

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
    if (tw_op_wanted(op)) {
        op->class->data(op);
    }
}

static const tw_norm_ops_t *phases(const tw_op_t *op)
{
    return op->graph->backend->ops->phases;
}

void tw_op_norm_moments(tw_op_t *op, double *moments)
{
    phases(op)->moments(op, moments);
}

void tw_op_norm_set(tw_op_t *op, const double *moments)
{
    phases(op)->set(op, moments);
}

void tw_op_norm_fixed(tw_op_t *op, const float *mean, const float *var)
{
    phases(op)->fixed(op, mean, var);
}

void tw_op_norm_sums(tw_op_t *op, double *sums)
{
    phases(op)->sums(op, sums);
}

void tw_op_norm_set_sums(tw_op_t *op, const double *sums, const double *moments)
{
    phases(op)->set_sums(op, sums, moments);
}

int tw_backend_running(tw_backend_t *backend, float *mean, float *var, const double *moments,
                       size_t c, double momentum, tw_problem_t *problem)
{
    return backend->ops->phases->running(backend, mean, var, moments, c, momentum, problem);
}
