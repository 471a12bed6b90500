/* SPDX-License-Identifier: BSD-3-Clause
 * compute/units.c - see units.h. Compiled once per instruction set, with its flags and TW_KERNELS
 * defined as the ending of the table's name.
 */
#include "config.h"

#include <math.h>

#include "train/compute/kernels_inline.h"
#include "train/compute/units.h"

#define TW_NAME_(x) tw_unit_loops_##x
#define TW_NAME(x)  TW_NAME_(x)

/* Factors 1 + e^-|z| are at most 2: so many of them cannot overflow a double. */
#define TW_FACTORS 512u

static void units_activate(float *restrict y, float b, size_t n, tw_activation_t activation)
{
    if (activation == TW_LOGISTIC) {
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            y[j] = 1.0f / (1.0f + tw_exp(-(y[j] + b)));
        }
    } else if (activation == TW_RELU) {
        /* Written so that NaN stays. */
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            const float z = y[j] + b;

            y[j] = z < 0.0f ? 0.0f : z;
        }
    } else {
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            y[j] += b;
        }
    }
}

/* Unit i of every example. */
static void mask_unit(float *restrict y, size_t n, const tw_masks_t *masks, uint32_t i)
{
    const int32_t threshold      = masks->threshold;
    const float   scale          = masks->scale;
    const uint32_t *restrict low = masks->low, *restrict high = masks->high;

#pragma omp simd
    for (size_t j = 0; j < n; j++) {
        const float v = scale * y[j];

        y[j] = tw_keep_halves(low[j], high[j], threshold, i) ? v : 0.0f;
    }
}

static void units_forward(float *y, const float *bias, size_t units, size_t n,
                          tw_activation_t activation, const tw_masks_t *masks, size_t first)
{
    for (size_t u = 0; u < units; u++) {
        units_activate(y + u * n, bias == NULL ? 0.0f : bias[u], n, activation);
        if (masks != NULL) {
            mask_unit(y + u * n, n, masks, (uint32_t)(first + u));
        }
    }
}

static void mask(float *y, size_t units, size_t n, const tw_masks_t *masks, size_t first)
{
    for (size_t u = 0; u < units; u++) {
        mask_unit(y + u * n, n, masks, (uint32_t)(first + u));
    }
}

static void units_backward(float *restrict d, const float *restrict y, size_t units, size_t n,
                           tw_activation_t activation, float scale)
{
    const size_t count = units * n;

    if (activation == TW_RELU) {
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            d[i] = y[i] > 0.0f ? scale * d[i] : 0.0f * y[i];
        }
    } else if (activation == TW_LOGISTIC) {
        const float keep = 1.0f / scale;

#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            d[i] *= y[i] * (1.0f - keep * y[i]);
        }
    }
}

static void sums(float *restrict sum, const float *restrict d, size_t units, size_t n, int add)
{
    for (size_t u = 0; u < units; u++) {
        const float *restrict row = d + u * n;
        float  lane[16] = {0.0f}, total = 0.0f;
        size_t j = 0;

        for (; j + 16 <= n; j += 16) {
#pragma omp simd
            for (size_t i = 0; i < 16; i++) {
                lane[i] += row[j + i];
            }
        }
        for (size_t i = 0; i < 16; i++) {
            total += lane[i];
        }
        for (; j < n; j++) {
            total += row[j];
        }
        sum[u] = add ? sum[u] + total : total;
    }
}

/* y may be x, so neither is restrict: what is written has been read. */
static void drop(float *y, const float *x, size_t units, const tw_drop_t *how)
{
    const tw_drop_t d = *how;

#pragma omp simd
    for (size_t i = 0; i < units; i++) {
        const float v = d.scale * x[i];

        y[i] = tw_keep(&d, (uint32_t)i) ? v : 0.0f;
    }
}

/* ---- losses --------------------------------------------------------------------------------- */

static void top(float *restrict most, const float *restrict z, size_t units, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        most[j] = -INFINITY;
    }
    for (size_t u = 0; u < units; u++) {
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            most[j] = z[u * n + j] > most[j] ? z[u * n + j] : most[j];
        }
    }
}

static void tops(float *restrict most, const float *restrict z, size_t units, size_t n)
{
    for (size_t i = 0; i < TW_TOPS * n; i++) {
        most[i] = -INFINITY;
    }
    for (size_t u = 0; u < units; u++) {
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            float v = z[u * n + j];

            for (size_t k = 0; k < TW_TOPS; k++) { /* the larger stays, the other goes on */
                const float m = most[k * n + j];

                most[k * n + j] = v > m ? v : m;
                v               = v > m ? m : v;
            }
        }
    }
}

static void exponentials(float *restrict z, const float *restrict most, float *restrict sum,
                         size_t units, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        sum[j] = 0.0f;
    }
    for (size_t u = 0; u < units; u++) {
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            const float e = tw_exp(z[u * n + j] - most[j]);

            z[u * n + j] = e;
            sum[j] += e;
        }
    }
}

static void scale_examples(float *restrict z, const float *restrict factor, size_t units, size_t n)
{
    for (size_t u = 0; u < units; u++) {
#pragma omp simd
        for (size_t j = 0; j < n; j++) {
            z[u * n + j] *= factor[j];
        }
    }
}

/* m <= 16 examples: log(1 + e^z) = max(z, 0) + log(1 + e^-|z|), with the logarithm of the product
 * of many factors at once. */
static void logistic_lanes(float *restrict z, double *restrict loss, size_t units, size_t n,
                           size_t m, float scale)
{
    double product[16], sum[16] = {0.0};

    for (size_t i = 0; i < 16; i++) {
        product[i] = 1.0;
    }
    for (size_t u = 0; u < units; u++) {
#pragma omp simd
        for (size_t i = 0; i < m; i++) {
            const float v = z[u * n + i], e = tw_exp(-fabsf(v));

            sum[i] += v < 0.0f ? 0.0 : (double)v;
            product[i] *= 1.0 + (double)e;
            z[u * n + i] = scale * ((v < 0.0f ? e : 1.0f) / (1.0f + e));
        }
        for (size_t i = 0; u % TW_FACTORS == TW_FACTORS - 1 && i < m; i++) {
            sum[i] += log(product[i]);
            product[i] = 1.0;
        }
    }
    for (size_t i = 0; i < m; i++) {
        loss[i] += sum[i] + log(product[i]);
    }
}

static void logistic_loss(float *z, double *loss, size_t units, size_t n, float scale)
{
    for (size_t j = 0; j < n; j += 16) {
        logistic_lanes(z + j, loss + j, units, n, n - j < 16 ? n - j : 16, scale);
    }
}

const tw_unit_loops_t TW_NAME(TW_KERNELS) = {
    .forward       = units_forward,
    .mask          = mask,
    .backward      = units_backward,
    .sums          = sums,
    .drop          = drop,
    .top           = top,
    .tops          = tops,
    .exponentials  = exponentials,
    .scale         = scale_examples,
    .logistic_loss = logistic_loss,
};
