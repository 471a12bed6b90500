/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_avx512.c - bitpack, truncating, by AVX-512 VBMI.
 *
 * 64 bytes of elements are one load, one byte permutation and one masked store, whatever K and the
 * width; the way back is the same with the zeros masked in. Ends are masked too, so there is no
 * scalar rest, and no byte outside the vectors is touched.
 * Twin of: bitpack.c; same bytes for every input (tests/codec/test_twins.c).
 */
#include "config.h"

#include <immintrin.h>
#include <string.h>

#include "runtime/codec/bitpack/bitpack.h"

#define INLINE static inline __attribute__((always_inline))

/* The lowest `bytes` of 64. */
INLINE __mmask64 low_bytes(size_t bytes)
{
    return bytes >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bytes) - 1;
}

INLINE void pack(const uint8_t *src, size_t n, uint8_t *dst, size_t k, size_t width,
                 const uint8_t *places)
{
    const size_t    step  = 64 / width;
    const __m512i   from  = _mm512_loadu_si512(places);
    const __mmask64 whole = low_bytes(step * k);
    __m512i         v;

    for (; n >= step; n -= step, src += 64, dst += step * k) {
        v = _mm512_loadu_si512(src);
        _mm512_mask_storeu_epi8(dst, whole, _mm512_permutexvar_epi8(from, v));
    }
    if (n > 0) {
        v = _mm512_maskz_loadu_epi8(low_bytes(n * width), src);
        _mm512_mask_storeu_epi8(dst, low_bytes(n * k), _mm512_permutexvar_epi8(from, v));
    }
}

/* kept: the bytes of the elements that are not zero. */
INLINE void unpack(const uint8_t *src, size_t n, uint8_t *dst, size_t k, size_t width,
                   const uint8_t *places, __mmask64 kept)
{
    const size_t    step  = 64 / width;
    const __m512i   from  = _mm512_loadu_si512(places);
    const __mmask64 whole = low_bytes(step * k);
    __m512i         v;

    for (; n >= step; n -= step, src += step * k, dst += 64) {
        v = _mm512_maskz_loadu_epi8(whole, src);
        _mm512_storeu_si512(dst, _mm512_maskz_permutexvar_epi8(kept, from, v));
    }
    if (n > 0) {
        v = _mm512_maskz_loadu_epi8(low_bytes(n * k), src);
        _mm512_mask_storeu_epi8(dst, low_bytes(n * width),
                                _mm512_maskz_permutexvar_epi8(kept, from, v));
    }
}

/* Lists of 64: OF(0), OF(1), ... Places beyond the last element are masked off. */
#define EIGHT(OF, i, w, k)                                                                         \
    OF((i) + 0, w, k), OF((i) + 1, w, k), OF((i) + 2, w, k), OF((i) + 3, w, k), OF((i) + 4, w, k), \
        OF((i) + 5, w, k), OF((i) + 6, w, k), OF((i) + 7, w, k)
#define SIXTY_FOUR(OF, w, k)                                                                       \
    EIGHT(OF, 0, w, k), EIGHT(OF, 8, w, k), EIGHT(OF, 16, w, k), EIGHT(OF, 24, w, k),              \
        EIGHT(OF, 32, w, k), EIGHT(OF, 40, w, k), EIGHT(OF, 48, w, k), EIGHT(OF, 56, w, k)

/* Where byte i of the codes stands in the elements, and byte i of the elements in the codes. */
#define IN_ELEMENTS(i, w, k) (uint8_t)((i) / (k) * (w) + (w) - (k) + (i) % (k))
#define IN_CODES(i, w, k)    (uint8_t)((i) / (w) * (k) + (i) % (w) - ((w) - (k)))

/* The top k of every w bytes, as bits of a mask: the pattern of one element, repeated. */
#define KEPT(w, k)                                                                                 \
    (((UINT64_C(1) << (w)) - (UINT64_C(1) << ((w) - (k)))) *                                       \
     ((w) == 4 ? UINT64_C(0x1111111111111111) : UINT64_C(0x0101010101010101)))

#define BITPACK_LOOPS(w, k)                                                                        \
    static void pack_##w##_##k(const uint8_t *src, size_t n, uint8_t *dst)                         \
    {                                                                                              \
        static const uint8_t places[64] = {SIXTY_FOUR(IN_ELEMENTS, w, k)};                         \
        pack(src, n, dst, k, w, places);                                                           \
    }                                                                                              \
    static void unpack_##w##_##k(const uint8_t *src, size_t n, uint8_t *dst)                       \
    {                                                                                              \
        static const uint8_t places[64] = {SIXTY_FOUR(IN_CODES, w, k)};                            \
        unpack(src, n, dst, k, w, places, KEPT(w, k));                                             \
    }

BITPACK_LOOPS(4, 1)
BITPACK_LOOPS(4, 2)
BITPACK_LOOPS(4, 3)
BITPACK_LOOPS(8, 1)
BITPACK_LOOPS(8, 2)
BITPACK_LOOPS(8, 3)
BITPACK_LOOPS(8, 4)
BITPACK_LOOPS(8, 5)
BITPACK_LOOPS(8, 6)
BITPACK_LOOPS(8, 7)

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

TW_BITPACK_KERNELS(tw_bitpack_avx512, &loops, fits);
