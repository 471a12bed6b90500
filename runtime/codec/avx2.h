/* SPDX-License-Identifier: BSD-3-Clause
 * codec/avx2.h - what the AVX2 kernels do with 32 values at a time: load and store, add, pack,
 * round, and what error feedback leaves. loops_avx2.h has the loops around it.
 *
 * Loads stand in ascending order, which hardware prefetchers want.
 */
#ifndef TW_CODEC_AVX2_H
#define TW_CODEC_AVX2_H

#include <immintrin.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/ops.h"

#define TW_INLINE static inline __attribute__((always_inline))
#define TW_LANES  32
#define TW_NEAR   262144 /* values: 1 MB, and codes */

/* 32 values in the order of memory. */
typedef struct tw_lanes {
    __m256 a, b, c, d;
} tw_lanes_t;

/* Their codes, `width` times 32 bytes of them in x, y, z, w; and what they decode to. */
typedef struct tw_coded {
    __m256i    x, y, z, w;
    tw_lanes_t back;
} tw_coded_t;

/* Load eight values, and let no later load come first: out of the cache, compilers that move loads
 * about have cost up to a third. */
TW_INLINE __m256 tw_load_next(const float *p)
{
    __m256 v = _mm256_loadu_ps(p);

    __asm__ volatile("" : "+x"(v) : : "memory");
    return v;
}

/* Store eight values, and let no later store come first: two halves of a line, one after the other,
 * go to the cache or past it together. */
TW_INLINE void tw_store_next(float *p, __m256 v, bool stream)
{
    if (stream) {
        _mm256_stream_ps(p, v);
    } else {
        _mm256_storeu_ps(p, v);
    }
    __asm__ volatile("" : : : "memory");
}

TW_INLINE tw_lanes_t tw_lanes_load(const void *src)
{
    const float *p = src;
    tw_lanes_t   v;

    v.a = tw_load_next(p);
    v.b = tw_load_next(p + 8);
    v.c = tw_load_next(p + 16);
    v.d = tw_load_next(p + 24);
    return v;
}

TW_INLINE void tw_lanes_store(void *dst, tw_lanes_t v)
{
    float *p = dst;

    tw_store_next(p, v.a, false);
    tw_store_next(p + 8, v.b, false);
    tw_store_next(p + 16, v.c, false);
    tw_store_next(p + 24, v.d, false);
}

/* Is what belongs to n float32 more than a core's own caches hold? Only then is it worth fetching:
 * nearer, it costs up to a sixth. */
TW_INLINE bool tw_far(size_t n)
{
    return n > TW_NEAR;
}

/* For each 64 values, at p, four lines of the next 16 KB, one of each page: memory gives more when
 * several pages are read side by side. Prefetches never fault, so it does not matter where the
 * vector ends. */
TW_INLINE void tw_prefetch_pages(const uint8_t *p)
{
    const size_t within = (uintptr_t)p % 16384;
    const char  *next   = (const char *)p - within + 16384 + within / 4;

    _mm_prefetch(next, _MM_HINT_T0);
    _mm_prefetch(next + 4096, _MM_HINT_T0);
    _mm_prefetch(next + 8192, _MM_HINT_T0);
    _mm_prefetch(next + 12288, _MM_HINT_T0);
}

/* The same for codes of `width` bytes: where 64 of them are one line, with every fourth. */
TW_INLINE void tw_prefetch_codes(const uint8_t *p, size_t width)
{
    if (width > 1 || (uintptr_t)p % 256 < 64) {
        tw_prefetch_pages(p);
    }
}

/* Past the cache; dst is a multiple of 32. */
TW_INLINE void tw_lanes_stream(void *dst, tw_lanes_t v)
{
    float *p = dst;

    tw_store_next(p, v.a, true);
    tw_store_next(p + 8, v.b, true);
    tw_store_next(p + 16, v.c, true);
    tw_store_next(p + 24, v.d, true);
}

TW_INLINE tw_lanes_t tw_lanes_add(tw_lanes_t u, tw_lanes_t v)
{
    u.a = _mm256_add_ps(u.a, v.a);
    u.b = _mm256_add_ps(u.b, v.b);
    u.c = _mm256_add_ps(u.c, v.c);
    u.d = _mm256_add_ps(u.d, v.d);
    return u;
}

TW_INLINE tw_lanes_t tw_lanes_sub(tw_lanes_t u, tw_lanes_t v)
{
    u.a = _mm256_sub_ps(u.a, v.a);
    u.b = _mm256_sub_ps(u.b, v.b);
    u.c = _mm256_sub_ps(u.c, v.c);
    u.d = _mm256_sub_ps(u.d, v.d);
    return u;
}

TW_INLINE tw_lanes_t tw_lanes_scale(tw_lanes_t v, __m256 factor)
{
    v.a = _mm256_mul_ps(v.a, factor);
    v.b = _mm256_mul_ps(v.b, factor);
    v.c = _mm256_mul_ps(v.c, factor);
    v.d = _mm256_mul_ps(v.d, factor);
    return v;
}

/* v = src, or src + residual where there is one. */
TW_INLINE tw_lanes_t tw_lanes_source(const uint8_t *src, const uint8_t *residual)
{
    const tw_lanes_t v = tw_lanes_load(src);

    return residual == NULL ? v : tw_lanes_add(v, tw_lanes_load(residual));
}

/* The lowest byte of 32 numbers from -128 to 127, or from 0 to 255, in the order of memory. */
TW_INLINE __m256i tw_pack_words(__m256i ab, __m256i cd, bool is_signed)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);

    return _mm256_permutevar8x32_epi32(
        is_signed ? _mm256_packs_epi16(ab, cd) : _mm256_packus_epi16(ab, cd), order);
}

TW_INLINE __m256i tw_pack_signed(__m256i a, __m256i b, __m256i c, __m256i d)
{
    return tw_pack_words(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d), true);
}

TW_INLINE __m256i tw_pack_unsigned(__m256i a, __m256i b, __m256i c, __m256i d)
{
    return tw_pack_words(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d), false);
}

/* 0x80 in the bytes of negative lanes, else 0: packing with saturation keeps the sign. */
TW_INLINE __m256i tw_lanes_signs(tw_lanes_t v)
{
    return _mm256_and_si256(tw_pack_signed(_mm256_castps_si256(v.a), _mm256_castps_si256(v.b),
                                           _mm256_castps_si256(v.c), _mm256_castps_si256(v.d)),
                            _mm256_set1_epi8((char)0x80));
}

TW_INLINE void tw_coded_store(uint8_t *dst, const tw_coded_t *coded, size_t width, bool stream)
{
    const __m256i part[4] = {coded->x, coded->y, coded->z, coded->w};

#pragma GCC unroll 4
    for (size_t i = 0; i < width; i++) {
        if (stream) {
            _mm256_stream_si256((__m256i *)(dst + 32 * i), part[i]);
        } else {
            _mm256_storeu_si256((__m256i *)(dst + 32 * i), part[i]);
        }
    }
}

/* All ones where x is Inf or NaN. */
TW_INLINE __m256i tw_not_finite(__m256i x)
{
    return _mm256_cmpgt_epi32(_mm256_and_si256(x, _mm256_set1_epi32(0x7fffffff)),
                              _mm256_set1_epi32(0x7f7fffff));
}

/* The larger of `most` and of the bits of |v|: ordered as integers, Inf and NaN on top. */
TW_INLINE __m256i tw_larger(__m256i most, __m256 v)
{
    return _mm256_max_epi32(
        most, _mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x7fffffff)));
}

TW_INLINE __m256 tw_keep(__m256 old, __m256 rest)
{
    const __m256i keep = tw_not_finite(_mm256_castps_si256(rest));

    return _mm256_blendv_ps(rest, old, _mm256_castsi256_ps(keep));
}

/* v - back, but old where v or back is Inf or NaN: there, and only there, v - back is not finite,
 * for back lies between v and 0 or next to v. */
TW_INLINE tw_lanes_t tw_lanes_residual(tw_lanes_t old, tw_lanes_t v, tw_lanes_t back)
{
    tw_lanes_t rest = tw_lanes_sub(v, back);
    __m256i    most = _mm256_setzero_si256();

    most = tw_larger(tw_larger(most, rest.a), rest.b);
    most = tw_larger(tw_larger(most, rest.c), rest.d);
    if (__builtin_expect(_mm256_movemask_epi8(tw_not_finite(most)) != 0, 0)) {
        rest.a = tw_keep(old.a, rest.a);
        rest.b = tw_keep(old.b, rest.b);
        rest.c = tw_keep(old.c, rest.c);
        rest.d = tw_keep(old.d, rest.d);
    }
    return rest;
}

/* What was stored past the cache is seen by other threads from here on. */
TW_INLINE void tw_stream_end(bool stream)
{
    if (stream) {
        _mm_sfence();
    }
}

/* tw_round_top32() of rounding.h, not shifted: the low `drop` bits are rubbish. nan: all ones where
 * v is NaN. */
TW_INLINE __m256 tw_lane_round(__m256 v, __m256 nan, int drop)
{
    const __m256i u = _mm256_castps_si256(v), cut = _mm256_castps_si256(nan);
    const __m256i odd  = _mm256_and_si256(_mm256_srli_epi32(u, drop), _mm256_set1_epi32(1));
    const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32((1 << (drop - 1)) - 1));

    return _mm256_castsi256_ps(
        _mm256_or_si256(_mm256_add_epi32(u, _mm256_andnot_si256(cut, bias)),
                        _mm256_and_si256(cut, _mm256_set1_epi32(0x00400000))));
}

TW_INLINE __m256 tw_nan(__m256 u, __m256 v)
{
    return _mm256_cmp_ps(u, v, _CMP_UNORD_Q);
}

/* 32 of them. NaN is rare: without one, its arithmetic falls away. */
TW_INLINE tw_lanes_t tw_lanes_round(tw_lanes_t v, int drop)
{
    const __m256 none = _mm256_setzero_ps();

    if (__builtin_expect(_mm256_movemask_ps(_mm256_or_ps(tw_nan(v.a, v.b), tw_nan(v.c, v.d))) != 0,
                         0)) {
        v.a = tw_lane_round(v.a, tw_nan(v.a, v.a), drop);
        v.b = tw_lane_round(v.b, tw_nan(v.b, v.b), drop);
        v.c = tw_lane_round(v.c, tw_nan(v.c, v.c), drop);
        v.d = tw_lane_round(v.d, tw_nan(v.d, v.d), drop);
        return v;
    }
    v.a = tw_lane_round(v.a, none, drop);
    v.b = tw_lane_round(v.b, none, drop);
    v.c = tw_lane_round(v.c, none, drop);
    v.d = tw_lane_round(v.d, none, drop);
    return v;
}

/* The top k bytes of each, the rest zero. */
TW_INLINE tw_lanes_t tw_lanes_top(tw_lanes_t v, int k)
{
    const __m256 mask = _mm256_castsi256_ps(_mm256_set1_epi32((int)(0xffffffffu << (32 - 8 * k))));

    v.a = _mm256_and_ps(v.a, mask);
    v.b = _mm256_and_ps(v.b, mask);
    v.c = _mm256_and_ps(v.c, mask);
    v.d = _mm256_and_ps(v.d, mask);
    return v;
}

/* The upper 16 bits of 16 lanes, in the order of memory. */
TW_INLINE __m256i tw_pack_halves(__m256 a, __m256 b)
{
    const __m256i v = _mm256_packus_epi32(_mm256_srli_epi32(_mm256_castps_si256(a), 16),
                                          _mm256_srli_epi32(_mm256_castps_si256(b), 16));

    return _mm256_permute4x64_epi64(v, _MM_SHUFFLE(3, 1, 2, 0));
}

/* The codes of bf16 and bitpack:2. */
TW_INLINE tw_lanes_t tw_lanes_unpack_halves(const uint8_t *codes)
{
    const __m128i *p = (const __m128i *)codes;
    __m256i        v[4];

#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p + i)), 16);
    }
    return (tw_lanes_t){_mm256_castsi256_ps(v[0]), _mm256_castsi256_ps(v[1]),
                        _mm256_castsi256_ps(v[2]), _mm256_castsi256_ps(v[3])};
}

#endif /* TW_CODEC_AVX2_H */
