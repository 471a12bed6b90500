/* SPDX-License-Identifier: BSD-3-Clause
 * tests/cross/numbers.h - random numbers of every kind, for twins.c.
 */
#ifndef TW_TESTS_CROSS_NUMBERS_H
#define TW_TESTS_CROSS_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

typedef enum kind {
    NORMAL,    /* a bell around 0                                        */
    WIDE,      /* any finite bits                                        */
    ZERO,      /* +0 and -0                                              */
    DENORMAL,  /* subnormal numbers only                                 */
    HUGE_ONES, /* within a factor 16 of the largest number               */
    EQUAL,     /* all the same                                           */
    SMALL,     /* tiny negatives, now and then a 1                       */
    EDGE,      /* near the maxima below which a block is a zero block    */
    TIES,      /* half way where a format cuts, or next to it            */
    BITS,      /* any bits at all                                        */
    RARE_INF,  /* a bell, one Inf or NaN in about 700                    */
    KINDS
} kind_t;

/* Where the sequence starts. */
void seed(uint64_t start);

uint32_t draw(void);

/* n float32 of a kind, at any alignment. */
void fill(uint8_t *dst, kind_t kind, size_t n);

#endif /* TW_TESTS_CROSS_NUMBERS_H */
