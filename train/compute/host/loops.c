/* SPDX-License-Identifier: BSD-3-Clause
 * host/loops.c - see loops.h. Compiled once per instruction set, with its flags and TW_KERNELS
 * defined as the name of the table.
 */
#include "config.h"

#include <string.h>

#include "train/compute/host/loops.h"
#include "train/compute/kernels_inline.h"

#define TW_NAME_(x) tw_host_loops_##x
#define TW_NAME(x)  TW_NAME_(x)

/* Rows whose sums are in float. */
enum { CHUNK = 128 };

typedef float   vec_16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t mask_16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float   vec_8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t mask_8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float   vec_1;

#define TW_LANES 16
#include "train/compute/host/loops_lanes.h"
#define TW_LANES 8
#include "train/compute/host/loops_lanes.h"
#define TW_LANES 1
#include "train/compute/host/loops_lanes.h"

static void loops_activate(float *y, const float *x, size_t n, tw_activation_t how)
{
    if (how == TW_RELU) {
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            y[i] = x[i] < 0.0f ? 0.0f : x[i];
        }
    } else if (how == TW_LOGISTIC) {
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            y[i] = 1.0f / (1.0f + tw_exp(-x[i]));
        }
    } else if (y != x) {
        memcpy(y, x, n * sizeof(*y));
    }
}

static void add(float *y, const float *a, const float *b, size_t n, tw_activation_t how)
{
    if (how == TW_RELU) {
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            const float v = a[i] + b[i];

            y[i] = v < 0.0f ? 0.0f : v;
        }
    } else {
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            y[i] = a[i] + b[i];
        }
    }
}

/* with: more is there. Both flags are constants where this is called. */
static inline __attribute__((always_inline)) void settle_as(float *out, const float *g,
                                                            const float *more, const float *y,
                                                            size_t n, const tw_activation_t how,
                                                            const int with)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        const float v = with ? g[i] + more[i] : g[i];

        out[i] = how == TW_RELU       ? (y[i] > 0.0f ? v : 0.0f)
                 : how == TW_LOGISTIC ? v * (y[i] * (1.0f - y[i]))
                                      : v;
    }
}

static void settle(float *out, const float *g, const float *more, const float *y, size_t n,
                   tw_activation_t how)
{
    if (how == TW_RELU) {
        if (more == NULL) {
            settle_as(out, g, more, y, n, TW_RELU, 0);
        } else {
            settle_as(out, g, more, y, n, TW_RELU, 1);
        }
    } else if (how == TW_LOGISTIC) {
        if (more == NULL) {
            settle_as(out, g, more, y, n, TW_LOGISTIC, 0);
        } else {
            settle_as(out, g, more, y, n, TW_LOGISTIC, 1);
        }
    } else if (more != NULL) {
        settle_as(out, g, more, y, n, TW_LINEAR, 1);
    } else if (out != g) {
        memcpy(out, g, n * sizeof(*out));
    }
}

/* One channel's values are a run: the lanes are neighbours in it, what is left over goes one by
 * one. The rows of each lane then make moments or sums that are put together in double. */
static void moments_flat(const float *x, size_t n, double *mean, double *m2)
{
    const size_t lane_rows = n / 16, rest = n - lane_rows * 16;
    double       means[17], squares[17], count = 0.0;

    *mean = *m2 = 0.0;
    if (lane_rows > 0) {
        moments_16(x, lane_rows, 16, means, squares);
    }
    if (rest > 0) {
        moments_1(x + lane_rows * 16, rest, 1, &means[16], &squares[16]);
    }
    for (int k = 0; k < 17; k++) {
        const double m = k < 16 ? (double)lane_rows : (double)rest;

        if (m > 0.0) {
            const double d = means[k] - *mean;

            *m2 += squares[k] + d * d * count * m / (count + m);
            *mean += d * m / (count + m);
            count += m;
        }
    }
}

static void moments(const float *x, size_t rows, size_t width, double *mean, double *m2)
{
    size_t k = 0;

    if (width == 1) {
        moments_flat(x, rows, mean, m2);
        return;
    }
    for (; k + 16 <= width; k += 16) {
        moments_16(x + k, rows, width, mean + k, m2 + k);
    }
    for (; k + 8 <= width; k += 8) {
        moments_8(x + k, rows, width, mean + k, m2 + k);
    }
    for (; k < width; k++) {
        moments_1(x + k, rows, width, mean + k, m2 + k);
    }
}

/* Coefficients of one channel for 16 lanes. */
static void spread(float *out, const float *coefficients, int n)
{
    for (int i = 0; i < n * 16; i++) {
        out[i] = coefficients[i / 16];
    }
}

static void normalise(float *y, const float *x, size_t rows, size_t width, const float *norm,
                      int relu)
{
    size_t k = 0;

    if (width == 1) {
        const size_t whole = rows / 16 * 16;
        float        same[48];

        spread(same, norm, 3);
        normalise_16(y, x, whole / 16, 16, same, 16, relu);
        normalise_1(y + whole, x + whole, rows - whole, 1, norm, 1, relu);
        return;
    }
    for (; k + 16 <= width; k += 16) {
        normalise_16(y + k, x + k, rows, width, norm + k, width, relu);
    }
    for (; k + 8 <= width; k += 8) {
        normalise_8(y + k, x + k, rows, width, norm + k, width, relu);
    }
    for (; k < width; k++) {
        normalise_1(y + k, x + k, rows, width, norm + k, width, relu);
    }
}

static void norm_sums_flat(const float *dy, const float *x, size_t rows, const float *norm,
                           int relu, double *sum, double *product)
{
    const size_t whole = rows / 16 * 16;
    float        same[48];
    double       sums[16], products[16];

    spread(same, norm, 3);
    norm_sums_16(dy, x, whole / 16, 16, same, 16, relu, sums, products);
    norm_sums_1(dy + whole, x + whole, rows - whole, 1, norm, 1, relu, sum, product);
    for (int k = 0; k < 16; k++) {
        *sum += sums[k];
        *product += products[k];
    }
}

static void norm_sums(const float *dy, const float *x, size_t rows, size_t width, const float *norm,
                      int relu, double *sum, double *product)
{
    size_t k = 0;

    if (width == 1) {
        norm_sums_flat(dy, x, rows, norm, relu, sum, product);
        return;
    }
    for (; k + 16 <= width; k += 16) {
        norm_sums_16(dy + k, x + k, rows, width, norm + k, width, relu, sum + k, product + k);
    }
    for (; k + 8 <= width; k += 8) {
        norm_sums_8(dy + k, x + k, rows, width, norm + k, width, relu, sum + k, product + k);
    }
    for (; k < width; k++) {
        norm_sums_1(dy + k, x + k, rows, width, norm + k, width, relu, sum + k, product + k);
    }
}

static void norm_back(float *dx, const float *dy, const float *x, size_t rows, size_t width,
                      const float *norm, const float *back, int relu)
{
    size_t k = 0;

    if (width == 1) {
        const size_t whole = rows / 16 * 16;
        float        same[48], same_back[48];

        spread(same, norm, 3);
        spread(same_back, back, 3);
        norm_back_16(dx, dy, x, whole / 16, 16, same, same_back, 16, relu);
        norm_back_1(dx + whole, dy + whole, x + whole, rows - whole, 1, norm, back, 1, relu);
        return;
    }
    for (; k + 16 <= width; k += 16) {
        norm_back_16(dx + k, dy + k, x + k, rows, width, norm + k, back + k, width, relu);
    }
    for (; k + 8 <= width; k += 8) {
        norm_back_8(dx + k, dy + k, x + k, rows, width, norm + k, back + k, width, relu);
    }
    for (; k < width; k++) {
        norm_back_1(dx + k, dy + k, x + k, rows, width, norm + k, back + k, width, relu);
    }
}

static void drop_run(float *y, const float *x, size_t rows, size_t width, size_t first,
                     const tw_drop_t *drop)
{
    const tw_drop_t d      = *drop;
    const uint32_t  stride = (uint32_t)rows;

    if (width == 1) {
#pragma omp simd
        for (size_t r = 0; r < rows; r++) {
            y[r] = tw_keep(&d, (uint32_t)first * stride + (uint32_t)r) ? x[r] * d.scale : 0.0f;
        }
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        float       *to   = y + r * width;
        const float *from = x + r * width;

#pragma omp simd
        for (size_t k = 0; k < width; k++) {
            const uint32_t unit = (uint32_t)(first + k) * stride + (uint32_t)r;

            to[k] = tw_keep(&d, unit) ? from[k] * d.scale : 0.0f;
        }
    }
}

const tw_host_loops_t TW_NAME(TW_KERNELS) = {
    .activate  = loops_activate,
    .add       = add,
    .settle    = settle,
    .moments   = moments,
    .normalise = normalise,
    .norm_sums = norm_sums,
    .norm_back = norm_back,
    .drop      = drop_run,
};
