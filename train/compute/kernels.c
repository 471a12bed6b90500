/* SPDX-License-Identifier: BSD-3-Clause
 * compute/kernels.c - see kernels.h. Compiled once per instruction set, with its flags and
 * TW_KERNELS defined as the name of the table.
 */
#include "config.h"

#include <math.h>

#include "train/compute/kernels.h"
#include "train/compute/kernels_inline.h"

#define TW_TEXT_(x) #x
#define TW_TEXT(x)  TW_TEXT_(x)
#define TW_NAME_(x) tw_kernels_##x
#define TW_NAME(x)  TW_NAME_(x)

static void pixels(float *restrict y, const uint8_t *restrict src, size_t n, const tw_drop_t *drop)
{
    const tw_drop_t d = *drop;
    const float     f = d.scale / 255.0f;

#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float v = (float)src[i] * f;

        y[i] = tw_keep(&d, (uint32_t)i) ? v : 0.0f;
    }
}

static void logistic(float *restrict y, const float *restrict bias, size_t n, const tw_drop_t *drop)
{
    const tw_drop_t d = *drop;

    if (d.threshold == 0) {
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            y[i] = 1.0f / (1.0f + tw_exp(-(y[i] + bias[i])));
        }
        return;
    }
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float v = d.scale / (1.0f + tw_exp(-(y[i] + bias[i])));

        y[i] = tw_keep(&d, (uint32_t)i) ? v : 0.0f;
    }
}

static void logistic_back(float *restrict d, const float *restrict y, size_t n, float keep)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        d[i] *= y[i] * (1.0f - keep * y[i]);
    }
}

static void add(float *restrict sum, const float *restrict x, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        sum[i] += x[i];
    }
}

static void add_squares(float *restrict sum, const float *restrict x, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        sum[i] += x[i] * x[i];
    }
}

static void multiply(float *restrict x, const float *restrict factor, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        x[i] *= factor[i];
    }
}

static void rmsprop(float *restrict w, float *restrict m, const float *restrict g, size_t n,
                    const tw_rmsprop_t *how)
{
    const float rate = how->rate, decay = how->decay, rest = 1.0f - how->decay;
    const float epsilon = how->epsilon;

#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float mean = decay * m[i] + rest * (g[i] * g[i]);

        m[i] = mean;
        w[i] -= rate * g[i] / (sqrtf(mean) + epsilon);
    }
}

const tw_kernels_t TW_NAME(TW_KERNELS) = {
    .isa           = TW_TEXT(TW_KERNELS),
    .pixels        = pixels,
    .logistic      = logistic,
    .logistic_back = logistic_back,
    .add           = add,
    .add_squares   = add_squares,
    .multiply      = multiply,
    .rmsprop       = rmsprop,
};
