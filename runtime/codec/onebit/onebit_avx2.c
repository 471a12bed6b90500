/* SPDX-License-Identifier: BSD-3-Clause
 * codec/onebit/onebit_avx2.c - onebit by AVX2.
 *
 * The 64 lanes of each sum are 8 vectors. As integers, the larger of v and 0 is v on the positive
 * side and +0 on the other, the smaller the other way round, NaN included: one instruction for each
 * side, and then the same additions as the scalar lanes get. The halving tree of the lanes is one
 * of vectors as far as 8 lanes, and of parts of a vector below. Decoding is a look-up: bits shifted
 * down to the lowest place select within (positive, negative), of which a vector holds four; the
 * place above does not matter, as the table repeats.
 * Twin of: onebit.c; same bytes, same decoded bits, residuals too (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/avx2.h"
#include "runtime/codec/onebit/onebit.h"

#define HEADER 8
#define GROUP  64 /* lanes of the sums; divides every block */
#define EACH   _Pragma("GCC unroll 8") for (size_t k = 0; k < GROUP / 8; k++)

typedef struct onebit_sums {
    __m256 positive[GROUP / 8], negative[GROUP / 8];
    size_t negatives; /* values on that side */
} onebit_sums_t;

TW_INLINE __m256 onebit_source(const uint8_t *src, const uint8_t *residual, size_t k)
{
    const __m256 v = tw_load_next((const float *)src + 8 * k);

    return residual == NULL ? v
                            : _mm256_add_ps(v, _mm256_loadu_ps((const float *)residual + 8 * k));
}

/* Add 64 values to their sides; returns their sign bits. */
TW_INLINE uint64_t onebit_add(onebit_sums_t *sums, const uint8_t *src, const uint8_t *residual)
{
    const __m256i zero  = _mm256_setzero_si256();
    uint64_t      signs = 0;

    EACH
    {
        const __m256  v    = onebit_source(src, residual, k);
        const __m256i bits = _mm256_castps_si256(v);

        sums->positive[k] =
            _mm256_add_ps(sums->positive[k], _mm256_castsi256_ps(_mm256_max_epi32(bits, zero)));
        sums->negative[k] =
            _mm256_add_ps(sums->negative[k], _mm256_castsi256_ps(_mm256_min_epi32(bits, zero)));
        signs |= (uint64_t)(uint32_t)_mm256_movemask_ps(v) << 8 * k;
    }
    sums->negatives += (size_t)_mm_popcnt_u64(signs);
    return signs;
}

/* The tree over 64 lanes, and the mean. */
TW_INLINE float onebit_mean(const __m256 *lanes, size_t count)
{
    const __m256 a = _mm256_add_ps(lanes[0], lanes[4]), b = _mm256_add_ps(lanes[1], lanes[5]);
    const __m256 c = _mm256_add_ps(lanes[2], lanes[6]), d = _mm256_add_ps(lanes[3], lanes[7]);
    const __m256 e = _mm256_add_ps(_mm256_add_ps(a, c), _mm256_add_ps(b, d));
    __m128       f = _mm_add_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));

    f = _mm_add_ps(f, _mm_movehl_ps(f, f));
    f = _mm_add_ss(f, _mm_movehdup_ps(f));
    return count > 0 ? _mm_cvtss_f32(f) / (float)count : 0.0f;
}

static bool onebit_finite(float x)
{
    return (tw_float_bits(x) & 0x7f800000u) != 0x7f800000u;
}

/* (positive, negative), four times. */
TW_INLINE __m256 onebit_table(float positive, float negative)
{
    return _mm256_setr_ps(positive, negative, positive, negative, positive, negative, positive,
                          negative);
}

/* The means that 32 bits choose. */
TW_INLINE tw_lanes_t onebit_expand(__m256 table, uint32_t codes)
{
    const __m256i bits  = _mm256_set1_epi32((int)codes);
    const __m256i first = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), eight = _mm256_set1_epi32(8);
    const __m256i second = _mm256_add_epi32(first, eight), third = _mm256_add_epi32(second, eight);
    const __m256i fourth = _mm256_add_epi32(third, eight);
    tw_lanes_t    v;

    v.a = _mm256_permutevar_ps(table, _mm256_srlv_epi32(bits, first));
    v.b = _mm256_permutevar_ps(table, _mm256_srlv_epi32(bits, second));
    v.c = _mm256_permutevar_ps(table, _mm256_srlv_epi32(bits, third));
    v.d = _mm256_permutevar_ps(table, _mm256_srlv_epi32(bits, fourth));
    return v;
}

/* First pass: signs and sums. fetch: what follows is fetched into the cache. */
TW_INLINE void onebit_first(onebit_sums_t *sums, const uint8_t *src, size_t n,
                            const uint8_t *residual, uint8_t *codes, bool fetch)
{
    uint8_t  in[4 * GROUP] = {0}, left[4 * GROUP] = {0};
    uint64_t signs;

    for (; n >= GROUP; n -= GROUP) {
        if (fetch) {
            tw_prefetch_pages(src);
        }
        signs = onebit_add(sums, src, residual);
        memcpy(codes, &signs, 8);
        src += 4 * GROUP;
        codes += 8;
        residual = residual != NULL ? residual + 4 * GROUP : NULL;
    }
    if (n > 0) { /* the padding, +0, changes no sum */
        memcpy(in, src, 4 * n);
        if (residual != NULL) {
            memcpy(left, residual, 4 * n);
        }
        signs = onebit_add(sums, in, residual != NULL ? left : NULL);
        memcpy(codes, &signs, (n + 7) / 8);
    }
}

TW_INLINE void onebit_rest(__m256 table, const uint8_t *src, uint8_t *residual,
                           const uint8_t *codes)
{
    const tw_lanes_t v = tw_lanes_source(src, residual);
    uint32_t         signs;

    memcpy(&signs, codes, 4);
    tw_lanes_store(residual, tw_lanes_sub(v, onebit_expand(table, signs)));
}

/* Second pass: residual = v - back. fetch: as above. */
TW_INLINE void onebit_second(__m256 table, const uint8_t *src, size_t n, uint8_t *residual,
                             const uint8_t *codes, bool fetch)
{
    uint8_t  in[4 * TW_LANES] = {0}, left[4 * TW_LANES] = {0};
    uint32_t signs = 0;

    for (; n >= GROUP; n -= GROUP) {
        if (fetch) {
            tw_prefetch_pages(src);
            tw_prefetch_pages(residual);
        }
        onebit_rest(table, src, residual, codes);
        onebit_rest(table, src + 4 * TW_LANES, residual + 4 * TW_LANES, codes + 4);
        src += 4 * GROUP;
        residual += 4 * GROUP;
        codes += 8;
    }
    if (n >= TW_LANES) {
        onebit_rest(table, src, residual, codes);
        n -= TW_LANES;
        src += 4 * TW_LANES;
        residual += 4 * TW_LANES;
        codes += 4;
    }
    if (n > 0) {
        memcpy(in, src, 4 * n);
        memcpy(left, residual, 4 * n);
        memcpy(&signs, codes, (n + 7) / 8);
        tw_lanes_store(left, tw_lanes_sub(tw_lanes_source(in, left), onebit_expand(table, signs)));
        memcpy(residual, left, 4 * n);
    }
}

TW_INLINE void onebit_encode_block(const uint8_t *src, size_t n, uint8_t *residual, uint8_t *dst,
                                   bool fetch)
{
    onebit_sums_t sums;
    float         positive, negative;

    EACH
    {
        sums.positive[k] = sums.negative[k] = _mm256_setzero_ps();
    }
    sums.negatives = 0;
    onebit_first(&sums, src, n, residual, dst + HEADER, fetch && residual == NULL);
    positive = onebit_mean(sums.positive, n - sums.negatives);
    negative = onebit_mean(sums.negative, sums.negatives);
    if ((!onebit_finite(positive) || !onebit_finite(negative)) &&
        !tw_onebit_means_again(src, residual, n, sums.negatives, &positive, &negative)) {
        tw_store_le32(dst, 0x7fc00000u);
        tw_store_le32(dst + 4, 0x7fc00000u);
        memset(dst + HEADER, 0, (n + 7) / 8);
        return;
    }
    tw_store_le32(dst, tw_float_bits(positive));
    tw_store_le32(dst + 4, tw_float_bits(negative));
    if (residual != NULL) {
        onebit_second(onebit_table(positive, negative), src, n, residual, dst + HEADER, fetch);
    }
}

TW_INLINE void onebit_decode_lanes(__m256 table, const uint8_t *codes, uint8_t *dst, bool add,
                                   bool stream)
{
    uint32_t   signs;
    tw_lanes_t v;

    memcpy(&signs, codes, 4);
    v = onebit_expand(table, signs);
    if (stream) {
        tw_lanes_stream(dst, v);
    } else {
        tw_lanes_store(dst, add ? tw_lanes_add(tw_lanes_load(dst), v) : v);
    }
}

TW_INLINE void onebit_decode_block(const uint8_t *src, size_t n, uint8_t *dst, bool add,
                                   bool stream, bool fetch)
{
    float      positive          = tw_bits_float(tw_load_le32(src));
    float      negative          = tw_bits_float(tw_load_le32(src + 4));
    uint8_t    out[4 * TW_LANES] = {0};
    uint32_t   signs             = 0;
    tw_lanes_t v;
    __m256     table;

    if (!onebit_finite(positive) || !onebit_finite(negative)) {
        positive = negative = tw_bits_float(0x7fc00000u);
    }
    table = onebit_table(positive, negative);
    src += HEADER;
    for (; n >= GROUP; n -= GROUP) {
        if (fetch && !stream) {
            tw_prefetch_pages(dst);
        }
        onebit_decode_lanes(table, src, dst, add, stream);
        onebit_decode_lanes(table, src + 4, dst + 4 * TW_LANES, add, stream);
        src += 8;
        dst += 4 * GROUP;
    }
    if (n >= TW_LANES) {
        onebit_decode_lanes(table, src, dst, add, stream);
        n -= TW_LANES;
        src += 4;
        dst += 4 * TW_LANES;
    }
    if (n > 0) {
        memcpy(&signs, src, (n + 7) / 8);
        memcpy(out, dst, 4 * n);
        v = onebit_expand(table, signs);
        tw_lanes_store(out, add ? tw_lanes_add(tw_lanes_load(out), v) : v);
        memcpy(dst, out, 4 * n);
    }
}

TW_INLINE void onebit_encode_blocks(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                    uint8_t *residual, uint8_t *dst)
{
    const bool fetch = tw_far(n);

    while (n > 0) {
        const size_t m = n < codec->block ? n : codec->block;

        onebit_encode_block(src, m, residual, dst, fetch);
        n -= m;
        src += 4 * m;
        dst += HEADER + (m + 7) / 8;
        residual = tw_beyond(residual, 4 * m);
    }
}

TW_INLINE void onebit_decode_blocks(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                    uint8_t *dst, bool add, bool stream)
{
    const bool fetch = tw_far(n);

    while (n > 0) {
        const size_t m = n < codec->block ? n : codec->block;

        onebit_decode_block(src, m, dst, add, stream, fetch);
        n -= m;
        src += HEADER + (m + 7) / 8;
        dst += 4 * m;
    }
}

/* Codes are a 32nd of what is read: nothing to gain by streaming them. They are not cut within a
 * byte either: decoding streams only where the output is aligned as it is. */
TW_VERBS_EXTERN(tw_onebit_avx2, onebit_encode_blocks(codec, src, n, residual, dst),
                stream && (uintptr_t)dst % 32 == 0
                    ? (onebit_decode_blocks(codec, src, n, dst, false, true), tw_stream_end(true))
                    : onebit_decode_blocks(codec, src, n, dst, add, false));
