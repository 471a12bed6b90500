/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/backend_here.h - the backend that a test of backends is compiled for: the processor,
 * or (TW_ON_STANDIN) a GPU: one that tests/gpu/standin plays, or in the programs of tests/gpu/run a
 * real one.
 */
#ifndef TW_TESTS_BACKEND_HERE_H
#define TW_TESTS_BACKEND_HERE_H

#include <stdio.h>
#include <stdlib.h>

#include "thinwire/thinwire.h"
#include "tests/train/levels.h"
#include "train/compute/backend_ops.h"

#ifdef TW_ON_STANDIN

#include "tests/gpu/standin/standin.h"
#include "train/compute/cuda/cuda.h"

#define BACKEND_HERE   "cuda"
#define BACKEND_LEVELS 1

static inline int backend_here(tw_backend_t **backend_p, const tw_compute_kernels_t *kernels,
                               int threads, tw_problem_t *problem)
{
    const char *const              device = getenv("TW_DEVICE_HERE");
    const tw_backend_cuda_config_t config = {.device = device == NULL ? 0 : atoi(device)};

    (void)kernels, (void)threads;
    return tw_backend_cuda(backend_p, &config, problem);
}

/* Convolutions by nothing but sums of products (tests/gpu/direct.c), in graphs made from now on. */
void backend_direct(tw_backend_t *backend);

/* Of several ranks: one device after another. */
static inline void backend_of_rank(int rank)
{
    char text[16];
    int  count = 1;

    (void)cudaGetDeviceCount(&count);
    (void)snprintf(text, sizeof(text), "%d", rank % count);
    (void)setenv("TW_DEVICE_HERE", text, 1);
}

/* Scratch that a backend has to its end. */
static inline size_t backend_keeps(const tw_backend_t *backend)
{
    const tw_gpu_t *gpu = (const tw_gpu_t *)backend;

    return backend->sum_bytes + gpu->workspace_bytes + gpu->blas_bytes;
}

#else

#define BACKEND_HERE   "host"
#define BACKEND_LEVELS LEVELS

static inline int backend_here(tw_backend_t **backend_p, const tw_compute_kernels_t *kernels,
                               int threads, tw_problem_t *problem)
{
    return tw_backend_host(backend_p, kernels, threads, problem);
}

static inline void backend_direct(tw_backend_t *backend)
{
    (void)backend;
}

static inline void backend_of_rank(int rank)
{
    (void)rank;
}

static inline size_t backend_keeps(const tw_backend_t *backend)
{
    return backend->sum_bytes;
}

#endif

#endif /* TW_TESTS_BACKEND_HERE_H */
