/* SPDX-License-Identifier: BSD-3-Clause
 * host/host.h - what the files of the host backend share: scratch memory, layouts as descriptors,
 * primitives of oneDNN.
 */
#ifndef TW_HOST_HOST_H
#define TW_HOST_HOST_H

#include "train/compute/backend_ops.h"
#include "train/compute/host/dnnl.h"
#include "train/compute/host/loops.h"

/* Scratch that all graphs of a backend share. Nothing in it outlives an operation. */
typedef enum tw_temp_use {
    TW_TEMP_PRIMITIVE, /* oneDNN's own                                     */
    TW_TEMP_X,         /* x or its gradient in another layout              */
    TW_TEMP_Y,
    TW_TEMP_W,
    TW_TEMPS
} tw_temp_use_t;

typedef struct tw_host {
    tw_backend_t                base;
    dnnl_engine_t               engine;
    dnnl_stream_t               stream;
    dnnl_primitive_attr_t       attr, relu_attr; /* both: scratch memory is given */
    const tw_compute_kernels_t *kernels;
    const tw_host_loops_t      *loops;
    int                         threads;
    float                      *temp[TW_TEMPS];
    size_t                      temp_bytes[TW_TEMPS];
} tw_host_t;

static inline tw_host_t *tw_host_of(const tw_graph_t *graph)
{
    return (tw_host_t *)graph->backend;
}

/* ---- backend.c ---- */

/* 64-byte aligned, zeroed. NULL with the problem set. */
float *tw_host_memory(size_t bytes, tw_problem_t *problem);

/* At least so much scratch; what was in it is lost. @return 0, or -1 with the problem set. */
int tw_host_temp(tw_host_t *backend, tw_temp_use_t use, size_t bytes, tw_problem_t *problem);

/* The first failure is kept for tw_graph_check(). */
void tw_host_failed(tw_graph_t *graph, const char *what, dnnl_status_t status);

/* "oneDNN: WHAT: why" as a problem. @return -1. */
int tw_host_problem(tw_problem_t *problem, const char *what, dnnl_status_t status);

/* Descriptor of n examples of a shape in a layout; ANY_LAYOUT: the primitive chooses. */
enum { TW_ANY_LAYOUT = TW_LAYOUTS };
dnnl_status_t tw_host_md(tw_md_t *md_p, size_t n, tw_shape_t shape, int layout);

/* ---- gradients.c ---- */

void tw_host_settle(tw_tensor_t *y, const float *g, const float *more, tw_activation_t how);
void tw_host_add_gradient(tw_tensor_t *x, const float *g);

/* ---- operations: conv.c, pool.c, activation.c, norm.c, add.c, concat.c, output.c ---- */

#define TW_KIND(kind, name) extern const tw_op_class_t tw_host_##name;
TW_TRUNK_KINDS(TW_KIND)
#undef TW_KIND
int tw_host_output(tw_graph_t *graph, tw_tensor_t *x, const float **value_p, float **gradient_p,
                   tw_op_t **op_p, tw_problem_t *problem);

extern const tw_norm_ops_t tw_host_norm_ops;

/* ---- dense.c ---- */

int tw_host_dense(tw_backend_t *backend, size_t rows_max, tw_dense_t **dense_p,
                  tw_problem_t *problem);
int tw_host_sgd(tw_backend_t *backend, float *w, float *v, const float *g, size_t n,
                const tw_sgd_rule_t *rule, tw_problem_t *problem);
int tw_host_rmsprop(tw_backend_t *backend, float *w, float *m, const float *g, size_t n,
                    const tw_rms_rule_t *rule, tw_problem_t *problem);
int tw_host_max_norm(tw_backend_t *backend, float *w, size_t units, size_t per_unit, float most,
                     tw_problem_t *problem);

/* ---- activation.c ---- */

/* y = activation(x) of a whole tensor, in place allowed; filling stays 0. */
void tw_activate(tw_tensor_t *y, const float *x, tw_activation_t activation);

/* ---- primitive.c ---- */

enum { TW_PRIMITIVE_ARGS = 8 };

/* A primitive with its arguments. Each argument is bound to a variable that holds the address when
 * it runs, so memory may be given or grow after the primitive was made. */
typedef struct tw_primitive {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t      run;
    int                   args;
    dnnl_exec_arg_t       arg[TW_PRIMITIVE_ARGS];
    float *const         *from[TW_PRIMITIVE_ARGS];
    float                *now[TW_PRIMITIVE_ARGS];
} tw_primitive_t;

/* From a description, which it owns from now on, also if it fails. */
int  tw_primitive_create(tw_host_t *backend, tw_primitive_t *p, dnnl_primitive_desc_t desc,
                         tw_problem_t *problem);
int  tw_primitive_bind(tw_host_t *backend, tw_primitive_t *p, int arg, tw_md_t md,
                       float *const *from, tw_problem_t *problem);
void tw_primitive_run(tw_graph_t *graph, tw_primitive_t *p);
void tw_primitive_destroy(tw_primitive_t *p); /* a zeroed one is allowed */

/* A copy from one layout to another. */
int tw_primitive_reorder(tw_host_t *backend, tw_primitive_t *p, tw_md_t from, float *const *src,
                         tw_md_t to, float *const *dst, tw_problem_t *problem);

static inline tw_md_t tw_primitive_md(const tw_primitive_t *p, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(p->desc, what, 0);
}

#endif /* TW_HOST_HOST_H */
