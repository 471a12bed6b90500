/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int_avx512.c - `int` of float32 by AVX-512, a loop for each number of bits.
 *
 * Encoding is the multiplication and the addition of 1.5 * 2^23 of int_scalar.h, after which the
 * low bits of each value are its code; subtracting that again gives the code as a number, for the
 * residual. A block is read twice, for its maximum and for its codes; while it is encoded, what
 * follows is prefetched. Twin of: int_f32.c; same bytes and bits for every input.
 */
#include "config.h"

#include "runtime/codec/int/int_avx512.h"

/* In a function of its own: all numbers of bits share it. */
static __attribute__((noinline)) uint32_t most512(const uint8_t *src, uint8_t *residual, size_t n,
                                                  bool feedback)
{
    return feedback ? tw_absmax512(src, residual, n, true, false)
                    : tw_absmax512(src, NULL, n, false, false);
}

/* What the loops keep in registers within a block. */
typedef struct int512 {
    __m512i to_codes, of_codes, above;
    __m512  factor, scale;
} int512_t;

TW_INLINE512 int512_t start512(const tw_int_tables512_t *tables)
{
    return (int512_t){.to_codes = _mm512_loadu_si512(tables->to_codes),
                      .of_codes = _mm512_loadu_si512(tables->of_codes),
                      .above    = _mm512_loadu_si512(tables->above)};
}

TW_INLINE512 void encode_group512(const int512_t *how, int bits, const uint8_t *src, size_t m,
                                  uint8_t *residual, uint8_t *dst, bool feedback)
{
    const tw_group512_t v     = tw_load_sum512(src, residual, m, feedback);
    const __m512        magic = _mm512_set1_ps(0x1.8p23f);
    tw_group512_t       back;
    __m512i             codes[4];

#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        const __m512 y = _mm512_add_ps(_mm512_mul_ps(v.v[j], how->factor), magic);

        codes[j]  = _mm512_castps_si512(y);
        back.v[j] = _mm512_mul_ps(_mm512_sub_ps(y, magic), how->scale);
    }
    tw_int_pack512(bits, how->to_codes, codes, m, dst);
    if (feedback) {
        tw_store512(residual, tw_sub512(v, back), m, false);
    }
}

TW_INLINE512 void encode_block512(int512_t *how, int bits, const tw_codec_t *codec,
                                  const uint8_t *src, size_t n, uint8_t *residual, uint8_t *dst,
                                  bool feedback)
{
    const uint32_t most = most512(src, residual, n, feedback);
    float          factor, scale;

    if (!tw_int_header_f32(codec, most, n, dst, &factor, &scale)) {
        return;
    }
    dst += sizeof(float);
    how->factor = _mm512_set1_ps(factor);
    how->scale  = _mm512_set1_ps(scale);
    for (; n >= TW_GROUP; n -= TW_GROUP, src += 4 * TW_GROUP, dst += 8 * bits) {
        tw_prefetch512(src);
        if (feedback) {
            tw_prefetch512(residual);
        }
        encode_group512(how, bits, src, TW_GROUP, residual, dst, feedback);
        residual = tw_at512(residual, TW_GROUP, feedback);
    }
    if (n > 0) {
        encode_group512(how, bits, src, n, residual, dst, feedback);
    }
}

TW_INLINE512 void encode512(const tw_int_tables512_t *tables, int bits, const tw_codec_t *codec,
                            const uint8_t *src, size_t n, uint8_t *residual, uint8_t *dst,
                            bool feedback)
{
    const size_t block = codec->block;
    int512_t     how   = start512(tables);

    for (; n > block; n -= block, src += 4 * block) {
        encode_block512(&how, bits, codec, src, block, residual, dst, feedback);
        residual = tw_at512(residual, block, feedback);
        dst += sizeof(float) + tw_int_bytes(bits, block);
    }
    encode_block512(&how, bits, codec, src, n, residual, dst, feedback);
}

TW_INLINE512 void decode_group512(const int512_t *how, int bits, const uint8_t *src, size_t m,
                                  uint8_t *dst, bool stream, bool add)
{
    tw_group512_t g;

#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        const __m512i codes = tw_int_unpack512(bits, how->of_codes, how->above, src, m, j);

        g.v[j] = _mm512_mul_ps(_mm512_cvtepi32_ps(codes), how->scale);
    }
    g = add ? tw_add512(tw_load512(dst, m), g) : g;
    tw_store512(dst, g, m, stream);
}

/* Groups as long as they are whole, and what is left. */
TW_INLINE512 void decode_run512(const int512_t *how, int bits, const uint8_t *src, size_t n,
                                uint8_t *dst, bool stream, bool add)
{
    for (; n >= TW_GROUP; n -= TW_GROUP, src += 8 * bits, dst += 4 * TW_GROUP) {
        if (!stream) {
            tw_prefetch512(dst);
        }
        decode_group512(how, bits, src, TW_GROUP, dst, stream, add);
    }
    if (n > 0) {
        decode_group512(how, bits, src, n, dst, false, add);
    }
}

/* Past the cache go values at a multiple of 64, if their codes begin with a byte. */
TW_INLINE512 void decode512(const tw_int_tables512_t *tables, int bits, const tw_codec_t *codec,
                            const uint8_t *src, size_t n, uint8_t *dst, bool stream, bool add)
{
    const size_t block = codec->block;
    int512_t     how   = start512(tables);

    while (n > 0) {
        const uint32_t header = tw_load_le32(src);
        const size_t   m      = n < block ? n : block;
        const size_t   head   = stream ? tw_head512(dst, 4, m) : m;

        src += sizeof(float);
        how.scale = _mm512_set1_ps(tw_bits_float(header));
        if ((header & 0x7f800000u) == 0x7f800000u) {
            tw_poison512(dst, m);
        } else if (head < m && head * (size_t)bits % 8 == 0) {
            if (head > 0) {
                decode_group512(&how, bits, src, head, dst, false, false);
            }
            decode_run512(&how, bits, src + head * (size_t)bits / 8, m - head, dst + 4 * head, true,
                          false);
        } else {
            decode_run512(&how, bits, src, m, dst, false, add);
        }
        n -= m;
        src += tw_int_bytes(bits, m);
        dst += 4 * m;
    }
    if (stream) {
        _mm_sfence();
    }
}

TW_INT_LOOPS512(float_4, 4, TW_INT_TABLES512(4))
TW_INT_LOOPS512(float_6, 6, TW_INT_TABLES512(6))
TW_INT_LOOPS512(float_8, 8, TW_INT_TABLES512(8))
TW_INT_LOOPS512(float_10, 10, TW_INT_TABLES512(10))
TW_INT_LOOPS512(float_12, 12, TW_INT_TABLES512(12))
TW_INT_LOOPS512(float_16, 16, TW_INT_TABLES512(16))
TW_INT_LOOPS512(float_20, 20, TW_INT_TABLES512(20))

static const tw_kernels_t *const tw_int32_avx512[TW_INT_BITS_F32 + 1] = {
    [4] = &float_4,   [6] = &float_6,   [8] = &float_8,  [10] = &float_10,
    [12] = &float_12, [16] = &float_16, [20] = &float_20};

TW_INT_KERNELS(tw_int_avx512, tw_int32_avx512, tw_int64_avx512);
