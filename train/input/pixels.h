/* SPDX-License-Identifier: BSD-3-Clause
 * input/pixels.h - the loops over pixels: resizing, colours, floats. Every instruction set gives
 * the same bits as the scalar one, which is the definition.
 *
 * The sources, compiled once per instruction set as the loops of train/compute/ are: TW_KERNELS_OF(
 * kernels, tw_pixels).
 *
 * Nothing needs to be aligned. Counts may be 0. No byte is written that a definition does not name,
 * and none is read outside the first to the last that it names: buffers need no room beyond their
 * ends. Outputs overlap no input, except where it says that they may be one.
 */
#ifndef TW_INPUT_PIXELS_H
#define TW_INPUT_PIXELS_H

#include <stddef.h>
#include <stdint.h>

/* One output position of a resized line: the weighted sum of `taps` values from `first` on. */
typedef struct tw_resize_line {
    size_t         n;      /* output positions                                                    */
    size_t         taps;   /* values that each reads, at least 1                                  */
    const int32_t *first;  /* [n] first value read; first + taps stays inside the line; any order */
    const int16_t *weight; /* [n][taps], not below 0, sums of 16384                               */
} tw_resize_line_t;

typedef struct tw_pixels {
    /** n output rows from rows of `width` values: out[i][x] = (sum over k of weight[i][k] *
     * in[(first[i] + k) * stride + x] + 8192) >> 14. Cheaper per value than the columns: do the
     * rows first where the height shrinks. */
    void (*resize_rows)(const tw_resize_line_t *line, const uint8_t *in, size_t stride,
                        size_t width, uint8_t *out, size_t out_stride);

    /** n output columns of `rows` rows: out[y][i] = (sum over k of weight[i][k] *
     * in[y * stride + first[i] + k] + 8192) >> 14. Fast while 16 neighbours read from at most 64
     * values (AVX-512; 4 from 16, AVX2): a line that keeps a quarter of its length. */
    void (*resize_columns)(const tw_resize_line_t *line, const uint8_t *in, size_t stride,
                           size_t rows, uint8_t *out, size_t out_stride);

    /** out[i] = in[n - 1 - i]. */
    void (*reverse)(const uint8_t *in, size_t n, uint8_t *out);
    void (*reverse_floats)(const float *in, size_t n, float *out);

    /** out[i] = ((float)in[i] - mean) * scale, and of in[n - 1 - i]. */
    void (*convert)(const uint8_t *in, size_t n, float mean, float scale, float *out);
    void (*convert_reversed)(const uint8_t *in, size_t n, float mean, float scale, float *out);

    /** out[i] = (in[i] - mean) * scale: the same where floats have come already; out may be in. */
    void (*shift)(const float *in, size_t n, float mean, float scale, float *out);

    /** out[i] = (float)in[i] - mean[i]; the second: out may be in. */
    void (*subtract)(const uint8_t *in, const float *mean, size_t n, float *out);
    void (*subtract_floats)(const float *in, const float *mean, size_t n, float *out);

    /** Colours of 8 bits by fixed-point numbers, see input/colour.c: with a = 65536 * factor
     * rounded, out[i] = clamp((in[i] * a + grey * (65536 - a) + 32768) >> 16) to 0 .. 255;
     * |a| <= 2^22, and out may be in. */
    void (*blend)(const uint8_t *in, size_t n, int32_t a, uint8_t grey, uint8_t *out);

    /** The same with a grey value for each pixel. */
    void (*blend_each)(const uint8_t *in, const uint8_t *grey, size_t n, int32_t a, uint8_t *out);

    /** grey[i] = (19595 r + 38470 g + 7471 b + 32768) >> 16. */
    void (*luma)(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n, uint8_t *grey);

    /** Sum of n values. */
    uint64_t (*sum)(const uint8_t *in, size_t n);

    /** Three planes of rows of n pixels from n pixels of three values. */
    void (*planes)(const uint8_t *rgb, size_t n, uint8_t *r, uint8_t *g, uint8_t *b);
} tw_pixels_t;

extern const tw_pixels_t tw_pixels_scalar, tw_pixels_avx2, tw_pixels_avx512;

/** The weights of a resized line by the triangle filter, which is widened by the scale where the
 * line becomes shorter (linear interpolation with antialiasing, as Pillow and torchvision resize):
 * position i has its centre at (i + 0.5) * in / out.
 * @param in, out      length of the whole line before and after, 1 .. 2^24.
 * @param from, n      the output positions wanted: from .. from + n - 1, below out.
 * @param [out] first  [n], never falling.
 * @param [out] weight [n][taps]; NULL: not asked for. taps = tw_resize_taps(in, out), the most that
 *                     a position needs; 1 where in is out, and the line stays as it is.
 *
 * The exact sums of weights from the left are rounded, and weights are their differences: each is
 * at most 1 from 16384 times the exact one, they add up to 16384, and a line that never falls stays
 * so. What a position does not need has weight 0. They are functions of (in, out, position) alone,
 * in integers, and mirror: position out-1-i has the weights of i in reverse order, in the mirrored
 * window. The middle position of an odd out mirrors itself, pixel by pixel; where taps is odd and
 * in is not, or the reverse, its window has one more place, of weight 0, on the left. */
size_t tw_resize_taps(size_t in, size_t out);
void   tw_resize_weights(size_t in, size_t out, size_t from, size_t n, int32_t *first,
                         int16_t *weight);

#endif /* TW_INPUT_PIXELS_H */
