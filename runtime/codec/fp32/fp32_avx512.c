/* SPDX-License-Identifier: BSD-3-Clause
 * codec/fp32/fp32_avx512.c - fp32 by AVX-512: copying is the library's, adding and feedback one
 * pass. Twin of: fp32.c; same bytes and bits for every input (tests/codec/test_twins.c).
 */
#include "config.h"

#include <string.h>

#include "runtime/codec/avx512.h"
#include "runtime/codec/ops.h"

TW_INLINE512 tw_codes512_t fp32_codes(tw_group512_t g)
{
    return (tw_codes512_t){{_mm512_castps_si512(g.v[0]), _mm512_castps_si512(g.v[1]),
                            _mm512_castps_si512(g.v[2]), _mm512_castps_si512(g.v[3])}};
}

TW_INLINE512 tw_group512_t fp32_values(tw_codes512_t codes)
{
    return (tw_group512_t){{_mm512_castsi512_ps(codes.c[0]), _mm512_castsi512_ps(codes.c[1]),
                            _mm512_castsi512_ps(codes.c[2]), _mm512_castsi512_ps(codes.c[3])}};
}

TW_VERBS_EXTERN(tw_fp32_avx512,
                feedback ? tw_feedback512(fp32_codes, fp32_values, 4, src, n, residual, dst)
                         : (void)memcpy(dst, src, 4 * n),
                add ? tw_decode512(fp32_values, 4, src, n, dst, false, true)
                    : (void)memcpy(dst, src, 4 * n));
