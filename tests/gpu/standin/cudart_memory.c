/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudart_memory.c - the runtime: memory and copies.
 *
 * When a copy is done, as the runtime's documents have it ("API synchronization behavior"): one
 * that names host memory that is not pinned may wait, or take the bytes at once, or leave all for
 * later; by lot. cudaMemcpy() waits, but not for a copy from device memory to device memory.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/cudart.h"

/* ---- allocation ----------------------------------------------------------------------------- */

static cudaError_t allocate(const char *call, standin_kind_t kind, void **p, size_t size)
{
    cudaError_t       error = standin_cuda_enter(call);
    standin_memory_t *m     = NULL;

    if (error == cudaSuccess && p == NULL) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess && size > 0) {
        m     = standin_allocate(kind, size, NULL);
        error = m == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
    }
    if (error == cudaSuccess) {
        *p = m != NULL ? m->shown : NULL;
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    return allocate(__func__, STANDIN_DEVICE, devPtr, size);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    return allocate(__func__, STANDIN_PINNED, ptr, size);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    (void)flags; /* all pinned memory is mapped and portable */
    return allocate(__func__, STANDIN_PINNED, pHost, size);
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    (void)flags;
    return allocate(__func__, STANDIN_MANAGED, devPtr, size);
}

/* The runtime may wait for all work where memory is released; here it waits for the work that uses
 * it, and for host memory, of which the documents say nothing, such work is a finding. */
static cudaError_t release(const char *call, void *p, bool host)
{
    cudaError_t       error = standin_cuda_enter(call);
    standin_memory_t *m     = p != NULL ? standin_memory_of(p) : NULL;

    if (error == cudaSuccess && p != NULL) {
        if (m == NULL || m->shown != p || m->kind == STANDIN_REGISTERED ||
            m->kind == STANDIN_FREED || m->kind == STANDIN_OPENED ||
            (m->kind == STANDIN_PINNED) != host) {
            standin_found("%p is not what such memory is released by%s", p,
                          m != NULL && m->kind == STANDIN_FREED ? ": it was released before" : "");
            error = cudaErrorInvalidValue;
        } else {
            if (host && standin_uses(m)) {
                standin_found("work that uses the memory is not done");
            }
            standin_finish_uses(m);
            standin_release(m);
        }
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaFree(void *devPtr)
{
    return release(__func__, devPtr, false);
}

cudaError_t cudaFreeHost(void *ptr)
{
    return release(__func__, ptr, true);
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    cudaError_t error = standin_cuda_enter(__func__);

    (void)flags;
    if (error == cudaSuccess && (ptr == NULL || size == 0)) {
        error = cudaErrorInvalidValue;
    }
    for (size_t i = 0; i < 2 && error == cudaSuccess; i++) {
        if (standin_memory_of((char *)ptr + (i > 0 ? size - 1 : 0)) != NULL) {
            error = cudaErrorHostMemoryAlreadyRegistered;
        }
    }
    if (error == cudaSuccess) {
        standin_allocate(STANDIN_REGISTERED, size, ptr);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaHostUnregister(void *ptr)
{
    cudaError_t       error = standin_cuda_enter(__func__);
    standin_memory_t *m     = standin_memory_of(ptr);

    if (error == cudaSuccess && (m == NULL || m->kind != STANDIN_REGISTERED || m->shown != ptr)) {
        error = cudaErrorHostMemoryNotRegistered;
    }
    if (error == cudaSuccess) {
        if (standin_uses(m)) {
            standin_found("work that uses the memory is not done");
        }
        standin_finish_uses(m);
        standin_release(m);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    cudaError_t             error = standin_cuda_enter(__func__);
    const standin_memory_t *m     = standin_memory_of(pHost);

    (void)flags;
    if (error == cudaSuccess &&
        (m == NULL || (m->kind != STANDIN_PINNED && m->kind != STANDIN_REGISTERED))) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *pDevice = pHost;
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
    static const enum cudaMemoryType types[] = {cudaMemoryTypeDevice, cudaMemoryTypeHost,
                                                cudaMemoryTypeManaged, cudaMemoryTypeHost,
                                                cudaMemoryTypeDevice};
    cudaError_t                      error   = standin_cuda_enter(__func__);
    const standin_memory_t          *m       = standin_memory_of(ptr);
    void *const                      p       = (void *)(uintptr_t)ptr;

    if (error == cudaSuccess && (m == NULL || m->kind == STANDIN_FREED)) {
        *attributes = (struct cudaPointerAttributes){
            .type = cudaMemoryTypeUnregistered, .device = cudaInvalidDeviceId, .hostPointer = p};
    } else if (error == cudaSuccess) {
        *attributes = (struct cudaPointerAttributes){
            .type          = types[m->kind],
            .device        = standin_shared_device(m),
            .devicePointer = p,
            .hostPointer   = types[m->kind] == cudaMemoryTypeDevice ? NULL : p};
    }
    return standin_cuda_leave(error);
}

/* ---- copies --------------------------------------------------------------------------------- */

typedef enum standin_side { ON_DEVICE, ON_PINNED, ON_PAGEABLE } standin_side_t;

typedef struct standin_copy {
    uint8_t        *dst, *src;
    size_t          n;
    uint8_t        *staged; /* what was at src when the copy was put */
    standin_hold_t *in, *out;
} standin_copy_t;

static standin_side_t side_of(const void *p)
{
    const standin_memory_t *m = standin_memory_of(p);

    return m == NULL                                                    ? ON_PAGEABLE
           : m->kind == STANDIN_PINNED || m->kind == STANDIN_REGISTERED ? ON_PINNED
                                                                        : ON_DEVICE;
}

/* May the pointer stand there? device, or host: what the direction says that it is. */
static bool side_check(const char *what, const void *p, size_t n, bool device, bool host)
{
    const standin_memory_t *m    = standin_memory_of(p);
    const standin_side_t    side = side_of(p);

    if (m != NULL && standin_bytes(what, p, n, 1, m->device, true) == NULL) {
        return false;
    }
    if (p == NULL || (device && side != ON_DEVICE) ||
        (host && side == ON_DEVICE && m->kind != STANDIN_MANAGED)) {
        standin_found("%s is not %s memory", what, device ? "device" : "host");
        return false;
    }
    return true;
}

static cudaError_t copy_check(const void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
    const uint8_t *const d = dst, *const s = src;

    if ((int)kind < cudaMemcpyHostToHost || (int)kind > cudaMemcpyDefault) {
        return cudaErrorInvalidMemcpyDirection;
    }
    if (!side_check("the destination", dst, n,
                    kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
                    kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost) ||
        !side_check("the source", src, n,
                    kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice,
                    kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice)) {
        return cudaErrorInvalidValue;
    }
    if (d < s + n && s < d + n) {
        standin_found("source and destination overlap");
    }
    return cudaSuccess;
}

/* Memory of the runtime may have been released meanwhile. */
static uint8_t *bytes_of(const char *what, uint8_t *p, size_t n)
{
    const standin_memory_t *m = standin_memory_of(p);

    return m == NULL ? p : standin_bytes(what, p, n, 1, m->device, true);
}

static int copy_run(void *arg, bool dead)
{
    const standin_copy_t *copy  = arg;
    uint8_t              *dst   = NULL, *src;
    int                   error = 0;

    if (copy->in != NULL) {
        standin_unhold(copy->in);
    }
    if (copy->out != NULL) {
        standin_unhold(copy->out);
    }
    if (!dead) {
        dst   = bytes_of("the destination", copy->dst, copy->n);
        src   = copy->staged != NULL ? copy->staged : bytes_of("the source", copy->src, copy->n);
        error = dst == NULL || src == NULL ? cudaErrorIllegalAddress : 0;
        if (error == 0) {
            memmove(dst, src, copy->n);
        }
    }
    free(copy->staged);
    return error;
}

/* waits: until it is done, unless it is from device to device. */
static cudaError_t copy(struct CUstream_st *on, void *dst, const void *src, size_t n,
                        enum cudaMemcpyKind kind, bool waits)
{
    const standin_side_t to = side_of(dst), from = side_of(src);
    standin_copy_t       c      = {.dst = dst, .src = (uint8_t *)(uintptr_t)src, .n = n};
    const void *const    uses[] = {dst, src};
    cudaError_t          error  = copy_check(dst, src, n, kind);
    bool                 staged;

    if (error != cudaSuccess) {
        return error;
    }
    staged = to == ON_DEVICE && from == ON_PAGEABLE && (waits || standin_lot(3) == 0);
    if (to != ON_DEVICE && from != ON_DEVICE) {
        waits = true;
    } else if (!waits && !staged && (to == ON_PAGEABLE || from == ON_PAGEABLE)) {
        waits = standin_lot(2) == 0;
    } else if (waits) {
        waits = (to != ON_DEVICE || from != ON_DEVICE) && !staged;
        if (staged) {
            standin_finish(on);
        }
    }
    if (staged) {
        c.staged = malloc(n);
        memcpy(c.staged, src, n);
    } else if (from != ON_DEVICE) {
        c.in = standin_hold(c.src, n, false);
    }
    if (to != ON_DEVICE) {
        c.out = standin_hold(dst, n, true);
    }
    standin_put(on, copy_run, &c, sizeof(c), uses, 2, false);
    if (waits) {
        standin_finish(on);
    }
    return (cudaError_t)standin_broken[on->device];
}

static cudaError_t copy_rows(const char *call, uint8_t *dst, size_t dpitch, const uint8_t *src,
                             size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                             cudaStream_t stream, bool waits)
{
    cudaError_t         error = standin_cuda_enter(call);
    struct CUstream_st *on    = NULL;

    if (error == cudaSuccess && height > 1 && (width > dpitch || width > spitch)) {
        error = cudaErrorInvalidPitchValue;
    }
    if (error == cudaSuccess) {
        on    = standin_stream(stream);
        error = on == NULL                 ? cudaErrorInvalidResourceHandle
                : standin_not_captured(on) ? cudaSuccess
                                           : cudaErrorStreamCaptureUnsupported;
    }
    for (size_t row = 0; row < height && width > 0 && error == cudaSuccess; row++) {
        error = copy(on, dst + row * dpitch, src + row * spitch, width, kind, waits);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    return copy_rows(__func__, dst, 0, src, 0, count, 1, kind, stream, false);
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    return copy_rows(__func__, dst, 0, src, 0, count, 1, kind, NULL, true);
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    return copy_rows(__func__, dst, dpitch, src, spitch, width, height, kind, stream, false);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                size_t count, cudaStream_t stream)
{
    cudaError_t         error = standin_cuda_enter(__func__);
    struct CUstream_st *on    = NULL;

    if (error == cudaSuccess &&
        (standin_bytes("the destination", dst, count, 1, dstDevice, false) == NULL ||
         standin_bytes("the source", src, count, 1, srcDevice, false) == NULL)) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        on    = standin_stream(stream);
        error = on == NULL                 ? cudaErrorInvalidResourceHandle
                : standin_not_captured(on) ? cudaSuccess
                                           : cudaErrorStreamCaptureUnsupported;
    }
    if (error == cudaSuccess && count > 0) {
        error = copy(on, dst, src, count, cudaMemcpyDeviceToDevice, false);
    }
    return standin_cuda_leave(error);
}

/* ---- setting -------------------------------------------------------------------------------- */

typedef struct standin_setting {
    uint8_t        *dst;
    size_t          n;
    int             value;
    standin_hold_t *out;
} standin_setting_t;

static int set_run(void *arg, bool dead)
{
    const standin_setting_t *set = arg;
    uint8_t                 *dst = NULL;

    if (set->out != NULL) {
        standin_unhold(set->out);
    }
    if (dead) {
        return 0;
    }
    dst = bytes_of("the destination", set->dst, set->n);
    if (dst == NULL) {
        return cudaErrorIllegalAddress;
    }
    memset(dst, set->value, set->n);
    return 0;
}

static cudaError_t set(const char *call, void *p, int value, size_t n, cudaStream_t stream,
                       bool waits)
{
    cudaError_t             error  = standin_cuda_enter(call);
    struct CUstream_st     *on     = NULL;
    const standin_memory_t *m      = standin_memory_of(p);
    standin_setting_t       s      = {.dst = p, .n = n, .value = value};
    const void *const       uses[] = {p};

    if (error == cudaSuccess) {
        on    = standin_stream(stream);
        error = on == NULL                 ? cudaErrorInvalidResourceHandle
                : standin_not_captured(on) ? cudaSuccess
                                           : cudaErrorStreamCaptureUnsupported;
    }
    if (error == cudaSuccess && n > 0 &&
        standin_bytes("the destination", p, n, 1, m != NULL ? m->device : 0, true) == NULL) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess && n > 0) {
        s.out = side_of(p) == ON_PINNED ? standin_hold(p, n, true) : NULL;
        standin_put(on, set_run, &s, sizeof(s), uses, 1, false);
        if (waits && s.out != NULL) {
            standin_finish(on);
        }
        error = (cudaError_t)standin_broken[on->device];
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    return set(__func__, devPtr, value, count, stream, false);
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
    return set(__func__, devPtr, value, count, NULL, true);
}
