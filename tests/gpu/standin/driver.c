/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/driver.c - the functions of the driver that thinwire looks for.
 */
#include "config.h"

#include "tests/gpu/standin/core.h"

#define ATTRIBUTE_MEMORY_TYPE 2
#define ATTRIBUTE_IS_MANAGED  8
#define MEMORYTYPE_HOST       1u
#define MEMORYTYPE_DEVICE     2u

int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer);
int cuDevicePrimaryCtxGetState(int dev, unsigned *flags, int *active);

int cuPointerGetAttribute(void *data, int attribute, unsigned long long pointer)
{
    int                     error = standin_enter(__func__, 0);
    const standin_memory_t *m     = standin_memory_of((const void *)(uintptr_t)pointer);

    if (error == 0 && (m == NULL || m->kind == STANDIN_FREED)) {
        error = cudaErrorInvalidValue;
    } else if (error == 0 && attribute == ATTRIBUTE_MEMORY_TYPE) {
        *(unsigned *)data =
            m->kind == STANDIN_DEVICE || m->kind == STANDIN_MANAGED || m->kind == STANDIN_OPENED
                ? MEMORYTYPE_DEVICE
                : MEMORYTYPE_HOST;
    } else if (error == 0 && attribute == ATTRIBUTE_IS_MANAGED) {
        *(unsigned *)data = m->kind == STANDIN_MANAGED;
    } else if (error == 0) {
        error = cudaErrorNotSupported;
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
        *active = standin_started[dev];
    }
    return standin_leave(error);
}
