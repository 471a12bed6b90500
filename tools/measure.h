/* SPDX-License-Identifier: BSD-3-Clause
 * tools/measure.h - time, medians, sizes and data for the benches.
 */
#ifndef TOOLS_MEASURE_H
#define TOOLS_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "command/problem.h"
#include "command/quantiles.h"

#define MEASURE_REPEATS 500 /* at most */

double measure_now(void); /* seconds, monotonic */

/* Sorts the values. */
double measure_median(double *values, size_t n);

/* How often to repeat something that took `seconds`, within a budget in seconds. */
int measure_repeats(double seconds, double budget);

/* The sizes of a bench: min, 4 min, 16 min ... and max. What was not given (0) adapts to what was.
 * @return 0, or -1 with the problem set. */
int    measure_range(size_t *min, size_t *max, size_t default_min, size_t default_max,
                     tw_problem_t *problem);
size_t measure_next_size(size_t size, size_t max); /* 0 after max */

/* Do `bytes` fit the memory of this machine? To be told is better than to be killed.
 * @return 0, or -1 with the problem set. */
int measure_memory(double bytes, tw_problem_t *problem);

/* x[i] = i-th value of stream `seed` of a normal distribution with this deviation (mean 0), or of a
 * uniform one on (0, 1]; the same whatever n and the threads. */
void data_normal(float *x, size_t n, uint64_t seed, double deviation);
void data_uniform(float *x, size_t n, uint64_t seed);

/* The same for a measured distribution, times a number. */
void data_measured(float *x, size_t n, uint64_t seed, const tw_quantiles_t *table, double times);

/* n values of a file of little-endian float32, from where the part-th of `parts` equal parts of it
 * begins, starting again at its end.
 * @return 0, or -1 with the problem set. */
int data_read(const char *path, int part, int parts, float *x, size_t n, tw_problem_t *problem);

#endif /* TOOLS_MEASURE_H */
