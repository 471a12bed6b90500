/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/runtime.h - what cuda.c and device.c share: errors as statuses, and whose memory a
 * pointer is.
 */
#ifndef TW_CODEC_CUDA_RUNTIME_H
#define TW_CODEC_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>

#include <thinwire/status.h>

#include "runtime/codec/cuda/launch.h"

/* The status that an error means; it is not left behind as the thread's last CUDA error. */
tw_status_t tw_cuda_status(cudaError_t error);

#define TW_CUDA_OLDEST 8 /* major compute capability: __reduce_max_sync() needs it */

/* How many processors a device has; asked once in a process. TW_ERR_UNSUPPORTED: it is too old for
 * the kernels. */
tw_status_t tw_cuda_processors(int device, int *processors);

/* The current device and how many processors it has, if the stream is one of its own. */
tw_status_t tw_cuda_device(cudaStream_t stream, int *device, int *processors);

/* TW_OK if p is memory of the device, or managed memory; else TW_ERR_INVALID_ARG. */
tw_status_t tw_cuda_memory(const void *p, int device);

tw_status_t tw_cuda_start(tw_cuda_launch_t launch, tw_cuda_work_t *work, cudaStream_t stream);

#endif /* TW_CODEC_CUDA_RUNTIME_H */
