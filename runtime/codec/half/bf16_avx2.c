/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/bf16_avx2.c - bf16 by AVX2: the integer addition of rounding.h, NaN masked out of it.
 * Twin of: bf16.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/avx2.h"

TW_INLINE tw_coded_t bf16_encode_lanes(const void *self, tw_lanes_t v)
{
    const __m256i a = tw_lane_round(v.a, 16), b = tw_lane_round(v.b, 16);
    const __m256i c = tw_lane_round(v.c, 16), d = tw_lane_round(v.d, 16);
    tw_coded_t    coded;

    (void)self;
    coded.x    = tw_pack_upper(a, b);
    coded.y    = tw_pack_upper(c, d);
    coded.z    = coded.w = coded.y;
    coded.back = (tw_lanes_t){tw_lane_top(a, 16), tw_lane_top(b, 16), tw_lane_top(c, 16),
                              tw_lane_top(d, 16)};
    return coded;
}

TW_INLINE __m256 bf16_decode_eight(const uint8_t *codes)
{
    const __m128i eight = _mm_loadu_si128((const __m128i *)codes);

    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(eight), 16));
}

TW_INLINE tw_lanes_t bf16_decode_lanes(const void *self, const uint8_t *codes)
{
    tw_lanes_t v;

    (void)self;
    v.a = bf16_decode_eight(codes);
    v.b = bf16_decode_eight(codes + 16);
    v.c = bf16_decode_eight(codes + 32);
    v.d = bf16_decode_eight(codes + 48);
    return v;
}

TW_AVX2_VALUE_VERBS(bf16, tw_no_self, 2, bf16_encode_lanes, bf16_decode_lanes)

extern const tw_kernels_t tw_bf16_avx2;

const tw_kernels_t tw_bf16_avx2 = {TW_AVX2_VERBS(bf16)};
