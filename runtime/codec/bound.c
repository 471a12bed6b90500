/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bound.c - the error that one encoding makes at most, in parts of the largest magnitude of
 * the value's block, which for codecs without blocks is the value itself. For finite values that
 * are not subnormal; rounding in float32 may add 2^-22 of the maximum to what codecs with blocks
 * have. The file of each codec says where its number comes from; tests/codec/test_numbers.c
 * measures them.
 */
#include "config.h"

#include <math.h>

#include "runtime/codec/ops.h"

/* Bits of the mantissa that K bytes keep. */
static double tw_bitpack_bound(const tw_codec_t *codec)
{
    const int mantissa = 8 * codec->k - (codec->element == 8 ? 12 : 9);

    if (codec->lossless) {
        return 0.0;
    }
    if (mantissa < 0) { /* bits of the exponent are lost */
        return codec->round ? INFINITY : 1.0;
    }
    return ldexp(1.0, codec->round ? -mantissa - 1 : -mantissa);
}

double tw_codec_bound(const tw_codec_t *codec)
{
    switch (codec->ops->id) {
    case TW_ID_BITPACK:
        return tw_bitpack_bound(codec);
    case TW_ID_BF16:
        return 0x1p-8;
    case TW_ID_TREE8:
        return codec->split == 45 ? 0.0129 : 0.0106;
    case TW_ID_INT8:
        return 0.00394;
    case TW_ID_ONEBIT:
        return 1.0;
    case TW_ID_FP16:    /* overflows */
    case TW_ID_STATIC8: /* saturate */
    case TW_ID_MANTISSA8:
        return INFINITY;
    default:
        return 0.0;
    }
}
