/* SPDX-License-Identifier: BSD-3-Clause
 * cuda/backend.c - a GPU: device, stream, libraries, and the table.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/compute/cuda/cuda.h"

/* cuDNN counts numbers by int, and kernels by 32 bits. */
static int describe(tw_tensor_t *t, tw_problem_t *problem)
{
    t->width = 1;
    t->runs  = t->shape.c;
    t->rows  = t->shape.h * t->shape.w;
    t->count = t->graph->n * t->runs * t->rows;
    return t->count <= INT32_MAX
               ? 0
               : tw_problem_set(problem,
                                "%zu examples of %zu x %zu x %zu are more numbers than a GPU takes",
                                t->graph->n, t->shape.c, t->shape.h, t->shape.w);
}

static void forget(tw_tensor_t *t)
{
    (void)t;
}

/* ---- the backend ---- */

static void backend_destroy(tw_backend_t *backend)
{
    tw_gpu_t *gpu = (tw_gpu_t *)backend;

    if (gpu->stream != NULL) {
        (void)cudaStreamSynchronize(gpu->stream);
    }
    tw_gpu_images_destroy(gpu);
    tw_backend_release(backend, gpu->workspace);
    tw_backend_release(backend, gpu->blas_workspace);
    tw_gpu_staging_destroy(gpu);
    if (gpu->dnn != NULL) {
        (void)gpu->lib.dnn.cudnnDestroy(gpu->dnn);
    }
    if (gpu->blas != NULL) {
        (void)gpu->lib.blas.destroy(gpu->blas);
    }
    if (gpu->stream != NULL) {
        (void)cudaStreamDestroy(gpu->stream);
    }
    free(gpu);
}

#define TW_KIND(kind, name) [TW_##kind] = &tw_gpu_##name,
static const tw_op_class_t *const layers[TW_LAYER_KINDS] = {TW_TRUNK_KINDS(TW_KIND)};
#undef TW_KIND

static const tw_backend_ops_t ops = {.destroy         = backend_destroy,
                                     .allocate        = tw_gpu_allocate,
                                     .release         = tw_gpu_release,
                                     .allocate_pinned = tw_gpu_allocate_pinned,
                                     .release_pinned  = tw_gpu_release_pinned,
                                     .put             = tw_gpu_put,
                                     .get             = tw_gpu_get,
                                     .copy            = tw_gpu_copy,
                                     .zero            = tw_gpu_zero,
                                     .finish          = tw_gpu_finish,
                                     .memory_total    = tw_gpu_memory_total,
                                     .mark_create     = tw_gpu_mark_create,
                                     .mark_destroy    = tw_gpu_mark_destroy,
                                     .mark            = tw_gpu_mark,
                                     .elapsed         = tw_gpu_elapsed,
                                     .images          = tw_gpu_images,
                                     .describe        = describe,
                                     .forget          = forget,
                                     .settle          = tw_gpu_settle,
                                     .add_gradient    = tw_gpu_add_gradient,
                                     .layers          = layers,
                                     .output          = tw_gpu_output,
                                     .phases          = &tw_gpu_norm_ops,
                                     .dense           = tw_gpu_dense,
                                     .sgd             = tw_gpu_sgd,
                                     .rmsprop         = tw_gpu_rmsprop,
                                     .max_norm        = tw_gpu_max_norm};

enum { TW_GPU_OLDEST = 8 }; /* major compute capability that the kernels are compiled for */

static int open_device(tw_gpu_t *gpu, tw_problem_t *problem)
{
    struct cudaDeviceProp properties;
    int                   count = 0;
    const cudaError_t     error = cudaGetDeviceCount(&count);

    if (error != cudaSuccess || count == 0) {
        (void)cudaGetLastError();
        return tw_problem_machine(
            problem, "no GPU can be used: %s",
            cudaGetErrorString(error != cudaSuccess ? error : cudaErrorNoDevice));
    }
    if (gpu->device < 0 || gpu->device >= count) {
        return tw_problem_set(problem, "there is no GPU %d: this process sees %d, from 0 on",
                              gpu->device, count);
    }
    if (tw_gpu_cuda(gpu, cudaSetDevice(gpu->device), "it cannot be used", problem) != 0 ||
        tw_gpu_cuda(gpu, cudaGetDeviceProperties(&properties, gpu->device), "its properties",
                    problem) != 0) {
        return -1;
    }
    if (properties.major < TW_GPU_OLDEST) {
        return tw_problem_machine(
            problem, "GPU %d (%.60s) has compute capability %d.%d; accepted: %d.0 and later",
            gpu->device, properties.name, properties.major, properties.minor, TW_GPU_OLDEST);
    }
    if (tw_gpu_cuda(gpu, cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "a stream",
                    problem) != 0) {
        return -1;
    }
    gpu->base.exec.stream = gpu->stream;
    gpu->processors       = properties.multiProcessorCount;
    gpu->major            = properties.major;
    (void)snprintf(gpu->base.name, sizeof(gpu->base.name), "cuDNN %zu.%zu.%zu on GPU %d (%.60s)",
                   gpu->lib.dnn_version / 10000, gpu->lib.dnn_version / 100 % 100,
                   gpu->lib.dnn_version % 100, gpu->device, properties.name);
    return 0;
}

static int open_dnn(tw_gpu_t *gpu, tw_problem_t *problem)
{
    if (tw_gpu_dnn(gpu, gpu->lib.dnn.cudnnCreate(&gpu->dnn), "cuDNN", problem) != 0) {
        gpu->dnn = NULL;
        return -1;
    }
    return tw_gpu_dnn(gpu, gpu->lib.dnn.cudnnSetStream(gpu->dnn, gpu->stream), "cuDNN's stream",
                      problem);
}

/* Bytes of cuBLAS's workspace, as its documents recommend: with one of its own, not one that calls
 * share, it gives the same bits in every run. */
static size_t blas_workspace(int major)
{
    return (size_t)(major >= 9 ? 32 : 4) << 20;
}

static int open_blas(tw_gpu_t *gpu, tw_problem_t *problem)
{
    const cublasMath_t math = gpu->tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_PEDANTIC_MATH;

    if (tw_gpu_blas(gpu, gpu->lib.blas.create(&gpu->blas), "cuBLAS", problem) != 0) {
        gpu->blas = NULL;
        return -1;
    }
    if (tw_gpu_blas(gpu, gpu->lib.blas.set_stream(gpu->blas, gpu->stream), "cuBLAS's stream",
                    problem) != 0 ||
        tw_gpu_blas(gpu, gpu->lib.blas.set_math(gpu->blas, math), "cuBLAS's precision", problem) !=
            0 ||
        tw_backend_allocate(&gpu->base, blas_workspace(gpu->major), &gpu->blas_workspace,
                            problem) != 0) {
        return -1;
    }
    gpu->blas_bytes = blas_workspace(gpu->major);
    return tw_gpu_blas(gpu,
                       gpu->lib.blas.set_workspace(gpu->blas, gpu->blas_workspace, gpu->blas_bytes),
                       "cuBLAS's workspace", problem);
}

int tw_backend_cuda(tw_backend_t **backend_p, const tw_backend_cuda_config_t *config,
                    tw_problem_t *problem)
{
    tw_gpu_t *gpu = calloc(1, sizeof(*gpu));

    *backend_p = NULL;
    if (gpu == NULL) {
        return tw_problem_machine(problem, "no memory for the backend");
    }
    tw_backend_begin(&gpu->base, &ops, (tw_exec_t){.memory = TW_MEMORY_CUDA, .threads = 1});
    gpu->device = config->device;
    gpu->tf32   = config->tf32;
    gpu->fast   = config->fast;
    if (tw_libraries_load(&gpu->lib, problem) != 0 || open_device(gpu, problem) != 0 ||
        open_dnn(gpu, problem) != 0 || open_blas(gpu, problem) != 0 ||
        tw_gpu_staging_create(gpu, problem) != 0) {
        tw_backend_destroy(&gpu->base);
        return -1;
    }
    *backend_p = &gpu->base;
    return 0;
}
