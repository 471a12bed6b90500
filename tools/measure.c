/* SPDX-License-Identifier: BSD-3-Clause
 * tools/measure.c - time, medians and sizes.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tools/measure.h"
#include "tools/table.h"

double measure_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double measure_median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare_doubles);
    return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

int measure_repeats(double seconds, double budget)
{
    const double repeats = seconds > 0 ? budget / seconds : MEASURE_REPEATS;

    return repeats < 5 ? 5 : repeats > MEASURE_REPEATS ? MEASURE_REPEATS : (int)repeats;
}

int measure_range(size_t *min, size_t *max, size_t default_min, size_t default_max,
                  tw_problem_t *problem)
{
    if (*min == 0) {
        *min = *max > 0 && *max < default_min ? *max : default_min;
    }
    if (*max == 0) {
        *max = *min > default_max ? *min : default_max;
    }
    if (*min > *max) {
        char small[TABLE_CELL], large[TABLE_CELL];

        table_size(small, *max);
        table_size(large, *min);
        return tw_problem_set(problem, "--min %s is larger than --max %s", large, small);
    }
    return 0;
}

size_t measure_next_size(size_t size, size_t max)
{
    if (size >= max) {
        return 0;
    }
    return size > max / 4 ? max : size * 4;
}

int measure_memory(double bytes, tw_problem_t *problem)
{
    const double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    if (have <= 0 || bytes <= have) {
        return 0;
    }
    return tw_problem_set(
        problem,
        "the largest size needs about %.1f GiB on a node that has %.1f GiB; use a smaller --max",
        bytes / 1073741824.0, have / 1073741824.0);
}
