/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/fp16_avx512.c - fp16 by AVX-512.
 *
 * The processor's conversions do what fp16.c says: to nearest even whatever the mode, subnormal
 * halves kept, NaN keeps its sign and upper payload and gets its quiet bit. Subnormal float32,
 * which a mode could flush, are all below half of the smallest binary16. Twin of: fp16.c; same
 * bytes and bits for every input (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/avx512.h"
#include "runtime/codec/ops.h"

TW_INLINE512 __m256i fp16_of(__m512 v)
{
    return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

TW_INLINE512 __m512i fp16_both(__m256i low, __m256i high)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

TW_INLINE512 tw_codes512_t fp16_codes(tw_group512_t g)
{
    const __m512i unused = _mm512_setzero_si512();

    return (tw_codes512_t){{fp16_both(fp16_of(g.v[0]), fp16_of(g.v[1])),
                            fp16_both(fp16_of(g.v[2]), fp16_of(g.v[3])), unused, unused}};
}

TW_INLINE512 tw_group512_t fp16_values(tw_codes512_t codes)
{
    return (tw_group512_t){{_mm512_cvtph_ps(_mm512_castsi512_si256(codes.c[0])),
                            _mm512_cvtph_ps(_mm512_extracti64x4_epi64(codes.c[0], 1)),
                            _mm512_cvtph_ps(_mm512_castsi512_si256(codes.c[1])),
                            _mm512_cvtph_ps(_mm512_extracti64x4_epi64(codes.c[1], 1))}};
}

TW_VALUES_LOOPS512(fp16, 2, fp16_codes, fp16_values)

extern const tw_kernels_t tw_fp16_avx512;

const tw_kernels_t tw_fp16_avx512 = {TW_VERBS_OF(fp16)};
