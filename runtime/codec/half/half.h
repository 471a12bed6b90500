/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/half.h - what the two 16-bit floats share.
 */
#ifndef TW_CODEC_HALF_H
#define TW_CODEC_HALF_H

#include "runtime/codec/ops.h"

/* finish() of a codec with 2 bytes per float32 and no options. */
tw_status_t tw_half_finish(tw_codec_t *codec, double bound, tw_cuda_kind_t cuda);

static inline void tw_half_store(uint8_t *dst, uint32_t h)
{
    dst[0] = (uint8_t)h;
    dst[1] = (uint8_t)(h >> 8);
}

static inline uint32_t tw_half_load(const uint8_t *src)
{
    return (uint32_t)src[0] | (uint32_t)src[1] << 8;
}

#endif /* TW_CODEC_HALF_H */
