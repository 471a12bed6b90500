/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/driver.c - the functions of the driver that thinwire looks for. Each device has
 * one context, its primary one; what a thread has pushed and not popped is a leak, as is what was
 * retained and not released.
 */
#include "config.h"

#include "tests/gpu/standin/core.h"

#define ATTRIBUTE_CONTEXT        1
#define ATTRIBUTE_MEMORY_TYPE    2
#define ATTRIBUTE_BUFFER_ID      7
#define ATTRIBUTE_IS_MANAGED     8
#define ATTRIBUTE_DEVICE_ORDINAL 9
#define MEMORYTYPE_HOST          1u
#define MEMORYTYPE_DEVICE        2u
#define CONCURRENT_MANAGED       89 /* CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS */
#define INVALID_CONTEXT          201
#define DEPTH                    16
#define PUSHED                   "pushed contexts"
#define RETAINED                 "retained contexts"

int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer);
int cuDevicePrimaryCtxGetState(int dev, unsigned *flags, int *active);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetCount(int *count);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);

static char              contexts[STANDIN_DEVICES];
static int               retained[STANDIN_DEVICES];
static _Thread_local int below[DEPTH], depth; /* devices that were current before each push */

static int attribute_of(const standin_memory_t *m, int attribute, void *data)
{
    switch (attribute) {
    case ATTRIBUTE_CONTEXT:
        *(void **)data = &contexts[m->device];
        return 0;
    case ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = m->kind == STANDIN_DEVICE || m->kind == STANDIN_MANAGED
                                ? MEMORYTYPE_DEVICE
                                : MEMORYTYPE_HOST;
        return 0;
    case ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = m->id;
        return 0;
    case ATTRIBUTE_IS_MANAGED:
        *(unsigned *)data = m->kind == STANDIN_MANAGED;
        return 0;
    case ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = m->device;
        return 0;
    default:
        return cudaErrorNotSupported;
    }
}

/* A thread without a context is not told that an address is unknown. The documents leave it open
 * which of the two errors it gets; some drivers have given this one. */
int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer)
{
    int                     error = standin_enter(__func__, 0);
    const standin_memory_t *m     = standin_memory_of((const void *)(uintptr_t)pointer);

    if (error == 0) {
        error = data == NULL                            ? cudaErrorInvalidValue
                : m != NULL && m->kind != STANDIN_FREED ? attribute_of(m, attribute, data)
                : standin_bound || depth > 0            ? cudaErrorInvalidValue
                                                        : INVALID_CONTEXT;
    }
    return standin_leave(error);
}

static int device_error(int device)
{
    return device >= 0 && device < standin_devices ? 0 : cudaErrorInvalidDevice;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int error = standin_enter(__func__, 0);

    error = error == 0 ? device_error(device) : error;
    if (error == 0 && (value == NULL || attribute != CONCURRENT_MANAGED)) {
        error = cudaErrorInvalidValue;
    }
    if (error == 0) {
        *value = 1;
    }
    return standin_leave(error);
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    int error = standin_enter(__func__, 0);

    error = error == 0 ? device_error(device) : error;
    if (error == 0) {
        *context = &contexts[device];
        retained[device]++;
        standin_count(RETAINED, 1);
    }
    return standin_leave(error);
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    int error = standin_enter(__func__, 0);

    error = error == 0 ? device_error(device) : error;
    if (error == 0 && retained[device] == 0) {
        standin_found("the context of device %d was not retained", device);
        error = INVALID_CONTEXT;
    }
    if (error == 0) {
        retained[device]--;
        standin_count(RETAINED, -1);
    }
    return standin_leave(error);
}

int cuDeviceGetCount(int *count)
{
    int error = standin_enter(__func__, 0);

    if (error == 0) {
        *count = standin_devices;
    }
    return standin_leave(error);
}

int cuCtxPushCurrent_v2(void *context)
{
    int             error  = standin_enter(__func__, 0);
    const ptrdiff_t device = (char *)context - contexts;

    if (error == 0 && (context == NULL || device < 0 || device >= standin_devices)) {
        standin_found("%p is no context", context);
        error = INVALID_CONTEXT;
    } else if (error == 0 && depth == DEPTH) {
        standin_found("%d contexts are pushed already", depth);
        error = INVALID_CONTEXT;
    }
    if (error == 0) {
        below[depth++]  = standin_current;
        standin_current = (int)device;
        standin_count(PUSHED, 1);
    }
    return standin_leave(error);
}

int cuCtxPopCurrent_v2(void **context)
{
    int error = standin_enter(__func__, 0);

    if (error == 0 && depth == 0) {
        standin_found("no context was pushed by this thread");
        error = INVALID_CONTEXT;
    }
    if (error == 0) {
        if (context != NULL) {
            *context = &contexts[standin_current];
        }
        standin_current = below[--depth];
        standin_count(PUSHED, -1);
    }
    return standin_leave(error);
}

int cuDevicePrimaryCtxGetState(int dev, unsigned *flags, int *active)
{
    int error = standin_enter(__func__, 0);

    if (error == 0 && (dev < 0 || dev >= standin_devices)) {
        error = cudaErrorInvalidDevice;
    }
    if (error == 0) {
        *flags  = 0;
        *active = standin_started[dev] || retained[dev] > 0;
    }
    return standin_leave(error);
}
