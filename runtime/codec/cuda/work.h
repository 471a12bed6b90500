/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/work.h - from a codec to what the kernels want to know. Calls nothing of CUDA, so that
 * the tests can use it without.
 */
#ifndef TW_CODEC_CUDA_WORK_H
#define TW_CODEC_CUDA_WORK_H

#include "runtime/codec/cuda/launch.h"
#include "runtime/codec/ops.h"

/* codec->cuda is not TW_CUDA_NONE. Fill in *work, and say what is to be started on a device with so
 * many processors; the kernel is NULL where codes are the elements themselves and copying is all.
 * residual may be NULL. */
tw_cuda_launch_t tw_cuda_work_describe(tw_cuda_work_t *work, const tw_codec_t *codec,
                                       tw_cuda_verb_t verb, const uint8_t *src, size_t n,
                                       uint8_t *dst, uint8_t *residual, int processors);

#endif /* TW_CODEC_CUDA_WORK_H */
