/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/machine.c - which GPUs of the machine are a process's devices: as CUDA reads
 * CUDA_VISIBLE_DEVICES. GPU n has the UUID "GPU-0000000n", and each of its parts (MIG) a name that
 * begins with "MIG-0000000n" or, as older drivers have it, "MIG-GPU-0000000n/".
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/core.h"

int standin_gpu[STANDIN_DEVICES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
int standin_driver               = CUDART_VERSION;

/* The GPU of an entry; -1: none. */
static int gpu_of(const char *entry, size_t length, int gpus)
{
    const bool  part = strncmp(entry, "MIG-", 4) == 0;
    const char *at   = entry + (part ? 4 : 0);
    const bool  name = strncmp(at, "GPU-", 4) == 0;
    char       *end;
    long        n;

    at += name ? 4 : 0;
    n = strtol(at, &end, part || name ? 16 : 10);
    return end > at && n >= 0 && n < gpus &&
                   (end == entry + length || (part && (*end == '/' || *end == '-')))
               ? (int)n
               : -1;
}

int standin_visible(int gpus, const char *visible)
{
    int count = 0;

    for (const char *at = visible; at != NULL && *at != '\0' && count < STANDIN_DEVICES;) {
        const size_t length = strcspn(at, ",");
        const int    gpu    = gpu_of(at, length, gpus);

        if (gpu < 0) { /* hides itself and what follows */
            break;
        }
        for (int i = 0; i < count; i++) {
            if (standin_gpu[i] == gpu) { /* twice: nothing at all */
                return 0;
            }
        }
        standin_gpu[count++] = gpu;
        if (strncmp(at, "MIG-", 4) == 0) { /* no more than one of them */
            break;
        }
        at += length + (at[length] == ',');
    }
    for (int i = 0; visible == NULL && i < gpus; i++) {
        standin_gpu[count++] = i;
    }
    return count;
}
