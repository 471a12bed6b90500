/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack_avx512.h - the loops over doubles, and the lists of places of bytes.
 */
#ifndef TW_CODEC_BITPACK_AVX512_H
#define TW_CODEC_BITPACK_AVX512_H

#include "runtime/codec/kernels.h"

/* 64 members of a list: OF(i, k), OF(i + 1, k), ... */
#define EIGHT(OF, i, k)                                                                            \
    OF((i) + 0, k), OF((i) + 1, k), OF((i) + 2, k), OF((i) + 3, k), OF((i) + 4, k),                \
        OF((i) + 5, k), OF((i) + 6, k), OF((i) + 7, k)
#define SIXTY_FOUR(OF, i, k)                                                                       \
    EIGHT(OF, (i) + 0, k), EIGHT(OF, (i) + 8, k), EIGHT(OF, (i) + 16, k), EIGHT(OF, (i) + 24, k),  \
        EIGHT(OF, (i) + 32, k), EIGHT(OF, (i) + 40, k), EIGHT(OF, (i) + 48, k),                    \
        EIGHT(OF, (i) + 56, k)

/* By rounding and K - 1; keeping every byte rounds nothing. */
extern const tw_kernels_t *const tw_bitpack64_avx512[2][8];

#endif /* TW_CODEC_BITPACK_AVX512_H */
