/* SPDX-License-Identifier: BSD-3-Clause
 * codec/tree8/tree8.h - what the kernels of tree8 share: blocks of [float32 scale][one byte per
 * value].
 *
 * With a the absolute maximum: scale = a, y = fl(x * fl(1 / a)), which a search turns into a code.
 * A block whose maximum is below 2^-126 has scale 0 and y = x * 0. A block that holds Inf or NaN is
 * poison: scale 0x7fc00000, codes 0.
 */
#ifndef TW_CODEC_TREE8_H
#define TW_CODEC_TREE8_H

#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/blocks.h"

#define TW_TREE8_HEADER 4 /* bytes */

/* The header at dst of a block of n values with this absolute maximum (its bits), and factor and
 * scale for its codes. False for poison: then the codes are written too, nothing is left to do. */
static inline bool tw_tree8_header(const tw_codec_t *codec, uint32_t most, size_t n, uint8_t *dst,
                                   float *factor, float *scale)
{
    (void)codec;
    if (most >= 0x7f800000u) {
        tw_store_le32(dst, 0x7fc00000u);
        memset(dst + TW_TREE8_HEADER, 0, n);
        return false;
    }
    /* Below, 1 / maximum would not be finite. */
    *scale  = tw_bits_float(most) >= 0x1p-126f ? tw_bits_float(most) : 0.0f;
    *factor = *scale > 0.0f ? 1.0f / *scale : 0.0f;
    tw_store_le32(dst, tw_float_bits(*scale));
    return true;
}

#endif /* TW_CODEC_TREE8_H */
