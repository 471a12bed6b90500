/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/cuda.h - the codecs for buffers in device memory, and two reductions. Where thinwire
 * is built without CUDA, or no device answers, all of these are TW_ERR_UNSUPPORTED.
 *
 * src, dst, acc and residual are memory of the current device, or managed memory, as in
 * <thinwire/codec.h>; n is above 0. The work is put on the stream (a cudaStream_t of the current
 * device; NULL is the default stream) and is not waited for. Nothing is allocated, and nothing of
 * the codec is needed once the call has returned. Bytes and decoded bits are those of the scalar
 * kernels. Errors are those that <thinwire/codec.h> names for device memory.
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
tw_status_t tw_cuda_encode_feedback(const tw_codec_t *codec, void *stream, const uint8_t *src,
                                    size_t n, uint8_t *residual, uint8_t *dst);

/* most[b] = the largest bits of |x| in block b of n float32, as tw_absmax() (kernels.h) has them;
 * most: (n - 1) / block + 1 words of device memory. block: any number above 0. */
tw_status_t tw_cuda_absmax(void *stream, const uint8_t *src, size_t n, size_t block,
                           uint32_t *most);

#define TW_CUDA_NORM_WORK 1024 /* doubles */

/* *norm = the square root of the sum of squares of n float32, in double; norm, and work of
 * TW_CUDA_NORM_WORK doubles that are overwritten, are device memory. The order is the same on every
 * device: with L = 262144, value i goes into lane (i / 4 mod L, i mod 4), in ascending order. The 4
 * lanes of one i / 4 mod L give (0 + 2) + (1 + 3); 256 of these that follow one another, and then
 * the 1024 sums, are added in a tree: for h = half of them, a quarter, ... 1, sum[i] += sum[i + h]
 * for i < h; the first two steps for the 1024 are (0 + 512) + (256 + 768). */
tw_status_t tw_cuda_norm(void *stream, const uint8_t *src, size_t n, double *work, double *norm);

/* The same without the square root. */
tw_status_t tw_cuda_square_sum(void *stream, const uint8_t *src, size_t n, double *work,
                               double *sum);

/* values[i] = fl(values[i] + from[i]), n elements of 4 or 8 bytes at any alignment. from: any
 * memory that the current device reaches; nothing is asked about it. */
tw_status_t tw_cuda_add(void *stream, uint8_t *values, const uint8_t *from, size_t n,
                        size_t element);

/* values[i] = fl(values[i] / divisor), n elements of 4 or 8 bytes at any alignment. */
tw_status_t tw_cuda_divide(void *stream, uint8_t *values, size_t n, size_t element, int divisor);

/* n doubles, 1 or more, become 0 unless the first is above 0. */
tw_status_t tw_cuda_moments_empty(void *stream, double *moments, size_t n);

#endif /* TW_CODEC_CUDA_H */
