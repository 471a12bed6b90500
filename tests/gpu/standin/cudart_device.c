/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudart_device.c - the runtime: errors, devices, kernels.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/cudart.h"

#define PROCESSORS 2 /* of a device: few, so that kernels go round their loops */

/* ---- errors --------------------------------------------------------------------------------- */

static _Thread_local cudaError_t last;

/* A driver of an earlier major version does not serve, and none is version 0. */
static cudaError_t served(cudaError_t error)
{
    return error == cudaSuccess && standin_driver / 1000 < CUDART_VERSION / 1000
               ? cudaErrorInsufficientDriver
               : error;
}

cudaError_t standin_cuda_enter_any(const char *call)
{
    return served((cudaError_t)standin_enter(call, 0));
}

cudaError_t standin_cuda_enter(const char *call)
{
    const cudaError_t error = served((cudaError_t)standin_enter(call, -1));

    standin_started[standin_current] = standin_devices > 0;
    standin_bound                    = standin_devices > 0;
    return error == cudaSuccess && standin_devices == 0 ? cudaErrorNoDevice : error;
}

cudaError_t standin_cuda_leave(cudaError_t error)
{
    last = error != cudaSuccess ? error : last;
    return (cudaError_t)standin_leave((int)error);
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last;

    last = (cudaError_t)standin_broken[standin_current];
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

#define NAMES(X)                                                                                   \
    X(cudaSuccess)                                                                                 \
    X(cudaErrorInvalidValue)                                                                       \
    X(cudaErrorMemoryAllocation)                                                                   \
    X(cudaErrorInvalidConfiguration)                                                               \
    X(cudaErrorInvalidPitchValue)                                                                  \
    X(cudaErrorInvalidMemcpyDirection)                                                             \
    X(cudaErrorInvalidDeviceFunction)                                                              \
    X(cudaErrorInsufficientDriver)                                                                 \
    X(cudaErrorNoDevice)                                                                           \
    X(cudaErrorInvalidDevice)                                                                      \
    X(cudaErrorInvalidResourceHandle)                                                              \
    X(cudaErrorDeviceAlreadyInUse)                                                                 \
    X(cudaErrorDevicesUnavailable)                                                                 \
    X(cudaErrorNotReady)                                                                           \
    X(cudaErrorIllegalAddress)                                                                     \
    X(cudaErrorHostMemoryAlreadyRegistered)                                                        \
    X(cudaErrorHostMemoryNotRegistered)                                                            \
    X(cudaErrorMisalignedAddress)                                                                  \
    X(cudaErrorLaunchFailure)                                                                      \
    X(cudaErrorMapBufferObjectFailed)                                                              \
    X(cudaErrorPeerAccessUnsupported)                                                              \
    X(cudaErrorPeerAccessAlreadyEnabled)                                                           \
    X(cudaErrorPeerAccessNotEnabled)                                                               \
    X(cudaErrorNotPermitted)                                                                       \
    X(cudaErrorNotSupported)

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define NAME(x)                                                                                    \
    case x:                                                                                        \
        return #x;
        NAMES(NAME)
    default:
        return "unrecognized error code";
    }
}

const char *cudaGetErrorString(cudaError_t error)
{
    return cudaGetErrorName(error);
}

/* ---- versions and devices -------------------------------------------------------------------- */

static cudaError_t version(const char *call, int number, int *version_p)
{
    cudaError_t error = (cudaError_t)standin_enter(call, 0); /* needs no driver */

    if (error == cudaSuccess && version_p == NULL) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *version_p = number;
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    return version(__func__, CUDART_VERSION, runtimeVersion);
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    return version(__func__, standin_driver, driverVersion);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = standin_cuda_enter_any(__func__);

    if (error == cudaSuccess) {
        *count = standin_devices;
        error  = standin_devices == 0 ? cudaErrorNoDevice : cudaSuccess;
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t error = standin_cuda_enter_any(__func__);

    if (error == cudaSuccess && standin_devices == 0) {
        error = cudaErrorNoDevice;
    }
    if (error == cudaSuccess) {
        *device = standin_current;
    }
    return standin_cuda_leave(error);
}

static bool exists(int device)
{
    return device >= 0 && device < standin_devices;
}

/* Each is alone on a bus. */
cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    cudaError_t error = standin_cuda_enter_any(__func__);

    if (error == cudaSuccess && !exists(device)) {
        error = cudaErrorInvalidDevice;
    }
    if (error == cudaSuccess && (pciBusId == NULL || len < 13)) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        snprintf(pciBusId, (size_t)len, "0000:%02X:00.0",
                 (unsigned)(standin_gpu[device] + 1) & 255);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = standin_cuda_enter_any(__func__);

    if (error == cudaSuccess && !exists(device)) {
        error = standin_devices == 0 ? cudaErrorNoDevice : cudaErrorInvalidDevice;
    }
    if (error == cudaSuccess) {
        standin_current         = device;
        standin_started[device] = true; /* since CUDA 12 */
    }
    return standin_cuda_leave(error);
}

/* Starts it, as cudaSetDevice() does; the current one stays. */
cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    cudaError_t error = standin_cuda_enter_any(__func__);

    if (error == cudaSuccess && !exists(device)) {
        error = standin_devices == 0 ? cudaErrorNoDevice : cudaErrorInvalidDevice;
    }
    if (error == cudaSuccess && (deviceFlags != 0 || flags != 0)) {
        standin_found("the stand-in knows no flags of devices");
        error = cudaErrorInvalidValue;
    }
    return standin_cuda_leave(error);
}

static int attribute(enum cudaDeviceAttr attr)
{
    switch ((int)attr) {
    case cudaDevAttrMaxThreadsPerBlock:
        return 1024;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        return 48 << 10;
    case cudaDevAttrWarpSize:
        return 32;
    case cudaDevAttrMultiProcessorCount:
        return PROCESSORS;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
        return 1;
    case cudaDevAttrComputeCapabilityMajor:
        return standin_major;
    case cudaDevAttrComputeCapabilityMinor:
    case cudaDevAttrPageableMemoryAccess:
        return 0;
    default:
        return -1;
    }
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess && !exists(device)) {
        error = cudaErrorInvalidDevice;
    } else if (error == cudaSuccess && attribute(attr) < 0) {
        standin_found("the stand-in does not know attribute %d", (int)attr);
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *value = attribute(attr);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess && !exists(device)) {
        error = cudaErrorInvalidDevice;
    }
    if (error == cudaSuccess) {
        memset(prop, 0, sizeof(*prop));
        snprintf(prop->name, sizeof(prop->name), "stand-in %d", device);
        prop->totalGlobalMem      = standin_memory;
        prop->sharedMemPerBlock   = 48 << 10;
        prop->warpSize            = 32;
        prop->maxThreadsPerBlock  = 1024;
        prop->major               = standin_major;
        prop->multiProcessorCount = PROCESSORS;
        prop->unifiedAddressing   = 1;
        prop->managedMemory       = 1;
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess) {
        standin_finish_device(standin_current);
        error = (cudaError_t)standin_broken[standin_current];
    }
    return standin_cuda_leave(error);
}

/* All that the process has on the current device is gone; nothing else is as it was before. */
cudaError_t cudaDeviceReset(void)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess) {
        standin_finish_device(standin_current);
        standin_streams_destroy_all(standin_current);
        standin_release_all(standin_current);
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess) {
        *free  = standin_memory - standin_used[standin_current];
        *total = standin_memory;
    }
    return standin_cuda_leave(error);
}

/* ---- kernels -------------------------------------------------------------------------------- */

typedef struct standin_launch {
    const standin_kernels_t *kind;
    const void              *kernel;
    unsigned                 blocks, threads;
    int                      device;
    uint8_t                  parameter[4096];
} standin_launch_t;

static const void *pointer_of(const standin_launch_t *launch, size_t i)
{
    const void *p;

    memcpy(&p, launch->parameter + launch->kind->pointers[i], sizeof(p));
    return p;
}

static int launch_run(void *arg, bool dead)
{
    const standin_launch_t *launch = arg;
    int                     error  = 0;

    for (size_t i = 0; i < launch->kind->count && !dead && error == 0; i++) {
        const void *p = pointer_of(launch, i);

        if (p != NULL &&
            standin_bytes("a pointer of the kernel", p, 1, 1, launch->device, true) == NULL) {
            error = cudaErrorIllegalAddress;
        }
    }
    if (!dead && error == 0) {
        for (size_t i = 0; i < launch->kind->count; i++) {
            standin_open(pointer_of(launch, i));
        }
        launch->kind->run(launch->kernel, launch->blocks, launch->threads, launch->parameter);
        for (size_t i = 0; i < launch->kind->count; i++) {
            standin_close(pointer_of(launch, i));
        }
    }
    return error;
}

static cudaError_t launch_check(const void *func, dim3 grid, dim3 block, size_t sharedMem)
{
    if (func == NULL || standin_kernels_of(func) == NULL) {
        return cudaErrorInvalidDeviceFunction;
    }
    if (grid.x == 0 || grid.x > 0x7fffffffu || grid.y != 1 || grid.z != 1 || block.x == 0 ||
        block.x > 1024 || block.y != 1 || block.z != 1 || sharedMem > 48 << 10) {
        standin_found("(%u, %u, %u) blocks of (%u, %u, %u) threads, %zu bytes of shared memory",
                      grid.x, grid.y, grid.z, block.x, block.y, block.z, sharedMem);
        return cudaErrorInvalidConfiguration;
    }
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                             size_t sharedMem, cudaStream_t stream)
{
    cudaError_t      error  = standin_cuda_enter(__func__);
    standin_launch_t launch = {
        .kernel = func, .blocks = gridDim.x, .threads = blockDim.x, .device = standin_current};
    struct CUstream_st *on = NULL;
    const void         *uses[8];

    if (error == cudaSuccess) {
        error = launch_check(func, gridDim, blockDim, sharedMem);
    }
    if (error == cudaSuccess) {
        on    = standin_stream(stream);
        error = on == NULL ? cudaErrorInvalidResourceHandle : cudaSuccess;
    }
    if (error == cudaSuccess && on->device != standin_current) {
        standin_found("the stream is one of device %d, device %d is current", on->device,
                      standin_current);
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess) {
        launch.kind = standin_kernels_of(func);
        memcpy(launch.parameter, args[0], launch.kind->bytes);
        for (size_t i = 0; i < launch.kind->count; i++) {
            uses[i] = pointer_of(&launch, i);
        }
        standin_put(on, launch_run, &launch, sizeof(launch), uses, launch.kind->count, false);
    }
    return standin_cuda_leave(error);
}
