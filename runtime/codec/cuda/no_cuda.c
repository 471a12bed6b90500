/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/no_cuda.c - a build without CUDA.
 */
#include "config.h"

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

tw_status_t tw_cuda_divide(void *stream, uint8_t *values, size_t n, size_t element, int divisor)
{
    (void)values;
    (void)element;
    (void)divisor;
    return tw_cuda_encode(NULL, stream, NULL, n, NULL);
}

/* ---- the device that is not there ------------------------------------------------------------ */

/* Whoever looks finds no current device, and no memory of one; nothing else is ever called. */

static tw_status_t tw_no_current(int *device_p)
{
    (void)device_p;
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_no_use(int device)
{
    (void)device;
    return TW_ERR_UNSUPPORTED;
}

static bool tw_no_owns(const void *p, const void *q)
{
    (void)p;
    (void)q;
    return false;
}

static tw_status_t tw_no_check(const void *p)
{
    (void)p;
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_no_allocate(tw_device_memory_t kind, size_t bytes, void **p)
{
    (void)kind;
    (void)bytes;
    (void)p;
    return TW_ERR_UNSUPPORTED;
}

static void tw_no_release(tw_device_memory_t kind, void *p)
{
    (void)kind;
    (void)p;
}

static tw_status_t tw_no_create(void **object_p)
{
    (void)object_p;
    return TW_ERR_UNSUPPORTED;
}

static void tw_no_destroy(void *object)
{
    (void)object;
}

static tw_status_t tw_no_two(void *a, void *b)
{
    (void)a;
    (void)b;
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_no_query(void *event, bool *done_p)
{
    (void)event;
    (void)done_p;
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_no_finish(void *stream)
{
    (void)stream;
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_no_copy(void *dst, const void *src, size_t bytes, void *stream)
{
    (void)dst;
    (void)src;
    (void)bytes;
    (void)stream;
    return TW_ERR_UNSUPPORTED;
}

static tw_status_t tw_no_zero(void *dst, size_t bytes, void *stream)
{
    return tw_no_copy(dst, NULL, bytes, stream);
}

static tw_status_t tw_no_divide(void *values, size_t n, size_t element, int divisor, void *stream)
{
    return tw_cuda_divide(stream, values, n, element, divisor);
}

const tw_device_ops_t tw_device_cuda = {
    .name            = "none",
    .current         = tw_no_current,
    .use             = tw_no_use,
    .owns            = tw_no_owns,
    .check           = tw_no_check,
    .allocate        = tw_no_allocate,
    .release         = tw_no_release,
    .stream_create   = tw_no_create,
    .stream_destroy  = tw_no_destroy,
    .event_create    = tw_no_create,
    .event_destroy   = tw_no_destroy,
    .record          = tw_no_two,
    .follow          = tw_no_two,
    .query           = tw_no_query,
    .finish          = tw_no_finish,
    .copy            = tw_no_copy,
    .zero            = tw_no_zero,
    .encode          = tw_codec_encode,
    .decode          = tw_codec_decode,
    .decode_add      = tw_codec_decode_add,
    .encode_feedback = tw_codec_encode_feedback,
    .divide          = tw_no_divide,
};
