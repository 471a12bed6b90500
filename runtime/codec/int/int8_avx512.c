/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int8_avx512.c - int8 by AVX-512.
 *
 * Encoding is the multiplication and the addition of 1.5 * 2^23 of int8.c, after which the lowest
 * byte of each value is its code: one byte permutation per register brings the 16 of it to their
 * place among the 64. Decoding: a signed byte is exact as float32, so converting and multiplying
 * round once. Twin of: int8.c; same bytes and bits for every input (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/scaled8_avx512.h"

TW_INLINE512 void int8_start_encode(tw_state512_t *state, const tw_codec_t *codec)
{
    (void)codec;
    state->table[0] = tw_byte_places512(0);
}

TW_INLINE512 void int8_start_decode(tw_state512_t *state, const tw_codec_t *codec, float scale)
{
    (void)codec;
    state->scale = _mm512_set1_ps(scale);
}

TW_INLINE512 __m512i int8_rounded(const tw_state512_t *state, __m512 v)
{
    return _mm512_castps_si512(
        _mm512_add_ps(_mm512_mul_ps(v, state->factor), _mm512_set1_ps(0x1.8p23f)));
}

TW_INLINE512 __m512i int8_codes(const tw_state512_t *state, const tw_codec_t *codec,
                                const tw_group512_t *g)
{
    (void)codec;
    return tw_gather_bytes512(state->table[0], int8_rounded(state, g->v[0]),
                              int8_rounded(state, g->v[1]), int8_rounded(state, g->v[2]),
                              int8_rounded(state, g->v[3]));
}

TW_INLINE512 __m512 int8_value(const tw_state512_t *state, __m128i codes)
{
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes)), state->scale);
}

TW_INLINE512 tw_group512_t int8_values(const tw_state512_t *state, __m512i c)
{
    return (tw_group512_t){{int8_value(state, _mm512_castsi512_si128(c)),
                            int8_value(state, _mm512_extracti32x4_epi32(c, 1)),
                            int8_value(state, _mm512_extracti32x4_epi32(c, 2)),
                            int8_value(state, _mm512_extracti32x4_epi32(c, 3))}};
}

static const tw_scaled512_t int8_type = {
    .numerator    = 127.0f,
    .least        = 0x1p-119f,
    .start_encode = int8_start_encode,
    .start_decode = int8_start_decode,
    .codes        = int8_codes,
    .values       = int8_values,
};

TW_SCALED8_KERNELS512(tw_int8_avx512, int8_type, NULL);
