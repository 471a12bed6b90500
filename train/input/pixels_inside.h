/* SPDX-License-Identifier: BSD-3-Clause
 * input/pixels_inside.h - shared code of the loops over pixels, each compiled once per instruction
 * set with TW_KERNELS defined as the suffix of the names.
 *
 * Where there are vectors (TW_PIXELS_VECTORS), tw_pixels_vector_t is one of the widest, of TW_WIDE
 * bytes, and TW_V(x) the intrinsic x for it. What is compiled as scalar stays plain C, whatever the
 * compiler was told about the processor.
 */
#ifndef TW_INPUT_PIXELS_INSIDE_H
#define TW_INPUT_PIXELS_INSIDE_H

#include <string.h>

#include "train/input/pixels.h"

#define TW_PIXELS_JOIN_(name, kernels) name##_##kernels
#define TW_PIXELS_JOIN(name, kernels)  TW_PIXELS_JOIN_(name, kernels)
#define TW_PIXELS_NAME(name)           TW_PIXELS_JOIN(name, TW_KERNELS)

#define tw_pixels_resize_rows    TW_PIXELS_NAME(tw_pixels_resize_rows)
#define tw_pixels_resize_columns TW_PIXELS_NAME(tw_pixels_resize_columns)
#define tw_pixels_blend          TW_PIXELS_NAME(tw_pixels_blend)
#define tw_pixels_blend_each     TW_PIXELS_NAME(tw_pixels_blend_each)
#define tw_pixels_luma           TW_PIXELS_NAME(tw_pixels_luma)
#define tw_pixels_sum            TW_PIXELS_NAME(tw_pixels_sum)

void tw_pixels_resize_rows(const tw_resize_line_t *line, const uint8_t *in, size_t stride,
                           size_t width, uint8_t *out, size_t out_stride);
void tw_pixels_resize_columns(const tw_resize_line_t *line, const uint8_t *in, size_t stride,
                              size_t rows, uint8_t *out, size_t out_stride);
void tw_pixels_blend(const uint8_t *in, size_t n, int32_t a, uint8_t grey, uint8_t *out);
void tw_pixels_blend_each(const uint8_t *in, const uint8_t *grey, size_t n, int32_t a,
                          uint8_t *out);
void tw_pixels_luma(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n, uint8_t *grey);
uint64_t tw_pixels_sum(const uint8_t *in, size_t n);

#define TW_ROUND 8192 /* half of what a sum of weights is divided by */
#define TW_BITS  14

#define TW_PIXELS_PLAIN_scalar 1 /* of other endings not defined: 0 in the next line */
#if !TW_PIXELS_NAME(TW_PIXELS_PLAIN) && (defined(__AVX512VBMI__) || defined(__AVX2__))
#include <immintrin.h>

#define TW_PIXELS_VECTORS 1
#define TW_PIXELS_INLINE  static inline __attribute__((always_inline))

#ifdef __AVX512VBMI__
#define TW_WIDE 64
#define TW_V(x) _mm512_##x
typedef __m512i tw_pixels_vector_t;

TW_PIXELS_INLINE tw_pixels_vector_t tw_load(const void *p)
{
    return _mm512_loadu_si512(p);
}

TW_PIXELS_INLINE void tw_store(void *p, tw_pixels_vector_t v)
{
    _mm512_storeu_si512(p, v);
}

TW_PIXELS_INLINE tw_pixels_vector_t tw_zero(void)
{
    return _mm512_setzero_si512();
}
#else
#define TW_WIDE 32
#define TW_V(x) _mm256_##x
typedef __m256i tw_pixels_vector_t;

TW_PIXELS_INLINE tw_pixels_vector_t tw_load(const void *p)
{
    return _mm256_loadu_si256(p);
}

TW_PIXELS_INLINE void tw_store(void *p, tw_pixels_vector_t v)
{
    _mm256_storeu_si256(p, v);
}

TW_PIXELS_INLINE tw_pixels_vector_t tw_zero(void)
{
    return _mm256_setzero_si256();
}
#endif

/* The first m bytes, m < TW_WIDE, and no others. */
TW_PIXELS_INLINE tw_pixels_vector_t tw_load_some(const void *p, size_t m)
{
#ifdef __AVX512VBMI__
    return _mm512_maskz_loadu_epi8((UINT64_C(1) << m) - 1, p);
#else
    uint8_t bytes[TW_WIDE] = {0};

    memcpy(bytes, p, m);
    return tw_load(bytes);
#endif
}

TW_PIXELS_INLINE void tw_store_some(void *p, tw_pixels_vector_t v, size_t m)
{
#ifdef __AVX512VBMI__
    _mm512_mask_storeu_epi8(p, (UINT64_C(1) << m) - 1, v);
#else
    uint8_t bytes[TW_WIDE];

    tw_store(bytes, v);
    memcpy(p, bytes, m);
#endif
}

/* a + ((w (b - a) + 8192) >> 14) of words, with twice w. */
TW_PIXELS_INLINE tw_pixels_vector_t tw_between(tw_pixels_vector_t a, tw_pixels_vector_t b,
                                               tw_pixels_vector_t w2)
{
    return TW_V(add_epi16)(a, TW_V(mulhrs_epi16)(TW_V(sub_epi16)(b, a), w2));
}
#endif

#endif /* TW_INPUT_PIXELS_INSIDE_H */
