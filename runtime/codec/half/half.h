/* SPDX-License-Identifier: BSD-3-Clause
 * codec/half/half.h - what the two 16-bit floats share.
 */
#ifndef TW_CODEC_HALF_H
#define TW_CODEC_HALF_H

#include <string.h>

#include "runtime/codec/ops.h"
#include "runtime/codec/values.h"

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

/* The table `name` of kernels of a half: of `bits`, those of a float32, and the way back. */
#define TW_HALF_KERNELS(name, of_bits, of_half)                                                    \
    TW_VALUES_VERBS(                                                                               \
        name,                                                                                      \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint32_t bits;                                                                         \
            memcpy(&bits, src + 4 * i, 4);                                                         \
            tw_half_store(dst + 2 * i, of_bits);                                                   \
        },                                                                                         \
        for (size_t i = 0; i < n; i++) {                                                           \
            const uint32_t half = tw_half_load(src + 2 * i);                                       \
            const uint32_t bits = of_half;                                                         \
            memcpy(dst + 4 * i, &bits, 4);                                                         \
        })                                                                                         \
    extern const tw_kernels_t name;                                                                \
    const tw_kernels_t        name = {TW_VALUES_VERBS_OF(name)}

#endif /* TW_CODEC_HALF_H */
