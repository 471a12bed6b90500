/* SPDX-License-Identifier: BSD-3-Clause
 * tests/transport/stub_memory.c - memory mapped twice: where nobody may touch it, and where its
 * bytes are.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/transport/stub_memory.h"

int stub_current = 1;
int stub_objects;

void stub_die(const char *what)
{
    fprintf(stderr, "stub device: %s\n", what);
    abort();
}

typedef struct memory {
    struct memory *next;
    uint8_t       *shown, *real; /* what is handed out, and where the bytes are */
    size_t         bytes, mapped;
    int            device; /* whose; 0: pinned */
} memory_t;

static memory_t *memories;

static memory_t *memory_of(const void *p)
{
    for (memory_t *m = memories; m != NULL; m = m->next) {
        if ((const uint8_t *)p >= m->shown && (const uint8_t *)p < m->shown + m->mapped) {
            return m;
        }
    }
    return NULL;
}

void *stub_real(const void *p)
{
    const memory_t *m = memory_of(p);

    return m != NULL ? m->real + ((const uint8_t *)p - m->shown) : (void *)(uintptr_t)p;
}

uint8_t *stub_region(const void *p, size_t bytes, bool device)
{
    const memory_t *m = memory_of(p);

    if ((device && (m == NULL || m->device == 0)) ||
        (m != NULL && (const uint8_t *)p + bytes > m->shown + m->bytes)) {
        stub_die("a region is not in the device's memory");
    }
    return stub_real(p);
}

static bool owns_one(const void *p)
{
    const memory_t *m = p != NULL ? memory_of(p) : NULL;

    return m != NULL && m->device != 0;
}

bool stub_owns(const void *p, const void *q)
{
    return owns_one(p) || owns_one(q);
}

tw_status_t stub_check(const void *p)
{
    const memory_t *m = memory_of(p);

    return m != NULL && m->device != 0 && m->device == stub_current ? TW_OK : TW_ERR_INVALID_ARG;
}

tw_status_t stub_allocate(tw_device_memory_t kind, size_t bytes, void **p)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    memory_t    *m    = calloc(1, sizeof(*m));
    const int    file = memfd_create("stub", 0);

    m->bytes  = bytes;
    m->mapped = (bytes / page + 1) * page;
    m->device = kind == TW_DEVICE_MEMORY ? stub_current : 0;
    if (file < 0 || ftruncate(file, (off_t)m->mapped) != 0) {
        stub_die("no memory");
    }
    m->real  = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    m->shown = m->device == 0 ? m->real : mmap(NULL, m->mapped, PROT_NONE, MAP_SHARED, file, 0);
    close(file);
    if (m->real == MAP_FAILED || m->shown == MAP_FAILED) {
        stub_die("no memory");
    }
    memset(m->real, 0xd7, m->mapped);
    m->next  = memories;
    memories = m;
    stub_objects++;
    *p = m->shown;
    return TW_OK;
}

void stub_release(tw_device_memory_t kind, void *p)
{
    memory_t **at = &memories, *m;

    while (*at != NULL && (*at)->shown != p) {
        at = &(*at)->next;
    }
    m = *at;
    if (m == NULL || (m->device == 0) != (kind == TW_DEVICE_PINNED)) {
        stub_die("memory is released that is none");
    }
    *at = m->next;
    munmap(m->real, m->mapped);
    if (m->shown != m->real) {
        munmap(m->shown, m->mapped);
    }
    free(m);
    stub_objects--;
}
