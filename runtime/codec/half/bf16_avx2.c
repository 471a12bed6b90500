/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/bf16_avx2.c - bf16 by AVX2: the integer addition of rounding.h, NaN masked out of it.
 * Twin of: bf16.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/loops_avx2.h"

TW_INLINE tw_coded_t bf16_encode_lanes(const void *self, tw_lanes_t v)
{
    const tw_lanes_t u = tw_lanes_round(v, 16);
    tw_coded_t       coded;

    (void)self;
    coded.x = tw_pack_halves(u.a, u.b);
    coded.y = tw_pack_halves(u.c, u.d);
    coded.z = coded.w = coded.y;
    coded.back        = tw_lanes_top(u, 2);
    return coded;
}

TW_INLINE tw_lanes_t bf16_decode_lanes(const void *self, const uint8_t *codes)
{
    (void)self;
    return tw_lanes_unpack_halves(codes);
}

TW_AVX2_VALUE_VERBS(bf16, 2, bf16_encode_lanes, bf16_decode_lanes)

extern const tw_kernels_t tw_bf16_avx2;

const tw_kernels_t tw_bf16_avx2 = {TW_VERBS_OF(bf16)};
