/* SPDX-License-Identifier: BSD-3-Clause
 * codec/int/int8_avx2.c - int8 by AVX2.
 *
 * The conversion to integers rounds half to even, as adding 1.5 * 2^23 does, and the codes lie in
 * -127 .. 127, so that packing with saturation changes none.
 * Twin of: int_f32.c; same bytes and bits for every input.
 */
#include "config.h"

#include "runtime/codec/int/int.h"
#include "runtime/codec/scaled8_avx2.h"

TW_INLINE tw_coded_t int8_encode_lanes(const void *self, tw_lanes_t v)
{
    const tw_scaled8_lanes_t *s = self;
    const tw_lanes_t          y = tw_lanes_scale(v, s->factor);
    const __m256i             a = _mm256_cvtps_epi32(y.a), b = _mm256_cvtps_epi32(y.b);
    const __m256i             c = _mm256_cvtps_epi32(y.c), d = _mm256_cvtps_epi32(y.d);
    tw_coded_t                coded;

    coded.x = tw_pack_signed(a, b, c, d);
    coded.y = coded.z = coded.w = coded.x;
    coded.back = (tw_lanes_t){_mm256_cvtepi32_ps(a), _mm256_cvtepi32_ps(b), _mm256_cvtepi32_ps(c),
                              _mm256_cvtepi32_ps(d)};
    coded.back = tw_lanes_scale(coded.back, s->scale);
    return coded;
}

TW_INLINE __m256 int8_decode_eight(const uint8_t *codes)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)codes)));
}

TW_INLINE tw_lanes_t int8_decode_lanes(const void *self, const uint8_t *codes)
{
    const tw_scaled8_lanes_t *s = self;
    tw_lanes_t                v;

    v.a = int8_decode_eight(codes);
    v.b = int8_decode_eight(codes + 8);
    v.c = int8_decode_eight(codes + 16);
    v.d = int8_decode_eight(codes + 24);
    return tw_lanes_scale(v, s->scale);
}

TW_AVX2_SCALED8_KERNELS(tw_int8_avx2, tw_int_header_f32, int8_encode_lanes, int8_decode_lanes);
