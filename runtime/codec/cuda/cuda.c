/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/cuda.c - checks a call and starts its kernel.
 *
 * The checks ask the runtime for what it has at hand: they neither wait for the device nor
 * allocate. What they find wrong, and what the launch itself finds wrong, is not left behind as the
 * thread's last CUDA error.
 */
#include "config.h"

#include <stdatomic.h>
#include <string.h>

#include "runtime/codec/cuda/cuda.h"
#include "runtime/codec/cuda/runtime.h"
#include "runtime/codec/cuda/work.h"

tw_status_t tw_cuda_status(cudaError_t error)
{
    if (error == cudaSuccess) {
        return TW_OK;
    }
    (void)cudaGetLastError();
    switch (error) {
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle: /* a stream of another device */
    case cudaErrorInvalidDevice:
    case cudaErrorContextIsDestroyed:
        return TW_ERR_INVALID_ARG;
    case cudaErrorMemoryAllocation:
        return TW_ERR_NO_MEMORY;
    case cudaErrorInsufficientDriver: /* none at all, too */
    case cudaErrorNoDevice:
    case cudaErrorInitializationError: /* as in the child of a process that has used the device */
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilationDisabled:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorStubLibrary:
    case cudaErrorNotSupported:
        return TW_ERR_UNSUPPORTED;
    default:
        return TW_ERR_IO;
    }
}

enum { TW_CUDA_KNOWN = 64, TW_CUDA_TOO_OLD = -1 };

tw_status_t tw_cuda_processors(int device, int *processors)
{
    static atomic_int known[TW_CUDA_KNOWN]; /* 0: not asked; of devices beyond: always asked */
    int               count = 0, major = 0;
    tw_status_t       status = TW_OK;

    if (device < TW_CUDA_KNOWN) {
        count = atomic_load_explicit(&known[device], memory_order_relaxed);
    }
    if (count == 0) {
        status =
            tw_cuda_status(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
        if (status == TW_OK) {
            status = tw_cuda_status(
                cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
        }
        if (status != TW_OK) {
            return status;
        }
        count = major >= TW_CUDA_OLDEST ? count : TW_CUDA_TOO_OLD;
        if (device < TW_CUDA_KNOWN) {
            atomic_store_explicit(&known[device], count, memory_order_relaxed);
        }
    }
    if (count == TW_CUDA_TOO_OLD) {
        return TW_ERR_UNSUPPORTED;
    }
    *processors = count;
    return TW_OK;
}

tw_status_t tw_cuda_device(cudaStream_t stream, int *device, int *processors)
{
    cudaError_t error     = cudaGetDevice(device);
    tw_status_t status    = tw_cuda_status(error);
    int         of_stream = 0;

    if (status == TW_OK) {
        status = tw_cuda_processors(*device, processors);
    }
    if (status != TW_OK) {
        return status;
    }
    of_stream = *device;
#if CUDART_VERSION >= 12080
    error = cudaStreamGetDevice(stream, &of_stream);
    if (error == cudaErrorCallRequiresNewerDriver) { /* the launch will find it out */
        (void)cudaGetLastError();
        return TW_OK;
    }
    status = tw_cuda_status(error);
#else
    (void)stream; /* the launch will find it out */
#endif
    return status == TW_OK && of_stream != *device ? TW_ERR_INVALID_ARG : status;
}

tw_status_t tw_cuda_memory(const void *p, int device)
{
    struct cudaPointerAttributes of;
    const tw_status_t            status = tw_cuda_status(cudaPointerGetAttributes(&of, p));

    if (status != TW_OK) {
        return status;
    }
    return of.type == cudaMemoryTypeManaged ||
                   (of.type == cudaMemoryTypeDevice && of.device == device)
               ? TW_OK
               : TW_ERR_INVALID_ARG;
}

tw_status_t tw_cuda_start(tw_cuda_launch_t launch, tw_cuda_work_t *work, cudaStream_t stream)
{
    const struct dim3 blocks = {(unsigned)launch.blocks, 1, 1}, threads = {launch.threads, 1, 1};
    void             *parameters[] = {work};
    const void       *kernel;

    memcpy(&kernel, &launch.kernel, sizeof(kernel)); /* the runtime takes functions as data */
    return tw_cuda_status(cudaLaunchKernel(kernel, blocks, threads, parameters, 0, stream));
}

static tw_status_t tw_cuda_run(const tw_codec_t *codec, cudaStream_t stream, tw_cuda_verb_t verb,
                               const uint8_t *src, size_t n, uint8_t *dst, uint8_t *residual)
{
    tw_cuda_work_t   work;
    tw_cuda_launch_t launch;
    int              device, processors;
    tw_status_t status = codec->cuda != TW_CUDA_NONE ? tw_cuda_device(stream, &device, &processors)
                                                     : TW_ERR_UNSUPPORTED;

    if (status == TW_OK) {
        status = tw_cuda_memory(src, device);
    }
    if (status == TW_OK) {
        status = tw_cuda_memory(dst, device);
    }
    if (status == TW_OK && residual != NULL) {
        status = tw_cuda_memory(residual, device);
    }
    if (status != TW_OK) {
        return status;
    }
    launch = tw_cuda_work_describe(&work, codec, verb, src, n, dst, residual, processors);
    if (launch.kernel != NULL) {
        return tw_cuda_start(launch, &work, stream);
    }
    if (src == dst) {
        return TW_OK;
    }
    return tw_cuda_status(
        cudaMemcpyAsync(dst, src, codec->ops->size(codec, n), cudaMemcpyDeviceToDevice, stream));
}

tw_status_t tw_cuda_encode(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                           uint8_t *dst)
{
    return tw_cuda_run(codec, stream, TW_CUDA_ENCODE, src, n, dst, NULL);
}

tw_status_t tw_cuda_decode(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                           uint8_t *dst)
{
    return tw_cuda_run(codec, stream, TW_CUDA_DECODE, src, n, dst, NULL);
}

tw_status_t tw_cuda_decode_add(const tw_codec_t *codec, void *stream, const uint8_t *src, size_t n,
                               uint8_t *acc)
{
    return tw_cuda_run(codec, stream, TW_CUDA_DECODE_ADD, src, n, acc, NULL);
}

tw_status_t tw_cuda_encode_feedback(const tw_codec_t *codec, void *stream, const uint8_t *src,
                                    size_t n, uint8_t *residual, uint8_t *dst)
{
    return tw_cuda_run(codec, stream, TW_CUDA_ENCODE_FEEDBACK, src, n, dst, residual);
}

tw_status_t tw_cuda_absmax(void *stream, const uint8_t *src, size_t n, size_t block, uint32_t *most)
{
    tw_cuda_work_t work = {
        .src = src, .dst = (uint8_t *)most, .n = n, .block = block < n ? block : n};
    tw_cuda_launch_t launch;
    int              device, processors;
    tw_status_t      status =
        block > 0 ? tw_cuda_device(stream, &device, &processors) : TW_ERR_INVALID_ARG;

    if (status == TW_OK) {
        status = tw_cuda_memory(src, device);
    }
    if (status == TW_OK) {
        status = tw_cuda_memory(most, device);
    }
    if (status != TW_OK) {
        return status;
    }
    launch = tw_cuda_absmax_launch(&work, processors);
    status =
        tw_cuda_status(cudaMemsetAsync(most, 0, ((n - 1) / block + 1) * sizeof(*most), stream));
    return status == TW_OK ? tw_cuda_start(launch, &work, stream) : status;
}

static tw_status_t tw_cuda_squares(void *stream, const uint8_t *src, size_t n, double *work,
                                   double *norm, int last)
{
    tw_cuda_work_t of = {.src = src, .dst = (uint8_t *)norm, .residual = (uint8_t *)work, .n = n};
    int            device, processors;
    tw_status_t    status = tw_cuda_device(stream, &device, &processors);

    if (status == TW_OK) {
        status = tw_cuda_memory(src, device);
    }
    if (status == TW_OK) {
        status = tw_cuda_memory(work, device);
    }
    if (status == TW_OK) {
        status = tw_cuda_memory(norm, device);
    }
    for (int step = 0; step < 2 && status == TW_OK; step++) {
        status = tw_cuda_start(tw_cuda_norm_launch(&of, step * last), &of, stream);
    }
    return status;
}

tw_status_t tw_cuda_norm(void *stream, const uint8_t *src, size_t n, double *work, double *norm)
{
    return tw_cuda_squares(stream, src, n, work, norm, 1);
}

tw_status_t tw_cuda_square_sum(void *stream, const uint8_t *src, size_t n, double *work,
                               double *sum)
{
    return tw_cuda_squares(stream, src, n, work, sum, 2);
}

tw_status_t tw_cuda_divide(void *stream, uint8_t *values, size_t n, size_t element, int divisor)
{
    tw_cuda_work_t work = {.dst = values, .n = n, .divisor = divisor};
    int            device, processors;
    tw_status_t    status = tw_cuda_device(stream, &device, &processors);

    if (status == TW_OK) {
        status = tw_cuda_memory(values, device);
    }
    return status == TW_OK ? tw_cuda_start(tw_cuda_divide_launch(&work, element), &work, stream)
                           : status;
}

tw_status_t tw_cuda_moments_empty(void *stream, double *moments, size_t n)
{
    tw_cuda_work_t work = {.dst = (uint8_t *)moments, .n = n};
    int            device, processors;
    tw_status_t    status = tw_cuda_device(stream, &device, &processors);

    if (status == TW_OK) {
        status = tw_cuda_memory(moments, device);
    }
    return status == TW_OK ? tw_cuda_start(tw_cuda_moments_empty_launch(), &work, stream) : status;
}

/* Codes that are the elements themselves are added. */
tw_status_t tw_cuda_add(void *stream, uint8_t *values, const uint8_t *from, size_t n,
                        size_t element)
{
    tw_cuda_work_t   work = {.src = from, .dst = values, .n = n, .k = (int)sizeof(double)};
    tw_cuda_launch_t launch;
    int              device, processors;
    tw_status_t      status = tw_cuda_device(stream, &device, &processors);

    if (status == TW_OK) {
        status = tw_cuda_memory(values, device);
    }
    if (status != TW_OK) {
        return status;
    }
    launch = element == sizeof(double)
                 ? tw_cuda_double_launch(&work, TW_CUDA_DECODE_ADD, processors)
                 : tw_cuda_values_launch(&work, TW_CUDA_CUT4, TW_CUDA_DECODE_ADD, processors);
    return tw_cuda_start(launch, &work, stream);
}
