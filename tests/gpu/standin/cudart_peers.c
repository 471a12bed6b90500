/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/cudart_peers.c - the runtime: memory of other devices and of other processes.
 */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "tests/gpu/standin/cudart.h"
#include "tests/gpu/standin/shared.h"

_Static_assert(sizeof(standin_handle_t) <= sizeof(cudaIpcMemHandle_t), "it fits a handle");

/* ---- devices -------------------------------------------------------------------------------- */

static bool exists(int device)
{
    return device >= 0 && device < standin_devices;
}

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess && (!exists(device) || !exists(peerDevice))) {
        error = cudaErrorInvalidDevice;
    }
    if (error == cudaSuccess) {
        *canAccessPeer = standin_peers_possible && device != peerDevice;
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess && flags != 0) {
        error = cudaErrorInvalidValue;
    } else if (error == cudaSuccess && (!exists(peerDevice) || peerDevice == standin_current)) {
        error = cudaErrorInvalidDevice;
    } else if (error == cudaSuccess && !standin_peers_possible) {
        error = cudaErrorPeerAccessUnsupported;
    } else if (error == cudaSuccess && standin_peers[standin_current][peerDevice]) {
        error = cudaErrorPeerAccessAlreadyEnabled;
    }
    if (error == cudaSuccess) {
        standin_peers[standin_current][peerDevice] = true;
    }
    return standin_cuda_leave(error);
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
    cudaError_t error = standin_cuda_enter(__func__);

    if (error == cudaSuccess && !exists(peerDevice)) {
        error = cudaErrorInvalidDevice;
    } else if (error == cudaSuccess && !standin_peers[standin_current][peerDevice]) {
        error = cudaErrorPeerAccessNotEnabled;
    }
    if (error == cudaSuccess) {
        standin_peers[standin_current][peerDevice] = false;
    }
    return standin_cuda_leave(error);
}

/* ---- processes ------------------------------------------------------------------------------ */

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
    cudaError_t       error = standin_cuda_enter(__func__);
    standin_memory_t *m     = standin_memory_of(devPtr);
    standin_handle_t  made;

    if (error == cudaSuccess && (m == NULL || m->kind != STANDIN_DEVICE || m->shown != devPtr)) {
        standin_found("%p is not where device memory begins", devPtr);
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess && !standin_share(m, &made)) {
        error = cudaErrorMapBufferObjectFailed;
    }
    if (error == cudaSuccess) {
        memset(handle, 0, sizeof(*handle));
        memcpy(handle, &made, sizeof(made));
    }
    return standin_cuda_leave(error);
}

static cudaError_t open_check(const standin_handle_t *handle, unsigned flags)
{
    if (flags != cudaIpcMemLazyEnablePeerAccess) {
        standin_found("flags are %u; the documents allow cudaIpcMemLazyEnablePeerAccess", flags);
        return cudaErrorInvalidValue;
    }
    if (handle->process == getpid()) {
        standin_found("the handle is one of this process");
        return cudaErrorInvalidResourceHandle;
    }
    return handle->device != standin_current && !standin_peers_possible
               ? cudaErrorPeerAccessUnsupported
               : cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags)
{
    cudaError_t       error = standin_cuda_enter(__func__);
    standin_handle_t  which;
    standin_memory_t *m = NULL;

    memcpy(&which, &handle, sizeof(which));
    if (error == cudaSuccess) {
        error = open_check(&which, flags);
    }
    if (error == cudaSuccess) {
        m     = standin_opened_before(&which);
        m     = m != NULL ? m : standin_open_shared(&which);
        error = m == NULL ? cudaErrorMapBufferObjectFailed : cudaSuccess;
    }
    if (error == cudaSuccess) {
        *devPtr = m->shown;
    }
    return standin_cuda_leave(error);
}

/* A broken device lets go of it, too, and says that it is broken: what it had open, nothing can use
 * any more. */
cudaError_t cudaIpcCloseMemHandle(void *devPtr)
{
    cudaError_t       error  = standin_cuda_enter(__func__);
    const bool        broken = standin_broken[standin_current] != 0;
    standin_memory_t *m      = standin_memory_of(devPtr);

    if ((error == cudaSuccess || broken) &&
        (m == NULL || m->kind != STANDIN_OPENED || m->shown != devPtr)) {
        standin_found("%p is not memory of another process that is open", devPtr);
        error = cudaErrorInvalidValue;
    } else if ((error == cudaSuccess || broken) && standin_closed(m)) {
        if (standin_uses(m) && !broken) {
            standin_found("work that uses the memory is not done");
        }
        standin_finish_uses(m);
        standin_release(m);
    }
    return standin_cuda_leave(error);
}
