/* SPDX-License-Identifier: BSD-3-Clause
 * tools/bench_alternate.c - see bench_alternate.h.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "tools/bench_alternate.h"

#define LEAST_TIMED 100e-6 /* seconds that one reading of the clock should cover            */
#define CACHED      5e-3   /* seconds: what takes longer leaves nothing in a cache for itself */
#define LEAST_TURNS 7
#define MOST_TURNS  101 /* enough for a 10th percentile */

/* Seconds of `runs` runs. */
static tw_status_t run_clocked(const contender_t *c, int runs, double *seconds)
{
    const double begin  = measure_now();
    tw_status_t  status = TW_OK;

    for (int i = 0; i < runs && status == TW_OK; i++) {
        status = c->run(c->what);
    }
    *seconds = measure_now() - begin;
    return status;
}

/* The second run of each: the first brings pages, tables and threads. */
static tw_status_t first_looks(const contender_t *contenders, size_t count, double *once)
{
    tw_status_t status = TW_OK;

    for (size_t c = 0; c < count && status == TW_OK; c++) {
        status = run_clocked(&contenders[c], 1, &once[c]);
        if (status == TW_OK) {
            status = run_clocked(&contenders[c], 1, &once[c]);
        }
    }
    return status;
}

static tw_status_t turn_contenders(const contender_t *contenders, const int *runs,
                                   const double *once, alternation_t *a)
{
    tw_status_t status = TW_OK;

    for (size_t c = 0; c < a->count && status == TW_OK; c++) {
        if (once[c] < CACHED) {
            status = contenders[c].run(contenders[c].what);
        }
        if (status == TW_OK) {
            status = run_clocked(&contenders[c], runs[c], &a->seconds[c][a->turns]);
        }
        a->seconds[c][a->turns] /= runs[c];
    }
    a->turns++;
    return status;
}

tw_status_t alternate(const contender_t *contenders, size_t count, double budget,
                      alternation_t *result)
{
    double      once[ALTERNATE_MOST], all = 0;
    int         runs[ALTERNATE_MOST], turns;
    tw_status_t status = first_looks(contenders, count, once);

    result->count = count;
    result->turns = 0;
    for (size_t c = 0; c < count && status == TW_OK; c++) {
        runs[c] = (int)fmax(1, fmin(1000, ceil(LEAST_TIMED / fmax(once[c], 1e-8))));
        all += once[c] * (runs[c] + (once[c] < CACHED ? 1 : 0));
    }
    turns = measure_repeats(all, budget);
    turns = turns < LEAST_TURNS ? LEAST_TURNS : turns > MOST_TURNS ? MOST_TURNS : turns;
    while (result->turns < turns && status == TW_OK) {
        status = turn_contenders(contenders, runs, once, result);
    }
    return status;
}

double alternate_seconds(const alternation_t *a, size_t which)
{
    double sorted[MEASURE_REPEATS];

    memcpy(sorted, a->seconds[which], (size_t)a->turns * sizeof(*sorted));
    return measure_median(sorted, (size_t)a->turns);
}

/* Between the two nearest of sorted values. */
static double percentile(const double *sorted, int n, double part)
{
    const double at  = part * (n - 1);
    const int    low = (int)at, high = low + 1 < n ? low + 1 : low;

    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

ratio_t alternate_ratio(const alternation_t *a, size_t which, size_t reference)
{
    double  ratios[MEASURE_REPEATS];
    ratio_t result;

    for (int i = 0; i < a->turns; i++) {
        ratios[i] = a->seconds[reference][i] / a->seconds[which][i];
    }
    result.median = measure_median(ratios, (size_t)a->turns);
    result.spread =
        (percentile(ratios, a->turns, 0.9) - percentile(ratios, a->turns, 0.1)) / result.median;
    return result;
}
