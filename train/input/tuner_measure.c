/* SPDX-License-Identifier: BSD-3-Clause
 * input/tuner_measure.c - medians of step times, how far noise may have moved them, and which state
 * is better by them.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "train/input/tuner_state.h"

/* Of normal noise: the standard deviation in median distances, and the standard error of a median
 * of n samples in standard deviations / sqrt(n). */
static const double DEVIATION = 1.4826, MEDIAN_ERROR = 1.2533;

/* Not qsort, which may allocate. */
static void sort(double *values, size_t n)
{
    for (size_t gap = n; gap > 1;) {
        gap = gap < 5 ? 1 : gap * 5 / 11;
        for (size_t i = gap; i < n; i++) {
            const double value = values[i];
            size_t       k     = i;

            for (; k >= gap && values[k - gap] > value; k -= gap) {
                values[k] = values[k - gap];
            }
            values[k] = value;
        }
    }
}

static double median(double *values, size_t n)
{
    sort(values, n);
    /* Half of the difference: the sum could overflow. */
    return values[(n - 1) / 2] + (values[n / 2] - values[(n - 1) / 2]) / 2;
}

double tw_tuner_measure(double *sorted, const double *times, size_t n, double *spread_p)
{
    double middle, distance;

    memcpy(sorted, times, n * sizeof(*sorted));
    middle = median(sorted, n);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = fabs(times[i] - middle);
    }
    distance  = median(sorted, n);
    *spread_p = 0;
    if (middle > 0) {
        /* The last factor: few samples are nearer to their own median than to the true one. */
        *spread_p = DEVIATION * (distance / middle) * ((double)n / ((double)n - 0.8));
    }
    return middle;
}

double tw_tuner_error(double spread, size_t n)
{
    return MEDIAN_ERROR * spread / sqrt((double)n);
}

double tw_tuner_error_of(const tw_tuner_t *tuner, size_t row)
{
    const size_t n    = tuner->rows[row].samples;
    const double mean = tuner->seen > 0 ? tuner->spreads / (double)tuner->seen : 0;

    return n > 0 ? tw_tuner_error(fmax(tuner->spread[row], mean), n) : 0;
}

double tw_tuner_lowest(const tw_tuner_t *tuner, size_t row)
{
    const double range = TW_TUNER_RANGE * tw_tuner_error_of(tuner, row);

    return range < 1 ? tuner->rows[row].median * (1 - range) : 0;
}

double tw_tuner_highest(const tw_tuner_t *tuner, size_t row)
{
    return tuner->rows[row].median * (1 + TW_TUNER_RANGE * tw_tuner_error_of(tuner, row));
}

int tw_tuner_better(const tw_tuner_t *tuner, size_t a, size_t b)
{
    const tw_tuner_row_t *x = &tuner->rows[a], *y = &tuner->rows[b];

    if (tw_tuner_measured(tuner, a) != tw_tuner_measured(tuner, b)) {
        return tw_tuner_measured(tuner, a);
    }
    if (x->median < y->median || x->median > y->median) {
        return x->median < y->median;
    }
    if (x->state.threads != y->state.threads) {
        return x->state.threads < y->state.threads;
    }
    return x->state.index > y->state.index;
}

/* ---- visits -------------------------------------------------------------------------------- */

void tw_tuner_visit(tw_tuner_t *tuner, size_t row, size_t samples)
{
    tuner->row   = row;
    tuner->wait  = tuner->config.settle;
    tuner->left  = samples;
    tuner->asked = 0;
    tuner->count = 0;
}

void tw_tuner_accept(tw_tuner_t *tuner)
{
    tuner->spreads += tuner->spread[tuner->row];
    tuner->seen++;
    if (tuner->best == tuner->states || tw_tuner_better(tuner, tuner->row, tuner->best)) {
        tuner->best = tuner->row;
    }
}

void tw_tuner_stay(tw_tuner_t *tuner, size_t row, double reference)
{
    tw_tuner_visit(tuner, row, 0);
    tuner->stage     = TW_TUNER_SETTLED;
    tuner->reference = reference;
    tuner->away      = 0;
}

void tw_tuner_decide(tw_tuner_t *tuner)
{
    if (tuner->best != tuner->tuned) {
        tuner->patience = 1;
    } else if (tuner->patience < TW_TUNER_PATIENCE) {
        tuner->patience *= 2;
    }
    tw_tuner_stay(tuner, tuner->best, -1);
}
