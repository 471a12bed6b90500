/* SPDX-License-Identifier: BSD-3-Clause
 * bench/loops.h - what a program would write itself: loops in C as a compiler makes
 * the most of it (loops.c is compiled with -O3 and, on x86-64, for AVX2 and F16C).
 */
#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#define LOOPS_BLOCK 4096 /* values of the search, of which each block has a scale */

/* Whether this processor can run them; with_half: the fp16 loops, which not every compiler can
 * make. */
int loops_runs(int with_half);

/* To bf16 to nearest even (no NaN among the values), and back. */
void loops_bf16_encode(const float *restrict x, size_t n, uint16_t *restrict to);
void loops_bf16_decode(const uint16_t *restrict from, size_t n, float *restrict y);

/* To IEEE half precision and back, by the processor's conversions. */
void loops_fp16_encode(const float *restrict x, size_t n, uint16_t *restrict to);
void loops_fp16_decode(const uint16_t *restrict from, size_t n, float *restrict y);

/* 8 bits: blocks of a float32 maximum and signs and indices of the nearest of 128 sorted levels
 * from 0 to 1, by a binary search of the 127 middles between them; and back. to: 4 bytes a block,
 * then n. */
void loops_search_encode(const float *restrict x, size_t n, const double *restrict middles,
                         uint8_t *restrict to);
void loops_search_decode(const uint8_t *restrict from, size_t n, const float *restrict levels,
                         float *restrict y);

#endif /* BENCH_LOOPS_H */
