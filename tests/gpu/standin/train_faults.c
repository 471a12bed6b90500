/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/train_faults.c - three faults for the trainer on the stand-in, by
 * STANDIN_FAULT, that it must find. Only in programs of tests: it stands
 * before the trainer's calls of CUDA and in the place of cuda/libraries.c.
 *
 *   event       streams do not wait for events of others: results are wrong, or differ from run to
 *               run
 *   read        the host reads memory of the device when a copy to it has been queued
 *   descriptor  a tensor is said to have another row
 */
#include "config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "train/compute/cuda/libraries.h"

int load_libraries(tw_libraries_t *libraries, tw_problem_t *problem);

#define tw_libraries_load load_libraries
#include "train/compute/cuda/libraries.c"
#undef tw_libraries_load

static int fault(const char *name)
{
    const char *wanted = getenv("STANDIN_FAULT");

    return wanted != NULL && strcmp(wanted, name) == 0;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    cudaError_t (*real)(cudaStream_t, cudaEvent_t, unsigned int);

    *(void **)&real = dlsym(RTLD_NEXT, "cudaStreamWaitEvent");
    return fault("event") ? cudaSuccess : real(stream, event, flags);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    cudaError_t (*real)(void *, const void *, size_t, enum cudaMemcpyKind, cudaStream_t);
    cudaError_t error;

    *(void **)&real = dlsym(RTLD_NEXT, "cudaMemcpyAsync");
    error           = real(to, from, bytes, kind, stream);
    if (fault("read") && kind == cudaMemcpyHostToDevice && bytes > 0) {
        (void)*(const volatile char *)to;
    }
    return error;
}

static __typeof__(&cudnnSetTensor4dDescriptor) set_tensor;

static cudnnStatus_t set_tensor_wrongly(cudnnTensorDescriptor_t descriptor,
                                        cudnnTensorFormat_t format, cudnnDataType_t type, int n,
                                        int c, int h, int w)
{
    return set_tensor(descriptor, format, type, n, c, h + 1, w);
}

int tw_libraries_load(tw_libraries_t *libraries, tw_problem_t *problem)
{
    if (load_libraries(libraries, problem) != 0) {
        return -1;
    }
    if (fault("descriptor")) {
        set_tensor                                = libraries->dnn.cudnnSetTensor4dDescriptor;
        libraries->dnn.cudnnSetTensor4dDescriptor = set_tensor_wrongly;
    }
    return 0;
}
