/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/emulate_codecs.c - the kernels of runtime/codec/cuda.
 */
#include "config.h"

#include "tests/gpu/emulate.h"

#include "runtime/codec/cuda/divide.cu"
#include "runtime/codec/cuda/doubles.cu"
#include "runtime/codec/cuda/moments.cu"
#include "runtime/codec/cuda/onebit.cu"
#include "runtime/codec/cuda/reduce.cu"
#include "runtime/codec/cuda/scaled8.cu"
#include "runtime/codec/cuda/values.cu"

static tw_cuda_kernel_t kernel;

static void body(const void *argument)
{
    kernel(*(const tw_cuda_work_t *)argument);
}

void emulate_run(tw_cuda_launch_t launch, const tw_cuda_work_t *work)
{
    kernel = launch.kernel;
    emulate_launch(body, work, launch.blocks, launch.threads);
}
