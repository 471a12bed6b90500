/* SPDX-License-Identifier: BSD-3-Clause
 * host/primitive.c - errors, memory and layouts of oneDNN, and its primitives with arguments bound
 * to variables; see host.h.
 */
#include "config.h"

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

int tw_host_temp(tw_host_t *backend, tw_temp_use_t use, size_t bytes, tw_problem_t *problem)
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

void tw_primitive_destroy(tw_primitive_t *p)
{
    for (int i = 0; i < p->args; i++) {
        (void)dnnl_memory_destroy(p->arg[i].memory);
    }
    if (p->run != NULL) {
        (void)dnnl_primitive_destroy(p->run);
    }
    if (p->desc != NULL) {
        (void)dnnl_primitive_desc_destroy(p->desc);
    }
    memset(p, 0, sizeof(*p));
}

int tw_primitive_bind(tw_host_t *backend, tw_primitive_t *p, int arg, tw_md_t md,
                      float *const *from, tw_problem_t *problem)
{
    dnnl_memory_t memory;
    dnnl_status_t s = dnnl_memory_create(&memory, md, backend->engine, DNNL_MEMORY_NONE);

    if (s != dnnl_success) {
        return tw_host_problem(problem, "memory", s);
    }
    p->arg[p->args]  = (dnnl_exec_arg_t){arg, memory};
    p->from[p->args] = from;
    p->now[p->args]  = NULL;
    p->args++;
    return 0;
}

int tw_primitive_create(tw_host_t *backend, tw_primitive_t *p, dnnl_primitive_desc_t desc,
                        tw_problem_t *problem)
{
    dnnl_status_t s;
    tw_md_t       scratch;
    size_t        bytes;

    memset(p, 0, sizeof(*p));
    p->desc = desc;
    s       = dnnl_primitive_create(&p->run, desc);
    if (s != dnnl_success) {
        return tw_host_problem(problem, "primitive", s);
    }
    scratch = tw_primitive_md(p, dnnl_query_scratchpad_md);
    bytes   = dnnl_memory_desc_get_size(scratch);
    if (bytes == 0) {
        return 0;
    }
    return tw_host_temp(backend, TW_TEMP_PRIMITIVE, bytes, problem) == 0
               ? tw_primitive_bind(backend, p, DNNL_ARG_SCRATCHPAD, scratch,
                                   &backend->temp[TW_TEMP_PRIMITIVE], problem)
               : -1;
}

void tw_primitive_run(tw_graph_t *graph, tw_primitive_t *p)
{
    dnnl_status_t s = dnnl_success;

    for (int i = 0; i < p->args && s == dnnl_success; i++) {
        if (p->now[i] != *p->from[i]) {
            s         = dnnl_memory_set_data_handle(p->arg[i].memory, *p->from[i]);
            p->now[i] = *p->from[i];
        }
    }
    if (s == dnnl_success) {
        s = dnnl_primitive_execute(p->run, tw_host_of(graph)->stream, p->args, p->arg);
    }
    if (s != dnnl_success) {
        tw_host_failed(graph, "a primitive", s);
    }
}

int tw_primitive_reorder(tw_host_t *backend, tw_primitive_t *p, tw_md_t from, float *const *src,
                         tw_md_t to, float *const *dst, tw_problem_t *problem)
{
    dnnl_primitive_desc_t desc;
    dnnl_status_t         s;

    s = dnnl_reorder_primitive_desc_create(&desc, from, backend->engine, to, backend->engine,
                                           backend->attr);
    if (s != dnnl_success) {
        return tw_host_problem(problem, "no conversion between layouts", s);
    }
    return tw_primitive_create(backend, p, desc, problem) == 0 &&
                   tw_primitive_bind(backend, p, DNNL_ARG_FROM, from, src, problem) == 0 &&
                   tw_primitive_bind(backend, p, DNNL_ARG_TO, to, dst, problem) == 0
               ? 0
               : -1;
}
