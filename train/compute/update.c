/* SPDX-License-Identifier: BSD-3-Clause
 * compute/update.c - see update.h. Compiled once per instruction set, with its flags and TW_KERNELS
 * defined as the name of the table.
 */
#include "config.h"

#include <math.h>

#include "train/compute/update.h"

#define TW_NAME_(x) tw_update_##x
#define TW_NAME(x)  TW_NAME_(x)

/* Sums of squares are kept in so many lanes at every instruction set. */
enum { LANES = 16 };

static void sgd(float *restrict w, float *restrict v, const float *restrict g, size_t n,
                const tw_sgd_rule_t *rule)
{
    const float rate = rule->rate, momentum = rule->momentum, decay = rule->decay;
    const float scale = rule->scale;

#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float step = momentum * v[i] + rate * (scale * g[i] + decay * w[i]);

        v[i] = step;
        w[i] -= step;
    }
}

static void rmsprop(float *restrict w, float *restrict m, const float *restrict g, size_t n,
                    const tw_rms_rule_t *rule)
{
    const float rate = rule->rate, keep = rule->rms_decay, rest = 1.0f - rule->rms_decay;
    const float epsilon = rule->epsilon, decay = rule->decay, scale = rule->scale;

#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float d    = scale * g[i] + decay * w[i];
        const float mean = keep * m[i] + rest * (d * d);

        m[i] = mean;
        w[i] -= rate * d / (sqrtf(mean) + epsilon);
    }
}

/* In double, where squares of floats are exact. */
static double sum_of_squares(const float *w, size_t n)
{
    double lane[LANES] = {0.0}, sum = 0.0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
#pragma omp simd
        for (int k = 0; k < LANES; k++) {
            lane[k] += (double)w[i + (size_t)k] * (double)w[i + (size_t)k];
        }
    }
    for (; i < n; i++) {
        lane[i % LANES] += (double)w[i] * (double)w[i];
    }
    for (int k = 0; k < LANES; k++) {
        sum += lane[k];
    }
    return sum;
}

static void max_norm(float *w, size_t units, size_t per_unit, float most)
{
    for (size_t u = 0; u < units; u++) {
        float       *row = w + u * per_unit;
        const double sum = sum_of_squares(row, per_unit);

        if (sum > (double)most * (double)most) {
            const float factor = (float)((double)most / sqrt(sum));

#pragma omp simd
            for (size_t i = 0; i < per_unit; i++) {
                row[i] *= factor;
            }
        }
    }
}

const tw_update_t TW_NAME(TW_KERNELS) = {
    .sgd      = sgd,
    .rmsprop  = rmsprop,
    .max_norm = max_norm,
};
