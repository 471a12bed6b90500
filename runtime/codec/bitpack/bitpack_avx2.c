/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_avx2.c - bitpack, truncating, by AVX2.
 *
 * K = 1 and 2 of float32: shift, pack with saturation (which never saturates here), put the lanes
 * right. All others: 16 bytes of elements are one load, one byte shuffle and one store of 16 bytes,
 * of which those behind the codes are overwritten by the next; the loop ends early enough never to
 * write or read behind the end, and the scalar kernel does the rest.
 * Twin of: bitpack.c; same bytes for every input (tests/codec/test_twins.c).
 * Source: S0, Algorithm 4 (shuffle and overlapping stores); differs in: no masked store.
 */
#include "config.h"

#include <immintrin.h>
#include <string.h>

#include "runtime/codec/bitpack/bitpack.h"

#define INLINE static inline __attribute__((always_inline))

INLINE __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

INLINE void store(uint8_t *p, __m256i v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}

static void pack_4_1(const uint8_t *src, size_t n, uint8_t *dst)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);

    for (; n >= 32; n -= 32, src += 128, dst += 32) {
        const __m256i a = _mm256_srli_epi32(load(src), 24),
                      b = _mm256_srli_epi32(load(src + 32), 24);
        const __m256i c = _mm256_srli_epi32(load(src + 64), 24);
        const __m256i d = _mm256_srli_epi32(load(src + 96), 24);
        const __m256i v = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));

        store(dst, _mm256_permutevar8x32_epi32(v, order));
    }
    tw_bitpack_scalar_loops.pack32[0](src, n, dst);
}

static void pack_4_2(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (; n >= 16; n -= 16, src += 64, dst += 32) {
        const __m256i a = _mm256_srli_epi32(load(src), 16),
                      b = _mm256_srli_epi32(load(src + 32), 16);

        store(dst, _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), _MM_SHUFFLE(3, 1, 2, 0)));
    }
    tw_bitpack_scalar_loops.pack32[1](src, n, dst);
}

static void unpack_4_1(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (; n >= 8; n -= 8, src += 8, dst += 32) {
        const __m128i v = _mm_loadl_epi64((const __m128i *)src);

        store(dst, _mm256_slli_epi32(_mm256_cvtepu8_epi32(v), 24));
    }
    tw_bitpack_scalar_loops.unpack32[0](src, n, dst);
}

static void unpack_4_2(const uint8_t *src, size_t n, uint8_t *dst)
{
    for (; n >= 8; n -= 8, src += 16, dst += 32) {
        const __m128i v = _mm_loadu_si128((const __m128i *)src);

        store(dst, _mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
    }
    tw_bitpack_scalar_loops.unpack32[1](src, n, dst);
}

/* The loop runs while whole 16 bytes of codes remain, of which it uses 16 / width * k. */
INLINE void shuffle_pack(const uint8_t *src, size_t n, uint8_t *dst, size_t k, size_t width,
                         __m128i from, tw_bitpack_fn_t rest)
{
    const size_t step = 16 / width;

    for (; n * k >= 16; n -= step, src += 16, dst += step * k) {
        const __m128i v = _mm_loadu_si128((const __m128i *)src);

        _mm_storeu_si128((__m128i *)dst, _mm_shuffle_epi8(v, from));
    }
    rest(src, n, dst);
}

INLINE void shuffle_unpack(const uint8_t *src, size_t n, uint8_t *dst, size_t k, size_t width,
                           __m128i from, tw_bitpack_fn_t rest)
{
    const size_t step = 16 / width;

    for (; n * k >= 16; n -= step, src += step * k, dst += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)src);

        _mm_storeu_si128((__m128i *)dst, _mm_shuffle_epi8(v, from));
    }
    rest(src, n, dst);
}

/* Where byte i of the codes stands in the elements, and byte i of the elements in the codes; -1
 * gives a zero byte. */
#define IN_ELEMENTS(i, w, k) ((i) / (k) < 16 / (w) ? (i) / (k) * (w) + (w) - (k) + (i) % (k) : -1)
#define IN_CODES(i, w, k)    ((i) % (w) < (w) - (k) ? -1 : (i) / (w) * (k) + (i) % (w) - (w) + (k))
#define SIXTEEN(OF, w, k)                                                                          \
    _mm_setr_epi8(OF(0, w, k), OF(1, w, k), OF(2, w, k), OF(3, w, k), OF(4, w, k), OF(5, w, k),    \
                  OF(6, w, k), OF(7, w, k), OF(8, w, k), OF(9, w, k), OF(10, w, k), OF(11, w, k),  \
                  OF(12, w, k), OF(13, w, k), OF(14, w, k), OF(15, w, k))

#define BITPACK_LOOPS(w, bits, k)                                                                  \
    static void pack_##w##_##k(const uint8_t *src, size_t n, uint8_t *dst)                         \
    {                                                                                              \
        shuffle_pack(src, n, dst, k, w, SIXTEEN(IN_ELEMENTS, w, k),                                \
                     tw_bitpack_scalar_loops.pack##bits[k - 1]);                                         \
    }                                                                                              \
    static void unpack_##w##_##k(const uint8_t *src, size_t n, uint8_t *dst)                       \
    {                                                                                              \
        shuffle_unpack(src, n, dst, k, w, SIXTEEN(IN_CODES, w, k),                                 \
                       tw_bitpack_scalar_loops.unpack##bits[k - 1]);                                     \
    }

BITPACK_LOOPS(4, 32, 3)
BITPACK_LOOPS(8, 64, 1)
BITPACK_LOOPS(8, 64, 2)
BITPACK_LOOPS(8, 64, 3)
BITPACK_LOOPS(8, 64, 4)
BITPACK_LOOPS(8, 64, 5)
BITPACK_LOOPS(8, 64, 6)
BITPACK_LOOPS(8, 64, 7)

/* Every byte kept. */
static void copy_4(const uint8_t *src, size_t n, uint8_t *dst)
{
    memcpy(dst, src, 4 * n);
}
static void copy_8(const uint8_t *src, size_t n, uint8_t *dst)
{
    memcpy(dst, src, 8 * n);
}

static const tw_bitpack_loops_t loops = {
    .pack32   = {pack_4_1, pack_4_2, pack_4_3, copy_4},
    .unpack32 = {unpack_4_1, unpack_4_2, unpack_4_3, copy_4},
    .pack64   = {pack_8_1, pack_8_2, pack_8_3, pack_8_4, pack_8_5, pack_8_6, pack_8_7, copy_8},
    .unpack64 = {unpack_8_1, unpack_8_2, unpack_8_3, unpack_8_4, unpack_8_5, unpack_8_6, unpack_8_7,
                 copy_8},
};

static bool fits(const tw_codec_t *codec)
{
    return !codec->round;
}

TW_BITPACK_KERNELS(tw_bitpack_avx2, &loops, fits);
