/* SPDX-License-Identifier: BSD-3-Clause
 * tools/device.h - CUDA devices. tools/cuda/device.c answers where the CUDA runtime is linked,
 * tools/no_device.c elsewhere.
 */
#ifndef TOOLS_DEVICE_H
#define TOOLS_DEVICE_H

#include <stddef.h>

typedef struct device_facts {
    int  linked;     /* the CUDA runtime is part of this program                  */
    int  runtime;    /* its version, 13000 for 13.0; 0 if not linked              */
    int  driver;     /* newest CUDA the driver supports; 0 if there is no driver  */
    int  count;      /* usable devices                                            */
    char first[256]; /* name of the first, or ""                                  */
} device_facts_t;

void device_facts_get(device_facts_t *facts);

#endif /* TOOLS_DEVICE_H */
