/* SPDX-License-Identifier: BSD-3-Clause
 * codec/cuda/select.c - which devices CUDA counts, where they are, and starting one; in words where
 * that fails.
 */
#include "config.h"

#include <stdio.h>

#include "runtime/codec/cuda/runtime.h"
#include "runtime/codec/cuda/select.h"

/* Without a driver the runtime says that it is too old. */
static void tw_cuda_old_driver(char *why, size_t size)
{
    int driver = 0, runtime = 0;

    (void)tw_cuda_status(cudaDriverGetVersion(&driver));
    (void)tw_cuda_status(cudaRuntimeGetVersion(&runtime));
    if (driver == 0) {
        snprintf(why, size, "there is no CUDA driver");
    } else {
        snprintf(why, size, "the driver is too old: it is for CUDA %d.%d, thinwire for %d.%d",
                 driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
}

tw_status_t tw_cuda_count(int *count_p, char *why, size_t size)
{
    int               count  = 0;
    const cudaError_t error  = cudaGetDeviceCount(&count);
    const tw_status_t status = tw_cuda_status(error);

    if (error == cudaErrorInsufficientDriver) {
        tw_cuda_old_driver(why, size);
    } else if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
        snprintf(why, size, "CUDA sees no device");
    } else if (error != cudaSuccess) {
        snprintf(why, size, "CUDA finds no device: %s", cudaGetErrorString(error));
    } else {
        *count_p = count;
        return TW_OK;
    }
    return status != TW_OK ? status : TW_ERR_UNSUPPORTED;
}

tw_status_t tw_cuda_bus(int device, char *text, size_t size)
{
    return tw_cuda_status(cudaDeviceGetPCIBusId(text, (int)size, device));
}

/* cudaSetDevice() starts a device, too, but is then hard to take back: what was current before
 * would be started. Runtimes before 12 start at the first use, so there it is not. */
static cudaError_t tw_cuda_init(int device)
{
#if CUDART_VERSION >= 12000
    return cudaInitDevice(device, 0, 0);
#else
    int         before = 0;
    cudaError_t error  = cudaGetDevice(&before);

    if (error == cudaSuccess) {
        error = cudaSetDevice(device);
    }
    if (error == cudaSuccess) {
        error = cudaFree(NULL);
        (void)cudaSetDevice(before);
    }
    return error;
#endif
}

tw_status_t tw_cuda_start_device(int device, char *why, size_t size)
{
    cudaError_t error;
    tw_status_t status;
    int         processors;

    if (tw_cuda_processors(device, &processors) == TW_ERR_UNSUPPORTED) {
        snprintf(why, size, "device %d has a compute capability below %d.0, which kernels need",
                 device, TW_CUDA_OLDEST);
        return TW_ERR_UNSUPPORTED;
    }
    error  = tw_cuda_init(device);
    status = tw_cuda_status(error);
    if (error == cudaErrorDevicesUnavailable || error == cudaErrorDeviceAlreadyInUse) {
        snprintf(why, size, "device %d is busy, or another process has it alone (compute mode)",
                 device);
        return TW_ERR_BUSY;
    }
    if (error == cudaErrorMemoryAllocation) {
        snprintf(why, size, "device %d has no memory left for another process", device);
    } else if (error != cudaSuccess) {
        snprintf(why, size, "device %d: %s", device, cudaGetErrorString(error));
    }
    return status;
}
