/* SPDX-License-Identifier: BSD-3-Clause
 * input/pixels.c - see pixels.h. Compiled once per instruction set, with its flags and TW_KERNELS
 * defined as the ending of the table's name.
 */
#include "config.h"

#include "train/input/pixels_inside.h"

static void reverse(const uint8_t *restrict in, size_t n, uint8_t *restrict out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = in[n - 1 - i];
    }
}

static void reverse_floats(const float *restrict in, size_t n, float *restrict out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = in[n - 1 - i];
    }
}

static void convert(const uint8_t *restrict in, size_t n, float mean, float scale,
                    float *restrict out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = ((float)in[i] - mean) * scale;
    }
}

static void convert_reversed(const uint8_t *restrict in, size_t n, float mean, float scale,
                             float *restrict out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = ((float)in[n - 1 - i] - mean) * scale;
    }
}

/* out may be in, so neither is restrict: what is written has been read. */
static void shift(const float *in, size_t n, float mean, float scale, float *out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = (in[i] - mean) * scale;
    }
}

static void subtract(const uint8_t *restrict in, const float *restrict mean, size_t n,
                     float *restrict out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = (float)in[i] - mean[i];
    }
}

static void subtract_floats(const float *in, const float *mean, size_t n, float *out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = in[i] - mean[i];
    }
}

static void planes(const uint8_t *restrict rgb, size_t n, uint8_t *restrict r, uint8_t *restrict g,
                   uint8_t *restrict b)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        r[i] = rgb[3 * i];
        g[i] = rgb[3 * i + 1];
        b[i] = rgb[3 * i + 2];
    }
}

const tw_pixels_t TW_PIXELS_NAME(tw_pixels) = {
    .resize_rows      = tw_pixels_resize_rows,
    .resize_columns   = tw_pixels_resize_columns,
    .reverse          = reverse,
    .reverse_floats   = reverse_floats,
    .convert          = convert,
    .convert_reversed = convert_reversed,
    .shift            = shift,
    .subtract         = subtract,
    .subtract_floats  = subtract_floats,
    .blend            = tw_pixels_blend,
    .blend_each       = tw_pixels_blend_each,
    .luma             = tw_pixels_luma,
    .sum              = tw_pixels_sum,
    .planes           = planes,
};
