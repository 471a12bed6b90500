/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/fp16_avx2.c - fp16 by the conversions of F16C, which do what fp16.c defines: to
 * nearest even as told in the instruction, subnormal numbers kept (with denormals-are-zero off),
 * NaN made quiet with the top of its payload.
 * Twin of: fp16.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/loops_avx2.h"

TW_INLINE __m128i fp16_encode_eight(__m256 v)
{
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}

TW_INLINE tw_coded_t fp16_encode_lanes(const void *self, tw_lanes_t v)
{
    const __m128i a = fp16_encode_eight(v.a), b = fp16_encode_eight(v.b);
    const __m128i c = fp16_encode_eight(v.c), d = fp16_encode_eight(v.d);
    tw_coded_t    coded;

    (void)self;
    coded.x = _mm256_set_m128i(b, a);
    coded.y = _mm256_set_m128i(d, c);
    coded.z = coded.w = coded.y;
    coded.back        = (tw_lanes_t){_mm256_cvtph_ps(a), _mm256_cvtph_ps(b), _mm256_cvtph_ps(c),
                                     _mm256_cvtph_ps(d)};
    return coded;
}

TW_INLINE __m256 fp16_decode_eight(const uint8_t *codes)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)codes));
}

TW_INLINE tw_lanes_t fp16_decode_lanes(const void *self, const uint8_t *codes)
{
    tw_lanes_t v;

    (void)self;
    v.a = fp16_decode_eight(codes);
    v.b = fp16_decode_eight(codes + 16);
    v.c = fp16_decode_eight(codes + 32);
    v.d = fp16_decode_eight(codes + 48);
    return v;
}

TW_AVX2_VALUE_VERBS(fp16, 2, fp16_encode_lanes, fp16_decode_lanes)

extern const tw_kernels_t tw_fp16_avx2;

const tw_kernels_t tw_fp16_avx2 = {TW_VERBS_OF(fp16)};
