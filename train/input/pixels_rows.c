/* SPDX-License-Identifier: BSD-3-Clause
 * input/pixels_rows.c - resizing rows, see pixels.h. Compiled once per instruction set, with its
 * flags and TW_KERNELS defined as the ending of the names.
 *
 * Two values are weighed in words of 16 bits, see tw_between(). More are weighed in pairs, whose
 * products are added in words of 32 bits (vpmaddwd). Both are exact.
 */
#include "config.h"

#include "train/input/pixels_inside.h"

#ifndef TW_PIXELS_VECTORS

enum { STRIP = 256 }; /* sums at a time, which compilers for any processor turn into vectors */

void tw_pixels_resize_rows(const tw_resize_line_t *line, const uint8_t *in, size_t stride,
                           size_t width, uint8_t *out, size_t out_stride)
{
    for (size_t i = 0; i < line->n; i++) {
        const int16_t *weight = line->weight + i * line->taps;
        const uint8_t *rows   = in + (size_t)line->first[i] * stride;

        for (size_t x = 0; x < width; x += STRIP) {
            const size_t m = width - x < STRIP ? width - x : STRIP;
            int32_t      sum[STRIP];

            for (size_t j = 0; j < m; j++) {
                sum[j] = TW_ROUND;
            }
            for (size_t k = 0; k < line->taps; k++) {
                const uint8_t *row = rows + k * stride + x;
                const int32_t  w   = weight[k];

#pragma omp simd
                for (size_t j = 0; j < m; j++) {
                    sum[j] += w * row[j];
                }
            }
#pragma omp simd
            for (size_t j = 0; j < m; j++) {
                out[i * out_stride + x + j] = (uint8_t)(sum[j] >> TW_BITS);
            }
        }
    }
}

#else /* TW_PIXELS_VECTORS */

TW_PIXELS_INLINE tw_pixels_vector_t mix_two(tw_pixels_vector_t a, tw_pixels_vector_t b,
                                            tw_pixels_vector_t w2)
{
    const tw_pixels_vector_t zero = tw_zero();
    const tw_pixels_vector_t low =
        tw_between(TW_V(unpacklo_epi8)(a, zero), TW_V(unpacklo_epi8)(b, zero), w2);
    const tw_pixels_vector_t high =
        tw_between(TW_V(unpackhi_epi8)(a, zero), TW_V(unpackhi_epi8)(b, zero), w2);

    return TW_V(packus_epi16)(low, high); /* undoes what unpacking did to their order */
}

static void two_rows(const uint8_t *a, const uint8_t *b, int16_t w, size_t width, uint8_t *out)
{
    const tw_pixels_vector_t w2 = TW_V(set1_epi16)((int16_t)(2 * w)); /* w < 16384 */
    size_t                   x  = 0;

    for (; x + TW_WIDE <= width; x += TW_WIDE) {
        tw_store(out + x, mix_two(tw_load(a + x), tw_load(b + x), w2));
    }
    if (x < width) {
        const size_t m = width - x;

        tw_store_some(out + x, mix_two(tw_load_some(a + x, m), tw_load_some(b + x, m), w2), m);
    }
}

/* Weights k and k + 1 in every 32 bits; none after the last. */
TW_PIXELS_INLINE tw_pixels_vector_t weight_pair(const int16_t *weight, size_t k, size_t taps)
{
    const uint32_t low = (uint16_t)weight[k], high = k + 1 < taps ? (uint16_t)weight[k + 1] : 0;

    return TW_V(set1_epi32)((int32_t)(low | high << 16));
}

/* One vector of width m; m = TW_WIDE is all of it. */
TW_PIXELS_INLINE tw_pixels_vector_t mix(const uint8_t *rows, size_t stride, const int16_t *weight,
                                        size_t taps, size_t m)
{
    const tw_pixels_vector_t zero = tw_zero();
    tw_pixels_vector_t       s0, s1, s2, s3;

    s0 = s1 = s2 = s3 = TW_V(set1_epi32)(TW_ROUND);
    for (size_t k = 0; k < taps; k += 2) {
        const uint8_t           *p = rows + k * stride, *q = k + 1 < taps ? p + stride : p;
        const tw_pixels_vector_t w    = weight_pair(weight, k, taps);
        const tw_pixels_vector_t a    = m == TW_WIDE ? tw_load(p) : tw_load_some(p, m);
        const tw_pixels_vector_t b    = m == TW_WIDE ? tw_load(q) : tw_load_some(q, m);
        const tw_pixels_vector_t low  = TW_V(unpacklo_epi8)(a, b);
        const tw_pixels_vector_t high = TW_V(unpackhi_epi8)(a, b);

        s0 = TW_V(add_epi32)(s0, TW_V(madd_epi16)(TW_V(unpacklo_epi8)(low, zero), w));
        s1 = TW_V(add_epi32)(s1, TW_V(madd_epi16)(TW_V(unpackhi_epi8)(low, zero), w));
        s2 = TW_V(add_epi32)(s2, TW_V(madd_epi16)(TW_V(unpacklo_epi8)(high, zero), w));
        s3 = TW_V(add_epi32)(s3, TW_V(madd_epi16)(TW_V(unpackhi_epi8)(high, zero), w));
    }
    s0 = TW_V(packs_epi32)(TW_V(srai_epi32)(s0, TW_BITS), TW_V(srai_epi32)(s1, TW_BITS));
    s2 = TW_V(packs_epi32)(TW_V(srai_epi32)(s2, TW_BITS), TW_V(srai_epi32)(s3, TW_BITS));
    return TW_V(packus_epi16)(s0, s2);
}

void tw_pixels_resize_rows(const tw_resize_line_t *line, const uint8_t *in, size_t stride,
                           size_t width, uint8_t *out, size_t out_stride)
{
    const size_t taps = line->taps;

    for (size_t i = 0; i < line->n; i++) {
        const int16_t *weight = line->weight + i * taps;
        const uint8_t *rows   = in + (size_t)line->first[i] * stride;
        uint8_t       *to     = out + i * out_stride;
        size_t         x      = 0;

        if (taps == 1 || (taps == 2 && (weight[0] == 0 || weight[1] == 0))) {
            memcpy(to, taps == 1 || weight[1] == 0 ? rows : rows + stride, width);
        } else if (taps == 2) {
            two_rows(rows, rows + stride, weight[1], width, to);
        } else {
            for (; x + TW_WIDE <= width; x += TW_WIDE) {
                tw_store(to + x, mix(rows + x, stride, weight, taps, TW_WIDE));
            }
            if (x < width) {
                tw_store_some(to + x, mix(rows + x, stride, weight, taps, width - x), width - x);
            }
        }
    }
}

#endif /* TW_PIXELS_VECTORS */
