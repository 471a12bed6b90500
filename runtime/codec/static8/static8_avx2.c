/* SPDX-License-Identifier: BSD-3-Clause
 * codec/static8/static8_avx2.c - static8 by AVX2. The fields are sorted: a rank is its code.
 * Twin of: static8.c; same bytes, same decoded bits (tests/codec/test_twins.c).
 */
#include "config.h"

#include "runtime/codec/fixed8_avx2.h"

TW_INLINE __m256i static8_codes(__m256i ranks)
{
    return ranks;
}

TW_INLINE tw_coded_t static8_encode_lanes(const void *self, tw_lanes_t v)
{
    return tw_fixed8_encode_lanes(self, v, static8_codes);
}

static bool static8_fits(const tw_codec_t *codec)
{
    const tw_levels_t *levels = codec->table;

    for (int rank = 0; rank < levels->count; rank++) {
        if (levels->code[rank] != rank) {
            return false;
        }
    }
    return true;
}

TW_AVX2_VALUE_VERBS(static8, tw_table_self, 1, static8_encode_lanes, tw_fixed8_decode_lanes)

extern const tw_kernels_t tw_static8_avx2;

const tw_kernels_t tw_static8_avx2 = {.fits = static8_fits, TW_AVX2_VERBS(static8)};
