/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/no_cuda.c - a build without CUDA.
 */
#include "config.h"

#include <stdio.h>

#include "runtime/codec/cuda/cuda.h"
#include "runtime/codec/device.h"

tw_status_t tw_cuda_encode(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                           uint8_t *dst)
{
    (void)codec;
    (void)stream;
    (void)src;
    (void)n;
    (void)dst;
    return TW_ERR_UNSUPPORTED;
}

tw_status_t tw_cuda_decode(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                           uint8_t *dst)
{
    return tw_cuda_encode(codec, stream, src, n, dst);
}

tw_status_t tw_cuda_decode_add(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                               uint8_t *acc)
{
    return tw_cuda_encode(codec, stream, src, n, acc);
}

tw_status_t tw_cuda_encode_feedback(const tw_codec_t *codec, void *stream, const uint8_t *src,
                                    size_t n, uint8_t *residual, uint8_t *dst)
{
    (void)residual;
    return tw_cuda_encode(codec, stream, src, n, dst);
}

tw_status_t tw_cuda_absmax(void *stream, const uint8_t *src, size_t n, size_t block, uint32_t *most)
{
    (void)block;
    (void)most;
    return tw_cuda_encode(NULL, stream, src, n, NULL);
}

tw_status_t tw_cuda_norm(void *stream, const uint8_t *src, size_t n, double *work, double *norm)
{
    (void)work;
    (void)norm;
    return tw_cuda_encode(NULL, stream, src, n, NULL);
}

tw_status_t tw_cuda_square_sum(void *stream, const uint8_t *src, size_t n, double *work,
                               double *sum)
{
    return tw_cuda_norm(stream, src, n, work, sum);
}

tw_status_t tw_cuda_add(void *stream, uint8_t *values, const uint8_t *from, size_t n,
                        size_t element)
{
    (void)element;
    return tw_cuda_encode(NULL, stream, from, n, values);
}

tw_status_t tw_cuda_divide(void *stream, uint8_t *values, size_t n, size_t element, int divisor)
{
    (void)values;
    (void)element;
    (void)divisor;
    return tw_cuda_encode(NULL, stream, NULL, n, NULL);
}

tw_status_t tw_cuda_moments_empty(void *stream, double *moments, size_t n)
{
    (void)moments;
    return tw_cuda_encode(NULL, stream, NULL, n, NULL);
}

/* ---- the device that is not there ------------------------------------------------------------ */

/* Whoever looks finds no current device, and no memory of one. All else comes after
 * tw_comm_device_open(), which asks for the current one. */

static tw_status_t tw_no_count(int *count_p, char *why, size_t size)
{
    (void)count_p;
    snprintf(why, size, "thinwire was built without CUDA");
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_no_current(int *device_p)
{
    (void)device_p;
    return TW_ERR_UNSUPPORTED;
}

static bool tw_no_owns(const void *p, const void *q)
{
    (void)p;
    (void)q;
    return false;
}

const tw_device_ops_t tw_device_cuda = {
    .name = "none", .count = tw_no_count, .current = tw_no_current, .owns = tw_no_owns};
