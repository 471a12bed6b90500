/* SPDX-License-Identifier: BSD-3-Clause
 * command/quantiles.c - see quantiles.h.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "command/quantiles.h"

#define STEPS (TW_QUANTILES - 1)

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* The probability of quantile i. */
static double probability(int i)
{
    return 1.0 / (1.0 + exp(TW_QUANTILES_LOGIT * (1.0 - 2.0 * i / STEPS)));
}

/* Of n sorted numbers above 0, number i being the quantile of probability (i + 1/2) / n. */
static double quantile(const float *x, size_t n, double p)
{
    const double at   = fmin(fmax(p * (double)n - 0.5, 0.0), (double)(n - 1));
    const size_t i    = (size_t)at;
    const double low  = (double)x[i];
    const double high = (double)x[i + 1 < n ? i + 1 : i];

    return low * pow(high / low, at - (double)i);
}

void tw_quantiles_make(tw_quantiles_t *table, const char *name, float *x, size_t n)
{
    size_t left = 0, negative = 0;

    for (size_t i = 0; i < n; i++) {
        negative += x[i] < 0.0f;
        if (x[i] != 0.0f) {
            x[left++] = fabsf(x[i]);
        }
    }
    *table = (tw_quantiles_t){.name = name, .count = n, .zero = (double)(n - left) / (double)n};
    if (left == 0) {
        return;
    }
    qsort(x, left, sizeof(*x), by_size);
    table->negative = (double)negative / (double)left;
    for (int i = 0; i < TW_QUANTILES; i++) {
        table->magnitude[i] = quantile(x, left, probability(i));
    }
}

float tw_quantiles_draw(const tw_quantiles_t *table, double zero, double sign, double magnitude)
{
    const double logit = log(magnitude / (1.0 - magnitude));
    const double most  = TW_QUANTILES_LOGIT;
    const double at    = (fmin(fmax(logit, -most), most) + most) * STEPS / (2.0 * most);
    const int    i     = at < STEPS ? (int)at : STEPS - 1;
    double       size;

    if (zero <= table->zero) {
        return 0.0f;
    }
    size = table->magnitude[i] * pow(table->magnitude[i + 1] / table->magnitude[i], at - i);
    return (float)(sign <= table->negative ? -size : size);
}
