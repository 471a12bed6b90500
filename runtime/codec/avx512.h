/* SPDX-License-Identifier: BSD-3-Clause
 * codec/avx512.h - what the kernels for AVX-512 share: groups of 64 float32 in four registers,
 * their codes in up to four more, and the loops of codecs without blocks in terms of two functions
 * on them.
 *
 * A codec says how a group becomes codes and how codes become numbers; encode, decode,
 * decode-and-add and error feedback are then one pass each. Ends are masked loads and stores of the
 * same group, so there is no scalar rest and no byte outside the vectors is touched; lanes beyond
 * the end are zeros that nobody stores. All functions are inlined, with what they are given as
 * functions, so that tables stay in registers.
 */
#ifndef TW_CODEC_AVX512_H
#define TW_CODEC_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/codec/chunk.h"
#include "runtime/codec/kernels.h"

#define TW_INLINE512 static inline __attribute__((always_inline))

typedef struct tw_group512 {
    __m512 v[4]; /* values 16 j .. 16 j + 15 in v[j] */
} tw_group512_t;

/* The codes of a group as they go out: K bytes a value fill c[0] .. c[K - 1]. */
typedef struct tw_codes512 {
    __m512i c[4];
} tw_codes512_t;

/* The lowest n of 64 lanes. */
TW_INLINE512 __mmask64 tw_first512(size_t n)
{
    return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

/* Lanes of register j of a group that has m values. */
TW_INLINE512 __mmask16 tw_lanes512(size_t m, int j)
{
    return (__mmask16)(tw_first512(m) >> (16 * j));
}

/* m of a group's values; m is a constant 64 but at the ends. */
TW_INLINE512 tw_group512_t tw_load512(const uint8_t *src, size_t m)
{
    tw_group512_t g;

    if (m == TW_GROUP) {
        g.v[0] = _mm512_loadu_ps(src);
        g.v[1] = _mm512_loadu_ps(src + 64);
        g.v[2] = _mm512_loadu_ps(src + 128);
        g.v[3] = _mm512_loadu_ps(src + 192);
    } else {
        g.v[0] = _mm512_maskz_loadu_ps(tw_lanes512(m, 0), src);
        g.v[1] = _mm512_maskz_loadu_ps(tw_lanes512(m, 1), src + 64);
        g.v[2] = _mm512_maskz_loadu_ps(tw_lanes512(m, 2), src + 128);
        g.v[3] = _mm512_maskz_loadu_ps(tw_lanes512(m, 3), src + 192);
    }
    return g;
}

/* stream: past the cache; dst is then aligned to 64 and m is 64. */
TW_INLINE512 void tw_store512(uint8_t *dst, tw_group512_t g, size_t m, bool stream)
{
    if (stream) {
        _mm512_stream_ps((float *)(void *)dst, g.v[0]);
        _mm512_stream_ps((float *)(void *)(dst + 64), g.v[1]);
        _mm512_stream_ps((float *)(void *)(dst + 128), g.v[2]);
        _mm512_stream_ps((float *)(void *)(dst + 192), g.v[3]);
    } else if (m == TW_GROUP) {
        _mm512_storeu_ps(dst, g.v[0]);
        _mm512_storeu_ps(dst + 64, g.v[1]);
        _mm512_storeu_ps(dst + 128, g.v[2]);
        _mm512_storeu_ps(dst + 192, g.v[3]);
    } else {
        _mm512_mask_storeu_ps(dst, tw_lanes512(m, 0), g.v[0]);
        _mm512_mask_storeu_ps(dst + 64, tw_lanes512(m, 1), g.v[1]);
        _mm512_mask_storeu_ps(dst + 128, tw_lanes512(m, 2), g.v[2]);
        _mm512_mask_storeu_ps(dst + 192, tw_lanes512(m, 3), g.v[3]);
    }
}

/* Bytes of register j that the codes of m values fill. */
TW_INLINE512 __mmask64 tw_bytes512(size_t bytes, size_t j)
{
    return bytes > 64 * j ? tw_first512(bytes - 64 * j) : 0;
}

TW_INLINE512 tw_codes512_t tw_load_codes512(const uint8_t *src, size_t k, size_t m)
{
    tw_codes512_t codes = {{_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                            _mm512_setzero_si512()}};

    if (m == TW_GROUP) {
        codes.c[0] = _mm512_loadu_si512(src);
        codes.c[1] = k > 1 ? _mm512_loadu_si512(src + 64) : codes.c[1];
        codes.c[2] = k > 2 ? _mm512_loadu_si512(src + 128) : codes.c[2];
        codes.c[3] = k > 3 ? _mm512_loadu_si512(src + 192) : codes.c[3];
    } else {
        codes.c[0] = _mm512_maskz_loadu_epi8(tw_bytes512(k * m, 0), src);
        codes.c[1] = k > 1 ? _mm512_maskz_loadu_epi8(tw_bytes512(k * m, 1), src + 64) : codes.c[1];
        codes.c[2] = k > 2 ? _mm512_maskz_loadu_epi8(tw_bytes512(k * m, 2), src + 128) : codes.c[2];
        codes.c[3] = k > 3 ? _mm512_maskz_loadu_epi8(tw_bytes512(k * m, 3), src + 192) : codes.c[3];
    }
    return codes;
}

TW_INLINE512 void tw_store_code512(uint8_t *dst, __m512i c, size_t j, size_t bytes, bool stream)
{
    if (stream) {
        _mm512_stream_si512((__m512i *)(void *)(dst + 64 * j), c);
    } else if (bytes >= 64 * (j + 1)) {
        _mm512_storeu_si512(dst + 64 * j, c);
    } else {
        _mm512_mask_storeu_epi8(dst + 64 * j, tw_bytes512(bytes, j), c);
    }
}

TW_INLINE512 void tw_store_codes512(uint8_t *dst, tw_codes512_t codes, size_t k, size_t m,
                                    bool stream)
{
    tw_store_code512(dst, codes.c[0], 0, k * m, stream);
    if (k > 1) {
        tw_store_code512(dst, codes.c[1], 1, k * m, stream);
    }
    if (k > 2) {
        tw_store_code512(dst, codes.c[2], 2, k * m, stream);
    }
    if (k > 3) {
        tw_store_code512(dst, codes.c[3], 3, k * m, stream);
    }
}

/* Places of byte b of each of 16 values, the list four times over: with it a register's 16 bytes
 * can go to any quarter of another. */
TW_INLINE512 __m512i tw_byte_places512(int b)
{
    const __m128i once = _mm_setr_epi8(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60);

    return _mm512_broadcast_i32x4(_mm_add_epi8(once, _mm_set1_epi8((char)b)));
}

/* One byte of each of 64 values, in their order; places as above. */
TW_INLINE512 __m512i tw_gather_bytes512(__m512i places, __m512i v0, __m512i v1, __m512i v2,
                                        __m512i v3)
{
    __m512i bytes = _mm512_permutexvar_epi8(places, v0);

    bytes = _mm512_mask_permutexvar_epi8(bytes, UINT64_C(0xffff) << 16, places, v1);
    bytes = _mm512_mask_permutexvar_epi8(bytes, UINT64_C(0xffff) << 32, places, v2);
    return _mm512_mask_permutexvar_epi8(bytes, UINT64_C(0xffff) << 48, places, v3);
}

TW_INLINE512 tw_group512_t tw_add512(tw_group512_t a, tw_group512_t b)
{
    return (tw_group512_t){{_mm512_add_ps(a.v[0], b.v[0]), _mm512_add_ps(a.v[1], b.v[1]),
                            _mm512_add_ps(a.v[2], b.v[2]), _mm512_add_ps(a.v[3], b.v[3])}};
}

TW_INLINE512 tw_group512_t tw_sub512(tw_group512_t a, tw_group512_t b)
{
    return (tw_group512_t){{_mm512_sub_ps(a.v[0], b.v[0]), _mm512_sub_ps(a.v[1], b.v[1]),
                            _mm512_sub_ps(a.v[2], b.v[2]), _mm512_sub_ps(a.v[3], b.v[3])}};
}

/* Value i of a residual, if there is one. */
TW_INLINE512 uint8_t *tw_at512(uint8_t *residual, size_t i, bool feedback)
{
    return feedback ? residual + 4 * i : NULL;
}

/* A group of src, or with feedback, a constant where this is inlined, of src + residual. */
TW_INLINE512 tw_group512_t tw_load_sum512(const uint8_t *src, uint8_t *residual, size_t m,
                                          bool feedback)
{
    const tw_group512_t g = tw_load512(src, m);

    return feedback ? tw_add512(g, tw_load512(residual, m)) : g;
}

/* For each group, at src, four lines of the next 16 KB, one of each page: memory gives more when
 * several pages are read side by side. Prefetches never fault, so it does not matter where the
 * vector ends. */
TW_INLINE512 void tw_prefetch512(const uint8_t *src)
{
    const size_t within = (uintptr_t)src % 16384;
    const char  *next   = (const char *)src - within + 16384 + within / 4;

    _mm_prefetch(next, _MM_HINT_T0);
    _mm_prefetch(next + 4096, _MM_HINT_T0);
    _mm_prefetch(next + 8192, _MM_HINT_T0);
    _mm_prefetch(next + 12288, _MM_HINT_T0);
}

/* The same for codes of k bytes a value: where a group has one line only, with every fourth. */
TW_INLINE512 void tw_prefetch_codes512(const uint8_t *src, size_t k)
{
    if (k > 1 || (uintptr_t)src % 256 < 64) {
        tw_prefetch512(src);
    }
}

/* Values before the first whose `bytes` a value at dst begin at a multiple of 64, at most n; n if
 * there is none such, so that nothing is streamed. */
static inline size_t tw_head512(const uint8_t *dst, size_t bytes, size_t n)
{
    for (size_t head = 0; head < TW_GROUP && head < n; head++) {
        if (((uintptr_t)dst + head * bytes) % 64 == 0) {
            return head;
        }
    }
    return n;
}

/* How a codec without blocks sees a group. */
typedef tw_codes512_t (*tw_codes512_fn_t)(tw_group512_t group);
typedef tw_group512_t (*tw_values512_fn_t)(tw_codes512_t codes);

TW_INLINE512 void tw_encode_group512(tw_codes512_fn_t codes, size_t k, const uint8_t *src, size_t m,
                                     uint8_t *dst, bool stream)
{
    tw_store_codes512(dst, codes(tw_load512(src, m)), k, m, stream);
}

TW_INLINE512 void tw_encode512(tw_codes512_fn_t codes, size_t k, const uint8_t *src, size_t n,
                               uint8_t *dst, bool stream)
{
    size_t head = stream ? tw_head512(dst, k, n) : n;

    if (head < n) {
        tw_encode_group512(codes, k, src, head, dst, false);
        n -= head;
        src += 4 * head;
        dst += k * head;
        for (; n >= TW_GROUP; n -= TW_GROUP, src += 4 * TW_GROUP, dst += k * TW_GROUP) {
            tw_prefetch512(src);
            tw_encode_group512(codes, k, src, TW_GROUP, dst, true);
        }
        _mm_sfence();
    }
    for (; n >= TW_GROUP; n -= TW_GROUP, src += 4 * TW_GROUP, dst += k * TW_GROUP) {
        tw_prefetch512(src);
        tw_encode_group512(codes, k, src, TW_GROUP, dst, false);
    }
    if (n > 0) {
        tw_encode_group512(codes, k, src, n, dst, false);
    }
}

TW_INLINE512 void tw_decode_group512(tw_values512_fn_t values, size_t k, const uint8_t *src,
                                     size_t m, uint8_t *dst, bool stream, bool add)
{
    tw_group512_t g = values(tw_load_codes512(src, k, m));

    if (add) {
        g = tw_add512(tw_load512(dst, m), g);
    }
    tw_store512(dst, g, m, stream);
}

TW_INLINE512 void tw_decode512(tw_values512_fn_t values, size_t k, const uint8_t *src, size_t n,
                               uint8_t *dst, bool stream, bool add)
{
    size_t head = stream ? tw_head512(dst, 4, n) : n;

    if (head < n) {
        tw_decode_group512(values, k, src, head, dst, false, false);
        n -= head;
        src += k * head;
        dst += 4 * head;
        for (; n >= TW_GROUP; n -= TW_GROUP, src += k * TW_GROUP, dst += 4 * TW_GROUP) {
            tw_prefetch_codes512(src, k);
            tw_decode_group512(values, k, src, TW_GROUP, dst, true, false);
        }
        _mm_sfence();
    }
    for (; n >= TW_GROUP; n -= TW_GROUP, src += k * TW_GROUP, dst += 4 * TW_GROUP) {
        tw_prefetch512(dst);
        tw_decode_group512(values, k, src, TW_GROUP, dst, false, add);
    }
    if (n > 0) {
        tw_decode_group512(values, k, src, n, dst, false, add);
    }
}

/* For _mm512_fpclass_ps_mask(): NaN of both kinds, Inf of both signs. */
#define TW_NOT_FINITE512 0x99

/* What remains of v after encoding, or the old residual where v or its reconstruction is not
 * finite. */
TW_INLINE512 __m512 tw_rest512(__m512 v, __m512 back, __m512 old)
{
    const __mmask16 keep = _mm512_fpclass_ps_mask(v, TW_NOT_FINITE512) |
                           _mm512_fpclass_ps_mask(back, TW_NOT_FINITE512);

    return _mm512_mask_mov_ps(_mm512_sub_ps(v, back), keep, old);
}

TW_INLINE512 void tw_feedback_group512(tw_codes512_fn_t codes, tw_values512_fn_t values, size_t k,
                                       const uint8_t *src, size_t m, uint8_t *residual,
                                       uint8_t *dst)
{
    const tw_group512_t old  = tw_load512(residual, m);
    const tw_group512_t v    = tw_add512(tw_load512(src, m), old);
    const tw_codes512_t c    = codes(v);
    const tw_group512_t back = values(c);
    tw_group512_t       rest;

    rest.v[0] = tw_rest512(v.v[0], back.v[0], old.v[0]);
    rest.v[1] = tw_rest512(v.v[1], back.v[1], old.v[1]);
    rest.v[2] = tw_rest512(v.v[2], back.v[2], old.v[2]);
    rest.v[3] = tw_rest512(v.v[3], back.v[3], old.v[3]);
    tw_store_codes512(dst, c, k, m, false);
    tw_store512(residual, rest, m, false);
}

TW_INLINE512 void tw_feedback512(tw_codes512_fn_t codes, tw_values512_fn_t values, size_t k,
                                 const uint8_t *src, size_t n, uint8_t *residual, uint8_t *dst)
{
    for (; n >= TW_GROUP; n -= TW_GROUP) {
        tw_prefetch512(src);
        tw_prefetch512(residual);
        tw_feedback_group512(codes, values, k, src, TW_GROUP, residual, dst);
        src += 4 * TW_GROUP;
        residual += 4 * TW_GROUP;
        dst += k * TW_GROUP;
    }
    if (n > 0) {
        tw_feedback_group512(codes, values, k, src, n, residual, dst);
    }
}

/* The verbs `name` of a codec of k bytes a value. */
#define TW_VALUES_LOOPS512(name, k, codes, values)                                                 \
    TW_VERBS(name,                                                                                 \
             feedback ? tw_feedback512(codes, values, k, src, n, residual, dst)                    \
                      : tw_encode512(codes, k, src, n, dst, stream),                               \
             tw_decode512(values, k, src, n, dst, stream, add))

#endif /* TW_CODEC_AVX512_H */
