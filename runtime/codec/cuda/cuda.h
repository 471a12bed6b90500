/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/cuda.h - the codecs for buffers in device memory. Where thinwire is built without CUDA, or no
 * device answers, all of these are TW_ERR_UNSUPPORTED.
 *
 * src, dst, acc and residual are device memory, as in <thinwire/codec.h>; n is above 0. The work is put
 * on the stream (a cudaStream_t; NULL is the default stream) of the current device and is not waited for.
 * Nothing is allocated. Bytes and decoded bits are those of the scalar kernels.
 */
#ifndef TW_CODEC_CUDA_H
#define TW_CODEC_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include <thinwire/codec.h>

tw_status_t tw_cuda_encode(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                           uint8_t *dst);
tw_status_t tw_cuda_decode(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                           uint8_t *dst);
tw_status_t tw_cuda_decode_add(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                               uint8_t *acc);
tw_status_t tw_cuda_encode_feedback(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                                    uint8_t *residual, uint8_t *dst);

#endif /* TW_CODEC_CUDA_H */
