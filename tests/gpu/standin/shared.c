/* SPDX-License-Identifier: BSD-3-Clause
 * tests/gpu/standin/shared.c - device memory that other processes open: a file whose last page says
 * how many have it open, and whether it was released. They reach the file through /proc/PID/fd.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/gpu/standin/shared.h"

/* In the file, behind the bytes. */
typedef struct standin_state {
    uint64_t   number; /* of the export; the same in the handle */
    atomic_int opened; /* by so many processes and devices */
    atomic_int gone;
} standin_state_t;

struct standin_shared {
    standin_memory_t *next; /* that is open */
    standin_handle_t  handle;
    standin_state_t  *state;
    unsigned          references; /* of this process; 0: the memory is its own */
    int               said;       /* the device, to who asks */
};

static standin_memory_t *opened;

static standin_state_t *map_state(int file, size_t mapped)
{
    void *at = mmap(NULL, standin_page(), PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)mapped);

    return at == MAP_FAILED ? NULL : at;
}

/* Bytes, and where they are mapped, stay; what is behind them becomes a file that others can
 * open. */
static bool move(standin_memory_t *m, struct standin_shared *shared, int file)
{
    if (ftruncate(file, (off_t)(m->mapped + standin_page())) != 0 ||
        pwrite(file, m->real_pages, m->mapped, 0) != (ssize_t)m->mapped) {
        return false;
    }
    shared->state = map_state(file, m->mapped);
    return shared->state != NULL &&
           mmap(m->real_pages, m->mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                0) != MAP_FAILED &&
           mmap(m->pages, m->mapped, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
}

bool standin_share(standin_memory_t *m, standin_handle_t *handle)
{
    static uint64_t        numbers;
    struct standin_shared *shared = m->shared;

    if (shared == NULL) {
        const int file = memfd_create("standin-shared", MFD_CLOEXEC);

        shared = calloc(1, sizeof(*shared));
        if (file < 0 || !move(m, shared, file)) {
            free(shared);
            return false;
        }
        shared->state->number = shared->handle.number = ++numbers;
        shared->handle.process                        = getpid();
        shared->handle.file                           = file;
        shared->handle.device                         = m->device;
        shared->handle.bytes                          = m->bytes;
        shared->handle.lead                           = (uint64_t)(m->shown - m->pages);
        shared->said                                  = m->device;
        m->shared                                     = shared;
    }
    *handle = shared->handle;
    return true;
}

/* Two mappings of the file, as memory.c has of its own. */
static bool map(standin_memory_t *m, int file)
{
    const size_t page = standin_page();
    uint8_t     *reserved;

    reserved      = mmap(NULL, m->mapped + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m->real_pages = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (reserved == MAP_FAILED || m->real_pages == MAP_FAILED ||
        mmap(reserved + page, m->mapped, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) ==
            MAP_FAILED) {
        return false;
    }
    m->pages = reserved + page;
    return true;
}

standin_memory_t *standin_open_shared(const standin_handle_t *handle)
{
    const size_t           page   = standin_page();
    standin_memory_t      *m      = calloc(1, sizeof(*m));
    struct standin_shared *shared = calloc(1, sizeof(*shared));
    char                   path[64];
    int                    file;

    snprintf(path, sizeof(path), "/proc/%" PRId64 "/fd/%" PRId64, handle->process, handle->file);
    file         = open(path, O_RDWR | O_CLOEXEC);
    *m           = (standin_memory_t){.bytes  = handle->bytes,
                                      .mapped = (handle->bytes + page - 1) / page * page,
                                      .device = standin_current,
                                      .kind   = STANDIN_OPENED,
                                      .shared = shared};
    *shared      = (struct standin_shared){.handle = *handle, .references = 1};
    shared->said = standin_lot(2) == 0 ? standin_current : (int)handle->device;
    if (file >= 0) {
        shared->state = map_state(file, m->mapped);
    }
    if (shared->state == NULL || shared->state->number != handle->number || !map(m, file)) {
        free(shared);
        free(m);
        m = NULL;
    } else {
        m->shown = m->pages + handle->lead;
        m->real  = m->real_pages + handle->lead;
        atomic_fetch_add(&shared->state->opened, 1);
        shared->next = opened;
        opened       = m;
        standin_memory_add(m);
        standin_count("memory of other processes", 1);
    }
    if (file >= 0) {
        close(file);
    }
    return m;
}

standin_memory_t *standin_opened_before(const standin_handle_t *handle)
{
    for (standin_memory_t *m = opened; m != NULL; m = m->shared->next) {
        if (m->device == standin_current &&
            memcmp(&m->shared->handle, handle, sizeof(*handle)) == 0) {
            m->shared->references++;
            return m;
        }
    }
    return NULL;
}

bool standin_closed(standin_memory_t *m)
{
    return --m->shared->references == 0;
}

void standin_shared_end(standin_memory_t *m)
{
    struct standin_shared *shared = m->shared;

    if (m->kind == STANDIN_OPENED) {
        standin_memory_t **at = &opened;

        while (*at != m) {
            at = &(*at)->shared->next;
        }
        *at = shared->next;
        atomic_fetch_sub(&shared->state->opened, 1);
    } else {
        if (atomic_load(&shared->state->opened) > 0) {
            standin_found("%zu bytes are released that another process has open", m->bytes);
        }
        atomic_store(&shared->state->gone, 1);
        close((int)shared->handle.file);
    }
    munmap(shared->state, standin_page());
    free(shared);
    m->shared = NULL;
}

bool standin_shared_gone(const standin_memory_t *m)
{
    return m->kind == STANDIN_OPENED && atomic_load(&m->shared->state->gone) != 0;
}

int standin_shared_device(const standin_memory_t *m)
{
    return m->shared != NULL ? m->shared->said : m->device;
}
