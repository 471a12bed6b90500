/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/memory.c - see memory.h.
 */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/interpose/common.h"
#include "tests/interpose/memory.h"

typedef enum kind { HOST, PINNED, MANAGED, DEVICE, KINDS } kind_t;

static struct {
    int (*allocate)(void **p, size_t bytes);
    int (*release)(void *p);
    int (*allocate_host)(void **p, size_t bytes);
    int (*release_host)(void *p);
    int (*allocate_managed)(void **p, size_t bytes, unsigned flags);
    int (*use)(int device);
    int (*count)(int *count);
    void *(*real)(const void *p);
    int devices;
} cuda;

static void *symbol(void *library, const char *name)
{
    void *address = library != NULL ? dlsym(library, name) : NULL;

    if (address == NULL) {
        printf("no %s in the library of TW_STANDIN\n", name);
        abort();
    }
    return address;
}

static void *runtime(void)
{
    const char *name = getenv("TW_STANDIN");

    return dlopen(name != NULL ? name : "none", RTLD_NOW);
}

void *t_memory_symbol(const char *name)
{
    return symbol(runtime(), name);
}

static void load(void)
{
    void *library = runtime();

    *(void **)&cuda.allocate         = symbol(library, "cudaMalloc");
    *(void **)&cuda.release          = symbol(library, "cudaFree");
    *(void **)&cuda.allocate_host    = symbol(library, "cudaMallocHost");
    *(void **)&cuda.release_host     = symbol(library, "cudaFreeHost");
    *(void **)&cuda.allocate_managed = symbol(library, "cudaMallocManaged");
    *(void **)&cuda.use              = symbol(library, "cudaSetDevice");
    *(void **)&cuda.count            = symbol(library, "cudaGetDeviceCount");
    *(void **)&cuda.real             = symbol(library, "standin_real");
    T_CHECK(cuda.count(&cuda.devices) == 0 && cuda.devices > 0, "no devices");
}

static kind_t draw(uint64_t seed)
{
    const char *kind = getenv("TW_MEMORY");

    if (kind == NULL || strcmp(kind, "host") == 0) {
        return HOST;
    }
    return strcmp(kind, "device") == 0 ? DEVICE
                                       : (kind_t)(t_mix(seed + 51u * (uint64_t)t_rank) % KINDS);
}

static void release_device(void *p)
{
    T_CHECK(cuda.release(p) == 0, "cudaFree");
}

static void release_host(void *p)
{
    T_CHECK(cuda.release_host(p) == 0, "cudaFreeHost");
}

t_memory_t t_memory_get(size_t bytes, uint64_t seed)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const kind_t          kind = draw(seed);
    void                 *p    = NULL;
    int                   error;

    if (kind == HOST) {
        p = t_malloc(bytes);
        return (t_memory_t){.here = p, .mpi = p, .release = free};
    }
    pthread_once(&once, load);
    /* The device that is current in the calls is another one, where there are several. */
    T_CHECK(cuda.use((int)(t_mix(seed + 3) % (uint64_t)cuda.devices)) == 0, "cudaSetDevice");
    error = kind == DEVICE   ? cuda.allocate(&p, bytes)
            : kind == PINNED ? cuda.allocate_host(&p, bytes)
                             : cuda.allocate_managed(&p, bytes, 1);
    T_CHECK(error == 0, "%zu bytes of kind %d: error %d", bytes, (int)kind, error);
    T_CHECK(cuda.use((int)(t_mix(seed + 4) % (uint64_t)cuda.devices)) == 0, "cudaSetDevice");
    return (t_memory_t){
        .here = cuda.real(p), .mpi = p, .release = kind == PINNED ? release_host : release_device};
}

void t_memory_put(t_memory_t *memory)
{
    if (memory->release != NULL) {
        memory->release(memory->mpi);
    }
    *memory = (t_memory_t){.release = NULL};
}
