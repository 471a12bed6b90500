/* SPDX-License-Identifier: BSD-3-Clause
 * host/backend.c - the processor: oneDNN's engine, memory, layouts, and the table.
 */
#include "config.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "train/compute/host/host.h"

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

/* ---- memory ---- */

static int allocate(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem)
{
    (void)backend;
    *p = tw_host_memory(bytes, problem);
    return *p == NULL ? -1 : 0;
}

static void backend_release(tw_backend_t *backend, void *p)
{
    (void)backend;
    free(p);
}

static int copy(tw_backend_t *backend, void *to, const void *from, size_t bytes,
                tw_problem_t *problem)
{
    (void)backend, (void)problem;
    memcpy(to, from, bytes);
    return 0;
}

static int zero(tw_backend_t *backend, void *p, size_t bytes, tw_problem_t *problem)
{
    (void)backend, (void)problem;
    memset(p, 0, bytes);
    return 0;
}

static int finish(tw_backend_t *backend, tw_problem_t *problem)
{
    (void)backend, (void)problem;
    return 0;
}

static size_t memory_total(const tw_backend_t *backend)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    (void)backend;
    return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
}

/* ---- tensors ---- */

static int describe(tw_tensor_t *t, tw_problem_t *problem)
{
    const size_t  block = t->layout == TW_BLOCKS_16 ? 16 : t->layout == TW_BLOCKS_8 ? 8 : 1;
    tw_md_t       md    = NULL;
    dnnl_status_t s;

    t->width = t->layout == TW_CHANNELS_LAST ? t->shape.c : block;
    t->runs  = (t->shape.c + t->width - 1) / t->width;
    t->rows  = t->shape.h * t->shape.w;
    t->count = t->graph->n * t->runs * t->rows * t->width;
    s        = tw_host_md(&md, t->graph->n, t->shape, (int)t->layout);
    t->md    = md;
    return s == dnnl_success ? 0 : tw_host_problem(problem, "a tensor", s);
}

static void forget(tw_tensor_t *t)
{
    tw_md_destroy(t->md);
}

/* ---- the backend ---- */

static void backend_destroy(tw_backend_t *backend)
{
    tw_host_t *host = (tw_host_t *)backend;

    for (int use = 0; use < TW_TEMPS; use++) {
        free(host->temp[use]);
    }
    (void)dnnl_primitive_attr_destroy(host->relu_attr);
    (void)dnnl_primitive_attr_destroy(host->attr);
    (void)dnnl_stream_destroy(host->stream);
    (void)dnnl_engine_destroy(host->engine);
    free(host);
}

#define TW_KIND(kind, name) [TW_##kind] = &tw_host_##name,
static const tw_op_class_t *const layers[TW_LAYER_KINDS] = {TW_TRUNK_KINDS(TW_KIND)};
#undef TW_KIND

static const tw_backend_ops_t ops = {.destroy         = backend_destroy,
                                     .allocate        = allocate,
                                     .release         = backend_release,
                                     .allocate_pinned = allocate,
                                     .release_pinned  = backend_release,
                                     .put             = copy,
                                     .get             = copy,
                                     .copy            = copy,
                                     .zero            = zero,
                                     .finish          = finish,
                                     .memory_total    = memory_total,
                                     .describe        = describe,
                                     .forget          = forget,
                                     .settle          = tw_host_settle,
                                     .add_gradient    = tw_host_add_gradient,
                                     .layers          = layers,
                                     .output          = tw_host_output,
                                     .phases          = &tw_host_norm_ops,
                                     .dense           = tw_host_dense,
                                     .sgd             = tw_host_sgd,
                                     .rmsprop         = tw_host_rmsprop,
                                     .max_norm        = tw_host_max_norm};

int tw_backend_host(tw_backend_t **backend_p, const tw_compute_kernels_t *kernels, int threads,
                    tw_problem_t *problem)
{
    tw_host_t            *backend = calloc(1, sizeof(*backend));
    const dnnl_version_t *version = dnnl_version();
    dnnl_status_t         s;

    *backend_p = NULL;
    if (backend == NULL) {
        return tw_problem_set(problem, "no memory for the backend");
    }
    tw_backend_begin(&backend->base, &ops,
                     (tw_exec_t){.memory = TW_MEMORY_HOST, .threads = threads});
    limit_isa(kernels->isa);
    omp_set_num_threads(threads);
    backend->threads = threads;
    backend->kernels = kernels;
    backend->loops   = TW_KERNELS_OF(kernels, tw_host_loops);
    (void)snprintf(backend->base.name, sizeof(backend->base.name), "oneDNN %d.%d.%d, %s loops",
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
        tw_backend_destroy(&backend->base);
        return tw_host_problem(problem, "the engine", s);
    }
    *backend_p = &backend->base;
    return 0;
}
