/* SPDX-License-Identifier: BSD-3-Clause
 * transport/comm/system.c - the default table.
 */
#include "config.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/codec/combine.h"
#include "runtime/transport/comm/system.h"

static void tw_system_yield(int descriptor)
{
    (void)descriptor;
    sched_yield();
}

static void tw_system_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

static int tw_system_reserve(int file, size_t bytes)
{
    return posix_fallocate(file, 0, (off_t)bytes);
}

static void *tw_system_map(int file, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    return base != MAP_FAILED ? base : NULL;
}

const tw_system_ops_t tw_system = {.yield   = tw_system_yield,
                                   .copy    = tw_system_copy,
                                   .combine = tw_combine,
                                   .reserve = tw_system_reserve,
                                   .map     = tw_system_map};
