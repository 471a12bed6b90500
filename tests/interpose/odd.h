/* SPDX-License-Identifier: BSD-3-Clause
 * tests/interpose/odd.h - programs that MPI allows and nobody writes, drawn at random.
 *
 * Program i of a seed is a function of (seed, i) alone: some communicators and up to T_ODD_STEPS
 * steps. A failure names both. Environment: TW_ODD (how many programs), TW_ODD_FIRST (the first),
 * TW_ODD_LENGTH (only so many steps of each), TW_ODD_KINDS (only steps of these kinds). shrink.sh
 * finds the shortest program that fails.
 */
#ifndef TW_TESTS_INTERPOSE_ODD_H
#define TW_TESTS_INTERPOSE_ODD_H

#include "tests/interpose/pool.h"

#define T_ODD_STEPS  12
#define T_ODD_PLACES 3

typedef struct t_odd {
    uint64_t  shared, own;          /* numbers that all ranks draw alike; this rank's own */
    t_place_t places[T_ODD_PLACES]; /* a duplicate of the world, a part, two groups */
    t_pool_t  pool;
    long      child; /* a process that stops this one and lets it go on; 0: none */
} t_odd_t;

/* The case. */
void t_odd_programs(void);

/* Steps whose data only they know; odd_data.c. */
void t_odd_equal(t_odd_t *odd);      /* equal pointers, NULL, empty sides        */
void t_odd_interleave(t_odd_t *odd); /* equal pointers, types that interleave    */
void t_odd_types(t_odd_t *odd);      /* nested, resized and overlapping types    */
void t_odd_hidden(t_odd_t *odd);     /* memory that other processes cannot read  */

#endif /* TW_TESTS_INTERPOSE_ODD_H */
