/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/kernels.c - thinwire's kernels for the stand-in: compiled for the host, run
 * thread by thread (tests/gpu/emulate.c). Part of every program that has runtime/codec/cuda
 * compiled against the stand-in's headers.
 */
#include "config.h"

#include <string.h>

#include "tests/gpu/emulate.h"
#include "tests/gpu/standin/standin.h"

static void run(const void *kernel, unsigned blocks, unsigned threads, const void *parameter)
{
    tw_cuda_launch_t launch = {.blocks = blocks, .threads = threads};
    tw_cuda_work_t   work;

    memcpy(&launch.kernel, &kernel, sizeof(kernel));
    memcpy(&work, parameter, sizeof(work));
    emulate_run(launch, &work);
}

__attribute__((constructor)) static void hand_over(void)
{
    static const size_t pointers[] = {offsetof(tw_cuda_work_t, src), offsetof(tw_cuda_work_t, dst),
                                      offsetof(tw_cuda_work_t, residual)};
    static const standin_kernels_t kernels = {
        .bytes = sizeof(tw_cuda_work_t), .pointers = pointers, .count = 3, .run = run};

    standin_kernels_set(&kernels);
}
