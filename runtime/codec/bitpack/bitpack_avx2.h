/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_avx2.h - the truncating loops over doubles, by K - 1.
 */
#ifndef TW_CODEC_BITPACK_AVX2_H
#define TW_CODEC_BITPACK_AVX2_H

#include "runtime/codec/kernels.h"

extern const tw_kernels_t tw_bitpack64_avx2[8];

#endif /* TW_CODEC_BITPACK_AVX2_H */
