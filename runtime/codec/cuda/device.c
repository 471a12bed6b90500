/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/device.c - the table of codec/device.h for CUDA.
 *
 * Whether a pointer is device memory is asked of the driver, not of the runtime: the runtime would
 * start the device in a process that has never used it. The driver (libcuda.so.1) is only looked
 * for among what the process has loaded, and only when something new was loaded since the last
 * look.
 */
#include "config.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "runtime/codec/cuda/cuda.h"
#include "runtime/codec/cuda/runtime.h"
#include "runtime/codec/cuda/select.h"
#include "runtime/codec/device.h"

/* From cuda.h of the driver, which is not needed otherwise. */
#define TW_CU_ATTRIBUTE_MEMORY_TYPE 2 /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE */
#define TW_CU_ATTRIBUTE_IS_MANAGED  8 /* CU_POINTER_ATTRIBUTE_IS_MANAGED  */
#define TW_CU_MEMORYTYPE_DEVICE     2

typedef int (*tw_cu_attribute_t)(void *data, int attribute, unsigned long long pointer);
typedef int (*tw_cu_state_t)(int device, unsigned *flags, int *active);

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

/* Has this process started a device? A thread that never named one has device 0 by default: made
 * current again, it would take hundreds of megabytes of a GPU that is perhaps another rank's. */
static bool tw_cuda_started(int device)
{
    void         *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void         *found  = driver != NULL ? dlsym(driver, "cuDevicePrimaryCtxGetState") : NULL;
    tw_cu_state_t function;
    unsigned      flags  = 0;
    int           active = 1;

    memcpy(&function, &found, sizeof(function));
    if (driver != NULL) {
        dlclose(driver);
    }
    return function == NULL || function(device, &flags, &active) != 0 || active != 0;
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

/* How often the process has loaded a library: of the first object, since all tell the same. */
static int tw_loads(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_adds;
    return 1;
}

static tw_cu_attribute_t tw_cu_attribute(void)
{
    static _Atomic(uintptr_t)          found;
    static _Atomic(unsigned long long) looked_at;
    tw_cu_attribute_t                  function;
    unsigned long long                 loads   = 0;
    uintptr_t                          address = atomic_load(&found);

    if (address == 0) {
        dl_iterate_phdr(tw_loads, &loads);
    }
    if (address == 0 && loads != atomic_load(&looked_at)) {
        void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

        address = driver != NULL ? (uintptr_t)dlsym(driver, "cuPointerGetAttribute") : 0;
        atomic_store(&found, address);
        atomic_store(&looked_at, loads);
    }
    memcpy(&function, &address, sizeof(function));
    return function;
}

static bool tw_cuda_owns_one(tw_cu_attribute_t attribute, const void *p)
{
    unsigned type = 0, managed = 0;

    if (p == NULL ||
        attribute(&type, TW_CU_ATTRIBUTE_MEMORY_TYPE, (unsigned long long)(uintptr_t)p) != 0 ||
        type != TW_CU_MEMORYTYPE_DEVICE) {
        return false;
    }
    return attribute(&managed, TW_CU_ATTRIBUTE_IS_MANAGED, (unsigned long long)(uintptr_t)p) != 0 ||
           managed == 0;
}

static bool tw_cuda_owns(const void *p, const void *q)
{
    const tw_cu_attribute_t attribute = p != NULL || q != NULL ? tw_cu_attribute() : NULL;

    return attribute != NULL && (tw_cuda_owns_one(attribute, p) || tw_cuda_owns_one(attribute, q));
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
    return tw_cuda_status(
        cudaStreamCreateWithFlags((cudaStream_t *)stream_p, cudaStreamNonBlocking));
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
    .owns            = tw_cuda_owns,
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
