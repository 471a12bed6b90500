/* SPDX-License-Identifier: BSD-3-Clause
 * tests/unreadable.h - memory that its process may read, and no other one: of memfd_secret(), of
 * which nobody else sees anything; and memory whose middle may only be written, which x86-64 reads
 * all the same, and the system for others does not.
 */
#ifndef TW_TESTS_UNREADABLE_H
#define TW_TESTS_UNREADABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum way { WAY_SECRET, WAY_HOLE, WAYS } way_t;

static inline size_t page_up(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

static inline void *map_secret(size_t bytes)
{
    void *at = MAP_FAILED;
    int   fd = -1;

#ifdef SYS_memfd_secret
    fd = (int)syscall(SYS_memfd_secret, 0);
#else
    fd = (int)syscall(447, 0);
#endif
    if (fd >= 0 && ftruncate(fd, (off_t)page_up(bytes)) == 0) {
        at = mmap(NULL, page_up(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    return at;
}

/* The last page but one (or the only one) may only be written. */
static inline void *map_hole(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page_up(bytes);
    uint8_t     *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at != MAP_FAILED && mprotect(at + (size - page) / 2 / page * page, page, PROT_WRITE) != 0) {
        munmap(at, size);
        return MAP_FAILED;
    }
    return at;
}

/* NULL where the system has no such memory, or lets others read it. Filled with junk. */
static inline float *unreadable(way_t way, size_t bytes)
{
    uint8_t     *at = way == WAY_SECRET ? map_secret(bytes) : map_hole(bytes);
    uint8_t     *copy;
    struct iovec from = {.iov_base = at, .iov_len = bytes}, to = {.iov_len = bytes};
    ssize_t      got;

    if (at == MAP_FAILED) {
        return NULL;
    }
    memset(at, 0x5a, bytes);
    copy        = malloc(bytes);
    to.iov_base = copy;
    got         = copy != NULL ? process_vm_readv(getpid(), &to, 1, &from, 1, 0) : (ssize_t)bytes;
    free(copy);
    if (got == (ssize_t)bytes) {
        munmap(at, page_up(bytes));
        return NULL;
    }
    return (float *)(void *)at;
}

static inline void unreadable_free(float *at, size_t bytes)
{
    munmap(at, page_up(bytes));
}

#endif /* TW_TESTS_UNREADABLE_H */
