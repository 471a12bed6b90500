/* SPDX-License-Identifier: BSD-3-Clause
 * codec/mantissa8/mantissa8_avx2.c - mantissa8 by AVX2.
 *
 * Every decade but the lowest has 14 magnitudes of its own, m = 2 .. 15, and passes over 2 fields,
 * so code = rank + 2 floor((rank - 2) / 14), 1 and 0 being as they are; the division is a
 * multiplication by 4682 / 2^16, exact that far, which mantissa8_fits() checks with all ranks.
 * Twin of: mantissa8.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/fixed8_avx2.h"

#define FOURTEENTH 4682 /* in units of 2^-16, rounded up */

TW_INLINE __m256i mantissa8_codes(__m256i ranks)
{
    const __m256i above   = _mm256_subs_epu16(ranks, _mm256_set1_epi16(2));
    const __m256i decades = _mm256_mulhi_epu16(above, _mm256_set1_epi16(FOURTEENTH));

    return _mm256_add_epi16(ranks, _mm256_add_epi16(decades, decades));
}

TW_INLINE tw_coded_t mantissa8_encode_lanes(const void *self, tw_lanes_t v)
{
    return tw_fixed8_encode_lanes(self, v, mantissa8_codes);
}

static bool mantissa8_fits(const tw_codec_t *codec)
{
    const tw_levels_t *levels = codec->table;

    for (int rank = 0; rank < levels->count; rank++) {
        const int above = rank > 2 ? rank - 2 : 0;

        if (levels->code[rank] != rank + 2 * (above * FOURTEENTH >> 16)) {
            return false;
        }
    }
    return true;
}

TW_AVX2_VALUE_VERBS(mantissa8, tw_table_self, 1, mantissa8_encode_lanes, tw_fixed8_decode_lanes)

extern const tw_kernels_t tw_mantissa8_avx2;

const tw_kernels_t tw_mantissa8_avx2 = {.fits = mantissa8_fits, TW_AVX2_VERBS(mantissa8)};
