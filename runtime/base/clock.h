/* SPDX-License-Identifier: BSD-3-Clause
 * base/clock.h - monotonic time.
 */
#ifndef TW_BASE_CLOCK_H
#define TW_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some fixed point; never goes back. */
static inline uint64_t tw_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif /* TW_BASE_CLOCK_H */
