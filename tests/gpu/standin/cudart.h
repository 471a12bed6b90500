/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudart.h - what the files of the stand-in for the runtime share.
 */
#ifndef TW_TESTS_GPU_STANDIN_CUDART_H
#define TW_TESTS_GPU_STANDIN_CUDART_H

#include "tests/gpu/standin/core.h"

/* The beginning and the end of every function; the latter keeps the thread's last error.
 * enter_any(): of one that works without a device, and where one is broken. */
cudaError_t standin_cuda_enter(const char *call);
cudaError_t standin_cuda_enter_any(const char *call);
cudaError_t standin_cuda_leave(cudaError_t error);

#endif /* TW_TESTS_GPU_STANDIN_CUDART_H */
