/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fp32/fp32_avx2.c - fp32 by AVX2: copying is memcpy(), the sums are vectors.
 * Twin of: fp32.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/loops_avx2.h"

TW_INLINE tw_coded_t fp32_encode_lanes(const void *self, tw_lanes_t v)
{
    (void)self;
    return (tw_coded_t){_mm256_castps_si256(v.a), _mm256_castps_si256(v.b),
                        _mm256_castps_si256(v.c), _mm256_castps_si256(v.d), v};
}

TW_INLINE tw_lanes_t fp32_decode_lanes(const void *self, const uint8_t *codes)
{
    (void)self;
    return tw_lanes_load(codes);
}

/* memcpy() has a rule of its own for streaming. */
TW_VERBS_EXTERN(tw_fp32_avx2,
                feedback ? tw_avx2_encode(NULL, fp32_encode_lanes, 4, false, src, n, residual, dst,
                                          false, tw_far(n))
                         : (void)memcpy(dst, src, 4 * n),
                add ? tw_avx2_decode(NULL, fp32_decode_lanes, 4, src, n, dst, true, false,
                                     tw_far(n))
                    : (void)memcpy(dst, src, 4 * n));
