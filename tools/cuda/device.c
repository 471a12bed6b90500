/* SPDX-License-Identifier: BSD-3-Clause
 * tools/cuda/device.c - by the CUDA runtime. Without libcuda.so.1 (no driver) the runtime loads
 * and reports an error, which means no devices.
 */
#include "config.h"

#include <stdio.h>

#include <cuda_runtime_api.h>

#include "tools/device.h"

void device_facts_get(device_facts_t *facts)
{
    struct cudaDeviceProp properties;

    *facts = (device_facts_t){.linked = 1};
    if (cudaRuntimeGetVersion(&facts->runtime) != cudaSuccess) {
        facts->runtime = 0;
    }
    if (cudaDriverGetVersion(&facts->driver) != cudaSuccess) {
        facts->driver = 0;
    }
    if (cudaGetDeviceCount(&facts->count) != cudaSuccess) {
        facts->count = 0;
    }
    if (facts->count > 0 && cudaGetDeviceProperties(&properties, 0) == cudaSuccess) {
        snprintf(facts->first, sizeof(facts->first), "%s", properties.name);
    }
}
