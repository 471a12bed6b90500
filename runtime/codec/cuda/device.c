/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/device.c - the table of codec/device.h for CUDA.
 *
 * Work is done in the context of the memory, not in the first of its device: programs that use the
 * driver have contexts of their own. These are functions of the driver, which is there where such
 * memory is.
 */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "runtime/codec/cuda/cuda.h"
#include "runtime/codec/cuda/runtime.h"
#include "runtime/codec/cuda/select.h"
#include "runtime/codec/device.h"
#include "runtime/codec/owner.h"

typedef int tw_cu_state_fn(int device, unsigned *flags, int *active);

static tw_status_t tw_cuda_current(int *device_p)
{
    int         device = 0, count = 0;
    tw_status_t status = tw_cuda_status(cudaGetDeviceCount(&count));

    if (status == TW_OK && count == 0) {
        status = TW_ERR_UNSUPPORTED;
    }
    if (status == TW_OK) {
        status = tw_cuda_status(cudaGetDevice(&device));
    }
    if (status == TW_OK) {
        *device_p = device;
    }
    return status;
}

/* *function_p = a function of the driver; false: it has none of that name. */
static bool tw_cuda_driver(const char *name, void *function_p)
{
    void *const address = tw_owner_cuda_driver(name);

    memcpy(function_p, &address, sizeof(address));
    return address != NULL;
}

/* Has this process started a device? A thread that never named one has device 0 by default: made
 * current again, it would take hundreds of megabytes of a GPU that is perhaps another rank's. */
static bool tw_cuda_started(int device)
{
    tw_cu_state_fn *state;
    unsigned        flags  = 0;
    int             active = 1;

    return !tw_cuda_driver("cuDevicePrimaryCtxGetState", &state) ||
           state(device, &flags, &active) != 0 || active != 0;
}

static tw_status_t tw_cuda_use(int device, int *before_p)
{
    int         before = -1;
    tw_status_t status = tw_cuda_status(cudaGetDevice(&before));

    if (status == TW_OK && before != device) {
        if (before_p != NULL && !tw_cuda_started(before)) {
            before = -1;
        }
        status = tw_cuda_status(cudaSetDevice(device));
    } else {
        before = -1;
    }
    if (status == TW_OK && before_p != NULL) {
        *before_p = before;
    }
    return status;
}

/* From cuda.h of the driver, which is not needed otherwise. */
#define TW_CU_POINTER_CONTEXT        1
#define TW_CU_POINTER_DEVICE_ORDINAL 9

typedef int tw_cu_attribute_fn(void *data, int attribute, unsigned long long pointer);
typedef int tw_cu_primary_fn(void **context, int device);
typedef int tw_cu_release_fn(int device);
typedef int tw_cu_push_fn(void *context);
typedef int tw_cu_pop_fn(void **context);

/* Memory of pools and mapped memory are of no context: the device's first one, which stays as it
 * is: whoever has started it keeps it. Only one that nobody had is kept from here. */
static tw_status_t tw_cuda_primary(tw_cu_attribute_fn *attribute, const void *p, void **context_p)
{
    tw_cu_primary_fn *retain;
    tw_cu_release_fn *release;
    int               device = 0;
    bool              started;

    if (!tw_cuda_driver("cuDevicePrimaryCtxRetain", &retain) ||
        !tw_cuda_driver("cuDevicePrimaryCtxRelease_v2", &release)) {
        return TW_ERR_UNSUPPORTED;
    }
    if (attribute(&device, TW_CU_POINTER_DEVICE_ORDINAL, (unsigned long long)(uintptr_t)p) != 0) {
        return TW_ERR_IO;
    }
    started = tw_cuda_started(device);
    if (retain(context_p, device) != 0) {
        return TW_ERR_IO;
    }
    if (started) {
        (void)release(device);
    }
    return TW_OK;
}

static tw_status_t tw_cuda_context(const void *p, void **context_p)
{
    tw_cu_attribute_fn *attribute;
    void               *context = NULL;
    tw_status_t         status  = TW_OK;

    if (!tw_cuda_driver("cuPointerGetAttribute", &attribute)) {
        return TW_ERR_UNSUPPORTED;
    }
    if (attribute(&context, TW_CU_POINTER_CONTEXT, (unsigned long long)(uintptr_t)p) != 0 ||
        context == NULL) {
        status = tw_cuda_primary(attribute, p, &context);
    }
    if (status == TW_OK) {
        *context_p = context;
    }
    return status;
}

static tw_status_t tw_cuda_push(void *context)
{
    tw_cu_push_fn *push;

    if (!tw_cuda_driver("cuCtxPushCurrent_v2", &push)) {
        return TW_ERR_UNSUPPORTED;
    }
    return push(context) == 0 ? TW_OK : TW_ERR_IO;
}

static void tw_cuda_pop(void)
{
    tw_cu_pop_fn *pop;
    void         *context;

    if (tw_cuda_driver("cuCtxPopCurrent_v2", &pop)) {
        (void)pop(&context);
    }
}

static tw_status_t tw_cuda_check(const void *p)
{
    int         device;
    tw_status_t status = tw_cuda_current(&device);

    return status == TW_OK ? tw_cuda_memory(p, device) : status;
}

static tw_status_t tw_cuda_allocate(tw_device_memory_t kind, size_t bytes, void **p)
{
    bytes = bytes > 0 ? bytes : 1;
    return tw_cuda_status(kind == TW_DEVICE_MEMORY ? cudaMalloc(p, bytes)
                                                   : cudaMallocHost(p, bytes));
}

static void tw_cuda_release(tw_device_memory_t kind, void *p)
{
    (void)tw_cuda_status(kind == TW_DEVICE_MEMORY ? cudaFree(p) : cudaFreeHost(p));
}

_Static_assert(sizeof(tw_device_handle_t) == sizeof(cudaIpcMemHandle_t), "one is the other");

static tw_status_t tw_cuda_share(void *p, tw_device_handle_t *handle)
{
    cudaIpcMemHandle_t its;
    const tw_status_t  status = tw_cuda_status(cudaIpcGetMemHandle(&its, p));

    if (status == TW_OK) {
        memcpy(handle, &its, sizeof(its));
    }
    return status;
}

/* Peer access between the two devices comes with it. */
static tw_status_t tw_cuda_open(const tw_device_handle_t *handle, void **p)
{
    cudaIpcMemHandle_t its;

    memcpy(&its, handle, sizeof(its));
    return tw_cuda_status(cudaIpcOpenMemHandle(p, its, cudaIpcMemLazyEnablePeerAccess));
}

static void tw_cuda_close(void *p)
{
    (void)tw_cuda_status(cudaIpcCloseMemHandle(p));
}

static tw_status_t tw_cuda_stream_create(void **stream_p)
{
    int         device, processors;
    tw_status_t status = tw_cuda_status(cudaGetDevice(&device));

    status = status == TW_OK ? tw_cuda_processors(device, &processors) : status;
    return status == TW_OK ? tw_cuda_status(cudaStreamCreateWithFlags((cudaStream_t *)stream_p,
                                                                      cudaStreamNonBlocking))
                           : status;
}

static void tw_cuda_stream_destroy(void *stream)
{
    (void)tw_cuda_status(cudaStreamDestroy(stream));
}

static tw_status_t tw_cuda_event_create(void **event_p)
{
    return tw_cuda_status(cudaEventCreateWithFlags((cudaEvent_t *)event_p, cudaEventDisableTiming));
}

static void tw_cuda_event_destroy(void *event)
{
    (void)tw_cuda_status(cudaEventDestroy(event));
}

static tw_status_t tw_cuda_record(void *event, void *stream)
{
    return tw_cuda_status(cudaEventRecord(event, stream));
}

static tw_status_t tw_cuda_follow(void *stream, void *event)
{
    return tw_cuda_status(cudaStreamWaitEvent(stream, event, 0));
}

static tw_status_t tw_cuda_query(void *event, bool *done_p)
{
    const cudaError_t error = cudaEventQuery(event);

    *done_p = error == cudaSuccess;
    if (error == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return TW_OK;
    }
    return tw_cuda_status(error);
}

static tw_status_t tw_cuda_finish(void *stream)
{
    return tw_cuda_status(cudaStreamSynchronize(stream));
}

static tw_status_t tw_cuda_copy(void *dst, const void *src, size_t bytes, void *stream)
{
    return tw_cuda_status(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream));
}

static tw_status_t tw_cuda_zero(void *dst, size_t bytes, void *stream)
{
    return tw_cuda_status(cudaMemsetAsync(dst, 0, bytes, stream));
}

static tw_status_t tw_cuda_add_values(void *values, const void *from, size_t n, size_t element,
                                      void *stream)
{
    return n > 0 ? tw_cuda_add(stream, values, from, n, element) : TW_OK;
}

static tw_status_t tw_cuda_divide_values(void *values, size_t n, size_t element, int divisor,
                                         void *stream)
{
    return n > 0 ? tw_cuda_divide(stream, values, n, element, divisor) : TW_OK;
}

_Static_assert(TW_DEVICE_SQUARE_WORK == TW_CUDA_NORM_WORK, "the same room for sums");

static tw_status_t tw_cuda_square(const float *src, size_t n, double *work, double *sum,
                                  void *stream)
{
    return tw_cuda_square_sum(stream, (const uint8_t *)src, n, work, sum);
}

static tw_status_t tw_cuda_empty(double *moments, size_t n, void *stream)
{
    return tw_cuda_moments_empty(stream, moments, n);
}

const tw_device_ops_t tw_device_cuda = {
    .name            = "CUDA",
    .count           = tw_cuda_count,
    .bus             = tw_cuda_bus,
    .start           = tw_cuda_start_device,
    .current         = tw_cuda_current,
    .use             = tw_cuda_use,
    .owns            = tw_owner_any_cuda,
    .context         = tw_cuda_context,
    .push            = tw_cuda_push,
    .pop             = tw_cuda_pop,
    .check           = tw_cuda_check,
    .allocate        = tw_cuda_allocate,
    .release         = tw_cuda_release,
    .share           = tw_cuda_share,
    .open            = tw_cuda_open,
    .close           = tw_cuda_close,
    .stream_create   = tw_cuda_stream_create,
    .stream_destroy  = tw_cuda_stream_destroy,
    .event_create    = tw_cuda_event_create,
    .event_destroy   = tw_cuda_event_destroy,
    .record          = tw_cuda_record,
    .follow          = tw_cuda_follow,
    .query           = tw_cuda_query,
    .finish          = tw_cuda_finish,
    .copy            = tw_cuda_copy,
    .zero            = tw_cuda_zero,
    .encode          = tw_codec_encode,
    .decode          = tw_codec_decode,
    .decode_add      = tw_codec_decode_add,
    .encode_feedback = tw_codec_encode_feedback,
    .add             = tw_cuda_add_values,
    .divide          = tw_cuda_divide_values,
    .moments_empty   = tw_cuda_empty,
    .square_sum      = tw_cuda_square,
};
