/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/memory.c - memory of the device, copies, and marks.
 */
#include "config.h"

#include <string.h>

#include "train/compute/cuda/cuda.h"

int tw_gpu_allocate(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem)
{
    tw_gpu_t *gpu = (tw_gpu_t *)backend;
    char      what[64];

    (void)snprintf(what, sizeof(what), "%zu bytes", bytes);
    if (tw_gpu_cuda(gpu, cudaMalloc(p, bytes), what, problem) != 0) {
        *p = NULL;
        return -1;
    }
    if (tw_gpu_zero(backend, *p, bytes, problem) != 0) {
        (void)cudaFree(*p);
        *p = NULL;
        return -1;
    }
    return 0;
}

/* Errors are those of earlier work, and stay. */
void tw_gpu_release(tw_backend_t *backend, void *p)
{
    (void)cudaStreamSynchronize(((tw_gpu_t *)backend)->stream);
    (void)cudaFree(p);
}

int tw_gpu_allocate_pinned(tw_backend_t *backend, size_t bytes, void **p, tw_problem_t *problem)
{
    return tw_gpu_cuda((tw_gpu_t *)backend, cudaMallocHost(p, bytes), "pinned memory", problem);
}

void tw_gpu_release_pinned(tw_backend_t *backend, void *p)
{
    (void)cudaStreamSynchronize(((tw_gpu_t *)backend)->stream);
    (void)cudaFreeHost(p);
}

/* ---- copies ---- */

int tw_gpu_staging_create(tw_gpu_t *gpu, tw_problem_t *problem)
{
    tw_gpu_staging_t *s = &gpu->staging;
    void             *p = NULL;

    if (tw_gpu_allocate_pinned(&gpu->base, TW_GPU_STAGES * TW_GPU_STAGE, &p, problem) != 0) {
        return -1;
    }
    s->memory = p;
    for (int i = 0; i < TW_GPU_STAGES; i++) {
        if (tw_gpu_cuda(gpu, cudaEventCreateWithFlags(&s->done[i], cudaEventDisableTiming),
                        "an event", problem) != 0) {
            s->done[i] = NULL;
            return -1;
        }
    }
    return 0;
}

void tw_gpu_staging_destroy(tw_gpu_t *gpu)
{
    tw_gpu_staging_t *s = &gpu->staging;

    for (int i = 0; i < TW_GPU_STAGES; i++) {
        if (s->done[i] != NULL) {
            (void)cudaEventDestroy(s->done[i]);
        }
    }
    if (s->memory != NULL) {
        tw_gpu_release_pinned(&gpu->base, s->memory);
    }
}

static int put_stage(tw_gpu_t *gpu, void *to, const void *host, size_t bytes, tw_problem_t *problem)
{
    tw_gpu_staging_t *s     = &gpu->staging;
    const int         i     = s->next;
    char             *stage = s->memory + (size_t)i * TW_GPU_STAGE;

    s->next = (i + 1) % TW_GPU_STAGES;
    if (tw_gpu_cuda(gpu, cudaEventSynchronize(s->done[i]), "the device", problem) != 0) {
        return -1;
    }
    memcpy(stage, host, bytes);
    return tw_gpu_copy(&gpu->base, to, stage, bytes, problem) == 0
               ? tw_gpu_cuda(gpu, cudaEventRecord(s->done[i], gpu->stream), "a copy", problem)
               : -1;
}

int tw_gpu_put(tw_backend_t *backend, void *to, const void *host, size_t bytes,
               tw_problem_t *problem)
{
    for (size_t at = 0; at < bytes; at += TW_GPU_STAGE) {
        const size_t left = bytes - at;

        if (put_stage((tw_gpu_t *)backend, (char *)to + at, (const char *)host + at,
                      left < TW_GPU_STAGE ? left : TW_GPU_STAGE, problem) != 0) {
            return -1;
        }
    }
    return 0;
}

int tw_gpu_get(tw_backend_t *backend, void *host, const void *from, size_t bytes,
               tw_problem_t *problem)
{
    const int copied = tw_gpu_copy(backend, host, from, bytes, problem);

    return tw_gpu_finish(backend, problem) != 0 ? -1 : copied;
}

int tw_gpu_copy(tw_backend_t *backend, void *to, const void *from, size_t bytes,
                tw_problem_t *problem)
{
    tw_gpu_t *gpu = (tw_gpu_t *)backend;

    return tw_gpu_cuda(gpu, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gpu->stream),
                       "a copy", problem);
}

int tw_gpu_zero(tw_backend_t *backend, void *p, size_t bytes, tw_problem_t *problem)
{
    tw_gpu_t *gpu = (tw_gpu_t *)backend;

    return tw_gpu_cuda(gpu, cudaMemsetAsync(p, 0, bytes, gpu->stream), "zeros", problem);
}

int tw_gpu_finish(tw_backend_t *backend, tw_problem_t *problem)
{
    tw_gpu_t *gpu = (tw_gpu_t *)backend;

    return tw_gpu_cuda(gpu, cudaStreamSynchronize(gpu->stream), "the device", problem);
}

size_t tw_gpu_memory_total(const tw_backend_t *backend)
{
    size_t free_bytes, total;

    (void)backend;
    if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return total;
}

/* ---- marks: events with times ---- */

int tw_gpu_mark_create(tw_backend_t *backend, void **mark_p, tw_problem_t *problem)
{
    cudaEvent_t event;

    if (tw_gpu_cuda((tw_gpu_t *)backend, cudaEventCreate(&event), "an event", problem) != 0) {
        return -1;
    }
    *mark_p = event;
    return 0;
}

void tw_gpu_mark_destroy(tw_backend_t *backend, void *mark)
{
    (void)backend;
    (void)cudaEventDestroy(mark);
}

int tw_gpu_mark(tw_backend_t *backend, void *mark, tw_problem_t *problem)
{
    tw_gpu_t *gpu = (tw_gpu_t *)backend;

    return tw_gpu_cuda(gpu, cudaEventRecord(mark, gpu->stream), "an event", problem);
}

int tw_gpu_elapsed(tw_backend_t *backend, void *from, void *to, double *seconds,
                   tw_problem_t *problem)
{
    float ms = 0.0f;

    if (tw_gpu_cuda((tw_gpu_t *)backend, cudaEventElapsedTime(&ms, from, to), "an event",
                    problem) != 0) {
        return -1;
    }
    *seconds = 1e-3 * (double)ms;
    return 0;
}
