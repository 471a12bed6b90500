/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/bf16_avx512.c - bf16 by AVX-512.
 *
 * The rounding of rounding.h on integers; the processors' conversion would flush subnormal numbers.
 * Twin of: bf16.c; same bytes and bits for every input (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/rounding_avx512.h"

TW_INLINE512 tw_codes512_t bf16_codes(tw_group512_t g)
{
    return tw_upper_halves512(tw_round_top512(g.v[0], 16), tw_round_top512(g.v[1], 16),
                              tw_round_top512(g.v[2], 16), tw_round_top512(g.v[3], 16));
}

TW_INLINE512 tw_group512_t bf16_values(tw_codes512_t codes)
{
    return (tw_group512_t){{tw_shifted_half512(codes.c[0], 0), tw_shifted_half512(codes.c[0], 1),
                            tw_shifted_half512(codes.c[1], 0), tw_shifted_half512(codes.c[1], 1)}};
}

TW_VALUES_LOOPS512(bf16, 2, bf16_codes, bf16_values)

extern const tw_kernels_t tw_bf16_avx512;

const tw_kernels_t tw_bf16_avx512 = {TW_VERBS_OF(bf16)};
