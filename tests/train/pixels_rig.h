/* SPDX-License-Identifier: BSD-3-Clause
 * tests/train/pixels_rig.h - what the tests of loops over pixels share: the loops of every
 * instruction set that there is, and memory that shows where they read and write.
 *
 * Inputs lie against pages that cannot be read, once with their first byte and once with their
 * last; so do outputs, and gaps in them are filled with a mark.
 */
#ifndef TW_TESTS_PIXELS_RIG_H
#define TW_TESTS_PIXELS_RIG_H

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <thinwire/codec.h>

#include "tests/suite.h"
#include "tests/train/levels.h"
#include "train/input/pixels.h"

enum { MARK = 0x5a, ROOM = 1 << 20 };

static const tw_pixels_t *levels[LEVELS];
static test_random_t      random_state;

typedef enum place { IN, IN_2, IN_3, FIRST, WEIGHT, OUT, OUT_2, OUT_3, WANT, PLACES } place_t;

static uint8_t *room[PLACES];
static size_t   room_size;

static inline void make_rooms(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    room_size = (ROOM + page - 1) / page * page;
    for (int k = 0; k < PLACES; k++) {
        room[k] = mmap(NULL, room_size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room[k] == MAP_FAILED ||
            mprotect(room[k] + page, room_size, PROT_READ | PROT_WRITE) != 0) {
            perror("mmap");
            exit(EXIT_FAILURE);
        }
        room[k] += page;
    }
}

static inline void find_levels(void)
{
    static const char *const names[LEVELS] = {"scalar", "avx2", "avx512"};

    for (int k = 0; k < LEVELS; k++) {
        const tw_compute_kernels_t *kernels = kernels_at(k);

        levels[k] = kernels == NULL ? NULL : TW_KERNELS_OF(kernels, tw_pixels);
        if (levels[k] == NULL) {
            printf("# SKIP %s: not in this build or processor\n", names[k]);
        }
    }
    fflush(stdout);
}

/* Before the suite runs. */
static inline void rig_init(void)
{
    random_state.state = test_seed();
    find_levels();
    make_rooms();
}

/* Each instruction set that there is, with bytes at either end of their rooms. */
#define EACH_CASE(k, last)                                                                         \
    for (int k = 0; k < LEVELS; k++)                                                               \
        for (int last = 0; levels[k] != NULL && last < 2; last++)

/* n bytes of a room: its first, or its last. */
static inline void *bytes_at(place_t place, size_t n, int last)
{
    ck_assert_uint_le(n, room_size);
    return last ? room[place] + room_size - n : room[place];
}

static inline uint8_t *drawn(place_t place, size_t n, int last)
{
    uint8_t *bytes = bytes_at(place, n, last);

    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)test_next(&random_state);
    }
    return bytes;
}

static inline void *marked(place_t place, size_t n, int last)
{
    return memset(bytes_at(place, n, last), MARK, n);
}

/* A check of each value would take longer than all the rest. */
static inline void check_bytes(const void *got, const void *want, size_t n)
{
    const uint8_t *a = got, *b = want;

    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            ck_abort_msg("byte %zu of %zu: %u, not %u", i, n, a[i], b[i]);
        }
    }
}

#endif /* TW_TESTS_PIXELS_RIG_H */
