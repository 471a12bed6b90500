/* SPDX-License-Identifier: BSD-3-Clause
 * interpose/mpi/writable.c - see writable.h. Numbers without holes are asked about in one call, by
 * MADV_POPULATE_WRITE (Linux 5.14). Where that does not answer, a page is asked by a futex
 * operation that adds no bit to its first word: the kernel does that atomically, so that no other
 * thread's store is lost, and answers EFAULT where a store would raise a signal. Neither needs a
 * file, or a right that a container may lack (process_vm_writev does). Many pages, and layouts
 * whose holes may not be mapped, are looked up in /proc/self/maps.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/next.h"
#include "interpose/mpi/writable.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define TW_PAGES_ASKED 1024 /* beyond, reading the map takes less time */

/* 0, or an errno: EFAULT says that it may not be written, another one says nothing. */
static int tw_page_ask(uintptr_t page)
{
    static uint32_t nobody; /* waits here */

    return syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 1L, 0L, page,
                   (long)FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) >= 0
               ? 0
               : errno;
}

static int tw_pages_ask(uintptr_t first, uintptr_t end, uintptr_t size)
{
    int answer = (end - first) / size > TW_PAGES_ASKED ? E2BIG : 0;

    for (uintptr_t page = first; page < end && answer == 0; page += size) {
        answer = tw_page_ask(page);
    }
    return answer;
}

/* Is something mapped there, and may all of it be written? */
static bool tw_map_writable(uintptr_t first, uintptr_t end)
{
    FILE     *maps = fopen("/proc/self/maps", "re");
    bool      any = false, all = true;
    uintptr_t from, to;
    char      mode[5];

    while (maps != NULL && all &&
           fscanf(maps, "%" SCNxPTR "-%" SCNxPTR " %4s%*[^\n]", &from, &to, mode) == 3) {
        if (from < end && to > first) {
            any = true;
            all = mode[1] == 'w';
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return any && all;
}

bool tw_writable(const tw_type_t *type, const void *buffer, size_t count)
{
    const uintptr_t size   = (uintptr_t)sysconf(_SC_PAGESIZE);
    const MPI_Aint  last   = (MPI_Aint)(count > 0 ? count - 1 : 0) * type->extent;
    MPI_Aint        before = 0, length = (MPI_Aint)type->size;
    uintptr_t       first = (uintptr_t)buffer, end;
    int             answer;

    if (count == 0 || type->size == 0 || type->device != NULL) {
        return true;
    }
    if (!type->dense &&
        tw_next.Type_get_true_extent(type->handle, &before, &length) != MPI_SUCCESS) {
        return false;
    }
    /* An extent may be negative: then the last item comes first. */
    end = first + (uintptr_t)(before + length + (last > 0 ? last : 0));
    first += (uintptr_t)(before + (last < 0 ? last : 0));
    first -= first % size;
    end += (size - end % size) % size;
    if (type->dense && madvise((void *)first, end - first, MADV_POPULATE_WRITE) == 0) {
        return true;
    }
    answer = tw_pages_ask(first, end, size);
    return answer == 0 || ((answer != EFAULT || !type->dense) && tw_map_writable(first, end));
}
