/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bitpack/bitpack.h - what the kernels of bitpack share: the options, and doubles by plain C.
 */
#ifndef TW_CODEC_BITPACK_H
#define TW_CODEC_BITPACK_H

#include "runtime/codec/values.h"

/* Of a codec: its options. */
typedef struct tw_bitpack {
    int  k;     /* bytes kept */
    bool round; /* to nearest */
} tw_bitpack_t;

static inline const tw_bitpack_t *tw_bitpack(const tw_codec_t *codec)
{
    return codec->state;
}

/* Of double, by rounding and K - 1. */
extern const tw_kernels_t *const tw_bitpack64_scalar[2][8];

#endif /* TW_CODEC_BITPACK_H */
