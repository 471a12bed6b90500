/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/emulate.h - the kernels of runtime/codec/cuda on the host; see emulate_words.h.
 */
#ifndef TW_TESTS_GPU_EMULATE_H
#define TW_TESTS_GPU_EMULATE_H

#include "tests/gpu/emulate_words.h"

#define TW_KERNEL(name, threads, least) static void name(tw_cuda_work_t work)

#include "runtime/codec/cuda/launch.h"

/* Run all thread blocks of a launch. */
void emulate_run(tw_cuda_launch_t launch, const tw_cuda_work_t *work);

#endif /* TW_TESTS_GPU_EMULATE_H */
