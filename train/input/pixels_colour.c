/* SPDX-License-Identifier: BSD-3-Clause
 * input/pixels_colour.c - the loops over pixels that colours need, see pixels.h. Compiled once per
 * instruction set, with its flags and TW_KERNELS defined as the ending of the names.
 */
#include "config.h"

#include "train/input/pixels_inside.h"

#ifndef TW_PIXELS_VECTORS

static inline uint8_t blend_one(int32_t in, int32_t grey, int32_t a)
{
    const int32_t v = (in * a + grey * (65536 - a) + 32768) >> 16;

    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

void tw_pixels_blend(const uint8_t *in, size_t n, int32_t a, uint8_t grey, uint8_t *out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = blend_one(in[i], grey, a);
    }
}

void tw_pixels_blend_each(const uint8_t *in, const uint8_t *grey, size_t n, int32_t a, uint8_t *out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        out[i] = blend_one(in[i], grey[i], a);
    }
}

void tw_pixels_luma(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n, uint8_t *grey)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        grey[i] = (uint8_t)((19595 * r[i] + 38470 * g[i] + 7471 * b[i] + 32768) >> 16);
    }
}

uint64_t tw_pixels_sum(const uint8_t *in, size_t n)
{
    uint64_t sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        sum += in[i];
    }
    return sum;
}

#else /* TW_PIXELS_VECTORS */

/* With d = in - grey the definition is grey + ((a d + 32768) >> 16). a = 65536 whole + part, and
 * (part d + 32768) >> 16 is the upper half of the product and the highest bit of the lower one. */
typedef struct factor {
    tw_pixels_vector_t whole, part;
} factor_t;

TW_PIXELS_INLINE factor_t factor_of(int32_t a)
{
    const int32_t whole = (a + 32768) >> 16;

    return (factor_t){TW_V(set1_epi16)((int16_t)whole),
                      TW_V(set1_epi16)((int16_t)(a - whole * 65536))};
}

/* Words of 16 bits: at most 255 + 64 * 255 + 128 for |a| <= 2^22. */
TW_PIXELS_INLINE tw_pixels_vector_t blend_words(tw_pixels_vector_t in, tw_pixels_vector_t grey,
                                                factor_t a)
{
    const tw_pixels_vector_t d     = TW_V(sub_epi16)(in, grey);
    const tw_pixels_vector_t whole = TW_V(add_epi16)(grey, TW_V(mullo_epi16)(a.whole, d));
    const tw_pixels_vector_t part  = TW_V(mulhi_epi16)(a.part, d);
    const tw_pixels_vector_t half  = TW_V(srli_epi16)(TW_V(mullo_epi16)(a.part, d), 15);

    return TW_V(add_epi16)(whole, TW_V(add_epi16)(part, half));
}

TW_PIXELS_INLINE tw_pixels_vector_t blend_vector(tw_pixels_vector_t in, tw_pixels_vector_t grey,
                                                 factor_t a)
{
    const tw_pixels_vector_t zero = tw_zero();

    return TW_V(packus_epi16)(
        blend_words(TW_V(unpacklo_epi8)(in, zero), TW_V(unpacklo_epi8)(grey, zero), a),
        blend_words(TW_V(unpackhi_epi8)(in, zero), TW_V(unpackhi_epi8)(grey, zero), a));
}

void tw_pixels_blend(const uint8_t *in, size_t n, int32_t a, uint8_t grey, uint8_t *out)
{
    const factor_t           factor = factor_of(a);
    const tw_pixels_vector_t g      = TW_V(set1_epi8)((char)grey);
    size_t                   i      = 0;

    for (; i + TW_WIDE <= n; i += TW_WIDE) {
        tw_store(out + i, blend_vector(tw_load(in + i), g, factor));
    }
    if (i < n) {
        tw_store_some(out + i, blend_vector(tw_load_some(in + i, n - i), g, factor), n - i);
    }
}

void tw_pixels_blend_each(const uint8_t *in, const uint8_t *grey, size_t n, int32_t a, uint8_t *out)
{
    const factor_t factor = factor_of(a);
    size_t         i      = 0;

    for (; i + TW_WIDE <= n; i += TW_WIDE) {
        tw_store(out + i, blend_vector(tw_load(in + i), tw_load(grey + i), factor));
    }
    if (i < n) {
        const size_t m = n - i;

        tw_store_some(out + i,
                      blend_vector(tw_load_some(in + i, m), tw_load_some(grey + i, m), factor), m);
    }
}

/* Of interleaved bytes of (r, g) and (g, b): green's factor needs 17 bits, and half of it goes with
 * each. */
TW_PIXELS_INLINE tw_pixels_vector_t luma_words(tw_pixels_vector_t rg, tw_pixels_vector_t gb)
{
    const tw_pixels_vector_t of_rg = TW_V(set1_epi32)(19595 | 19235 << 16);
    const tw_pixels_vector_t of_gb = TW_V(set1_epi32)(19235 | 7471 << 16);
    const tw_pixels_vector_t sum =
        TW_V(add_epi32)(TW_V(madd_epi16)(rg, of_rg), TW_V(madd_epi16)(gb, of_gb));

    return TW_V(srli_epi32)(TW_V(add_epi32)(sum, TW_V(set1_epi32)(32768)), 16);
}

TW_PIXELS_INLINE tw_pixels_vector_t luma_half(tw_pixels_vector_t rg, tw_pixels_vector_t gb)
{
    const tw_pixels_vector_t zero = tw_zero();

    return TW_V(packs_epi32)(
        luma_words(TW_V(unpacklo_epi8)(rg, zero), TW_V(unpacklo_epi8)(gb, zero)),
        luma_words(TW_V(unpackhi_epi8)(rg, zero), TW_V(unpackhi_epi8)(gb, zero)));
}

TW_PIXELS_INLINE tw_pixels_vector_t luma_vector(tw_pixels_vector_t r, tw_pixels_vector_t g,
                                                tw_pixels_vector_t b)
{
    return TW_V(packus_epi16)(luma_half(TW_V(unpacklo_epi8)(r, g), TW_V(unpacklo_epi8)(g, b)),
                              luma_half(TW_V(unpackhi_epi8)(r, g), TW_V(unpackhi_epi8)(g, b)));
}

void tw_pixels_luma(const uint8_t *r, const uint8_t *g, const uint8_t *b, size_t n, uint8_t *grey)
{
    size_t i = 0;

    for (; i + TW_WIDE <= n; i += TW_WIDE) {
        tw_store(grey + i, luma_vector(tw_load(r + i), tw_load(g + i), tw_load(b + i)));
    }
    if (i < n) {
        const size_t m = n - i;

        tw_store_some(
            grey + i,
            luma_vector(tw_load_some(r + i, m), tw_load_some(g + i, m), tw_load_some(b + i, m)), m);
    }
}

uint64_t tw_pixels_sum(const uint8_t *in, size_t n)
{
    const tw_pixels_vector_t zero  = tw_zero();
    tw_pixels_vector_t       total = zero;
    uint64_t                 lanes[TW_WIDE / 8], sum = 0;
    size_t                   i = 0;

    for (; i + TW_WIDE <= n; i += TW_WIDE) {
        total = TW_V(add_epi64)(total, TW_V(sad_epu8)(tw_load(in + i), zero));
    }
    if (i < n) {
        total = TW_V(add_epi64)(total, TW_V(sad_epu8)(tw_load_some(in + i, n - i), zero));
    }
    tw_store(lanes, total);
    for (size_t k = 0; k < TW_WIDE / 8; k++) {
        sum += lanes[k];
    }
    return sum;
}

#endif /* TW_PIXELS_VECTORS */
