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

TW_INLINE512 void encode_group512(const tw_int_how512_t *how, int bits, const uint8_t *src,
                                  size_t m, uint8_t *residual, uint8_t *dst, bool feedback)
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

TW_INLINE512 bool start512(tw_int_how512_t *how, const tw_codec_t *codec, const uint8_t *src,
                           size_t n, uint8_t *residual, uint8_t *dst, bool feedback)
{
    const uint32_t most = most512(src, residual, n, feedback);
    float          factor, scale;
    const bool     finite = tw_int_header_f32(codec, most, n, dst, &factor, &scale);

    how->factor = _mm512_set1_ps(factor);
    how->scale  = _mm512_set1_ps(scale);
    return finite;
}

TW_INLINE512 void scale512(tw_int_how512_t *how, const uint8_t *header)
{
    how->scale = _mm512_set1_ps(tw_bits_float(tw_load_le32(header)));
}

TW_INLINE512 void decode_group512(const tw_int_how512_t *how, int bits, const uint8_t *src,
                                  size_t m, uint8_t *dst, bool stream, bool add)
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

static const tw_int_set512_t float_set = {sizeof(float), start512, encode_group512, scale512,
                                          decode_group512};

#define LOOPS(bits)    TW_INT_LOOPS512(float_##bits, float_set, bits)
#define LOOPS_OF(bits) [bits] = &float_##bits,

TW_INT_EACH_F32(LOOPS)

static const tw_kernels_t *const tw_int32_avx512[TW_INT_BITS_F32 + 1] = {TW_INT_EACH_F32(LOOPS_OF)};

TW_INT_KERNELS(tw_int_avx512, tw_int32_avx512, tw_int64_avx512);
