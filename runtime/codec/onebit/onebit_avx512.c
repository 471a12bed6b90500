/* SPDX-License-Identifier: BSD-3-Clause
 * codec/onebit/onebit_avx512.c - onebit by AVX-512.
 *
 * The 64 lanes of the two sums are four registers each, so every value is added to the lane, and in
 * the order, that the format says. As integers, the larger of a value and 0 is the value on the
 * positive side and +0 on the other, whatever it is, NaN too; adding +0 changes no lane, for none
 * is ever -0. Error feedback walks over a block a second time, in the first cache, and fetches the
 * next block meanwhile. Decoding is a choice between two registers by 64 bits.
 * Twin of: onebit.c; same bytes and bits for every input (tests/codec/test_twins.c).
 */
#include "config.h"

#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/avx512.h"
#include "runtime/codec/onebit/onebit.h"
#include "runtime/codec/ops.h"

#define HEADER 8

typedef struct sums {
    __m512 positive[4], negative[4];
    size_t negatives;
} sums_t;

static size_t onebit_bytes(const tw_codec_t *codec)
{
    return HEADER + codec->block / 8;
}

TW_INLINE512 void onebit_add(sums_t *sums, int j, __m512 v)
{
    const __m512i bits = _mm512_castps_si512(v), zero = _mm512_setzero_si512();

    sums->positive[j] =
        _mm512_add_ps(sums->positive[j], _mm512_castsi512_ps(_mm512_max_epi32(bits, zero)));
    sums->negative[j] =
        _mm512_add_ps(sums->negative[j], _mm512_castsi512_ps(_mm512_min_epi32(bits, zero)));
}

TW_INLINE512 __mmask16 onebit_sign(__m512 v)
{
    return _mm512_movepi32_mask(_mm512_castps_si512(v));
}

/* The sign bits of a group, value 0 lowest. */
TW_INLINE512 uint64_t onebit_signs(const tw_group512_t *g)
{
    const __mmask32 low  = _mm512_kunpackw(onebit_sign(g->v[1]), onebit_sign(g->v[0]));
    const __mmask32 high = _mm512_kunpackw(onebit_sign(g->v[3]), onebit_sign(g->v[2]));

    return _mm512_kunpackd(high, low);
}

/* A group of m values into the sums, its signs to codes. */
TW_INLINE512 void onebit_group(sums_t *sums, const tw_group512_t *g, size_t m, uint8_t *codes)
{
    const uint64_t signs = onebit_signs(g);

    onebit_add(sums, 0, g->v[0]);
    onebit_add(sums, 1, g->v[1]);
    onebit_add(sums, 2, g->v[2]);
    onebit_add(sums, 3, g->v[3]);
    sums->negatives += (size_t)__builtin_popcountll(signs);
    memcpy(codes, &signs, (m + 7) / 8);
}

/* The format's tree over 64 lanes, and the mean of count values. */
TW_INLINE512 float onebit_mean(const __m512 *lanes, size_t count)
{
    const __m512 l16 =
        _mm512_add_ps(_mm512_add_ps(lanes[0], lanes[2]), _mm512_add_ps(lanes[1], lanes[3]));
    const __m256 l8 = _mm256_add_ps(_mm512_castps512_ps256(l16), _mm512_extractf32x8_ps(l16, 1));
    const __m128 l4 = _mm_add_ps(_mm256_castps256_ps128(l8), _mm256_extractf128_ps(l8, 1));
    const __m128 l2 = _mm_add_ps(l4, _mm_movehl_ps(l4, l4));
    const __m128 l1 = _mm_add_ss(l2, _mm_shuffle_ps(l2, l2, 1));

    return count > 0 ? _mm_cvtss_f32(l1) / (float)count : 0.0f;
}

static bool onebit_finite(float x)
{
    return (tw_float_bits(x) & 0x7f800000u) != 0x7f800000u;
}

/* One of the two means for each of 64 bits. */
TW_INLINE512 tw_group512_t onebit_choose(uint64_t bits, __m512 positive, __m512 negative)
{
    return (tw_group512_t){{_mm512_mask_mov_ps(positive, (__mmask16)bits, negative),
                            _mm512_mask_mov_ps(positive, (__mmask16)(bits >> 16), negative),
                            _mm512_mask_mov_ps(positive, (__mmask16)(bits >> 32), negative),
                            _mm512_mask_mov_ps(positive, (__mmask16)(bits >> 48), negative)}};
}

/* residual = v - the mean of its side, v = src + residual. */
TW_INLINE512 void onebit_rest(const uint8_t *src, uint8_t *residual, size_t m, __m512 positive,
                              __m512 negative)
{
    const tw_group512_t v = tw_load_sum512(src, residual, m, true);

    tw_store512(residual, tw_sub512(v, onebit_choose(onebit_signs(&v), positive, negative)), m,
                false);
}

static void onebit_rests(const uint8_t *src, size_t n, uint8_t *residual, float positive,
                         float negative)
{
    const __m512 p = _mm512_set1_ps(positive), q = _mm512_set1_ps(negative);

    size_t i = 0;

    for (; i + TW_GROUP <= n; i += TW_GROUP) {
        tw_prefetch512(src + 4 * i);
        tw_prefetch512(residual + 4 * i);
        onebit_rest(src + 4 * i, residual + 4 * i, TW_GROUP, p, q);
    }
    if (i < n) {
        onebit_rest(src + 4 * i, residual + 4 * i, n - i, p, q);
    }
}

TW_INLINE512 void onebit_block(const uint8_t *src, size_t n, uint8_t *residual, uint8_t *dst,
                               bool feedback)
{
    sums_t        sums;
    tw_group512_t v;
    float         positive, negative;
    size_t        i = 0;

    memset(&sums, 0, sizeof(sums));
    for (; i + TW_GROUP <= n; i += TW_GROUP) {
        if (!feedback) {
            tw_prefetch512(src + 4 * i);
        }
        v = tw_load_sum512(src + 4 * i, tw_at512(residual, i, feedback), TW_GROUP, feedback);
        onebit_group(&sums, &v, TW_GROUP, dst + HEADER + i / 8);
    }
    if (i < n) {
        v = tw_load_sum512(src + 4 * i, tw_at512(residual, i, feedback), n - i, feedback);
        onebit_group(&sums, &v, n - i, dst + HEADER + i / 8);
    }
    positive = onebit_mean(sums.positive, n - sums.negatives);
    negative = onebit_mean(sums.negative, sums.negatives);
    if ((!onebit_finite(positive) || !onebit_finite(negative)) &&
        !tw_onebit_means_again(src, feedback ? residual : NULL, n, sums.negatives, &positive,
                               &negative)) {
        tw_store_le32(dst, 0x7fc00000u);
        tw_store_le32(dst + 4, 0x7fc00000u);
        memset(dst + HEADER, 0, (n + 7) / 8);
        return;
    }
    tw_store_le32(dst, tw_float_bits(positive));
    tw_store_le32(dst + 4, tw_float_bits(negative));
    if (feedback) {
        onebit_rests(src, n, residual, positive, negative);
    }
}

TW_INLINE512 void onebit_blocks(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                uint8_t *residual, uint8_t *dst, bool feedback)
{
    const size_t block = codec->block;

    for (; n > 0; src += 4 * block, dst += onebit_bytes(codec)) {
        const size_t m = n < block ? n : block;

        onebit_block(src, m, residual, dst, feedback);
        residual = tw_at512(residual, block, feedback);
        n -= m;
    }
}

/* What m values from i on, at most 64, decode to, or that added to what is there. */
TW_INLINE512 void onebit_put(uint64_t bits, __m512 positive, __m512 negative, uint8_t *dst,
                             size_t m, bool stream, bool add)
{
    tw_group512_t g = onebit_choose(bits, positive, negative);

    g = add ? tw_add512(tw_load512(dst, m), g) : g;
    tw_store512(dst, g, m, stream);
}

/* The bits of m values, 1 to 64, from i on; higher ones are anything. */
static uint64_t onebit_bits(const uint8_t *codes, size_t i, size_t m)
{
    const size_t shift = i % 8, bytes = (shift + m + 7) / 8;
    uint8_t      b[16] = {0};

    memcpy(b, codes + i / 8, bytes);
    return tw_load_le64(b) >> shift | (uint64_t)b[8] << 1 << (63 - shift);
}

/* Groups that start `head` values before or at a multiple of 64 in dst: their bits lie in two
 * words. */
TW_INLINE512 size_t onebit_stream(const uint8_t *codes, size_t head, size_t n, __m512 positive,
                                  __m512 negative, uint8_t *dst)
{
    uint64_t word = n >= 64 ? tw_load_le64(codes) : 0;
    size_t   i    = head;

    for (; i - head + 128 <= n; i += TW_GROUP) {
        const uint64_t next = tw_load_le64(codes + (i - head) / 8 + 8);

        onebit_put(word >> head | next << 1 << (63 - head), positive, negative, dst + 4 * i,
                   TW_GROUP, true, false);
        word = next;
    }
    return i;
}

TW_INLINE512 void onebit_decode_block(const uint8_t *src, size_t n, uint8_t *dst, bool stream,
                                      bool add)
{
    const uint8_t *codes = src + HEADER;
    const size_t   head  = stream ? tw_head512(dst, 4, n) : n;
    float          p = tw_bits_float(tw_load_le32(src)), q = tw_bits_float(tw_load_le32(src + 4));
    __m512         positive, negative;
    size_t         i = 0;

    if (!onebit_finite(p) || !onebit_finite(q)) {
        p = q = tw_bits_float(0x7fc00000u);
    }
    positive = _mm512_set1_ps(p);
    negative = _mm512_set1_ps(q);
    if (head < n) {
        if (head > 0) {
            onebit_put(onebit_bits(codes, 0, head), positive, negative, dst, head, false, add);
        }
        i = onebit_stream(codes, head, n, positive, negative, dst);
        while (i < n) {
            const size_t m = n - i < TW_GROUP ? n - i : TW_GROUP;

            onebit_put(onebit_bits(codes, i, m), positive, negative, dst + 4 * i, m, false, add);
            i += m;
        }
        return;
    }
    for (; i + TW_GROUP <= n; i += TW_GROUP) {
        tw_prefetch512(dst + 4 * i);
        onebit_put(tw_load_le64(codes + i / 8), positive, negative, dst + 4 * i, TW_GROUP, false,
                   add);
    }
    if (i < n) {
        onebit_put(onebit_bits(codes, i, n - i), positive, negative, dst + 4 * i, n - i, false,
                   add);
    }
}

TW_INLINE512 void onebit_decode_blocks(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                       uint8_t *dst, bool stream, bool add)
{
    const size_t block = codec->block;

    for (size_t i = 0; i < n; i += block, src += onebit_bytes(codec)) {
        onebit_decode_block(src, n - i < block ? n - i : block, dst + 4 * i, stream, add);
    }
    if (stream) {
        _mm_sfence();
    }
}

TW_VERBS_EXTERN(tw_onebit_avx512, onebit_blocks(codec, src, n, residual, dst, feedback),
                stream ? onebit_decode_blocks(codec, src, n, dst, true, false)
                       : onebit_decode_blocks(codec, src, n, dst, false, add));
