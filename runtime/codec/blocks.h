/* SPDX-License-Identifier: BSD-3-Clause
 * codec/blocks.h - the walk over blocks, for scalar kernels that encode them one by one, with error
 * feedback or without.
 */
#ifndef TW_CODEC_BLOCKS_H
#define TW_CODEC_BLOCKS_H

#include <string.h>

#include "runtime/base/bytes.h"
#include "runtime/codec/ops.h"

/* dst = encode(src), or with a residual: dst = encode(v), v = src + residual, and
 * residual = v - decode(dst), left alone where the block is poison. n <= codec->block. */
typedef void (*tw_block_encode_fn_t)(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                     uint8_t *residual, uint8_t *dst);

/* dst = decode(src), or with add: dst += decode(src). */
typedef void (*tw_block_decode_fn_t)(const tw_codec_t *codec, const uint8_t *src, size_t n,
                                     uint8_t *dst, bool add);

/* Is the scale at src, of elements of e bytes, that of a poison block? Then its n values at dst are
 * filled. */
static inline bool tw_block_poison(const uint8_t *src, size_t e, size_t n, uint8_t *dst)
{
    const uint32_t infinity = e == 8 ? 0x7ff00000u : 0x7f800000u;
    const uint64_t nan      = UINT64_C(0x7ff8) << 48;

    if ((tw_load_le32(src + e - 4) & infinity) != infinity) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (e == 8) {
            memcpy(dst + 8 * i, &nan, 8);
        } else {
            memcpy(dst + 4 * i, &(const uint32_t){0x7fc00000u}, 4);
        }
    }
    return true;
}

/* residual may be NULL. */
void tw_blocks_encode(const tw_codec_t *codec, tw_block_encode_fn_t encode, const uint8_t *src,
                      size_t n, uint8_t *residual, uint8_t *dst);
void tw_blocks_decode(const tw_codec_t *codec, tw_block_decode_fn_t decode, const uint8_t *src,
                      size_t n, uint8_t *dst, bool add);

/* The table `name` of kernels that walk over blocks by two functions. */
#define TW_BLOCK_KERNELS(name, encode_block, decode_block)                                         \
    TW_VERBS_EXTERN(name, tw_blocks_encode(codec, encode_block, src, n, residual, dst),            \
                    tw_blocks_decode(codec, decode_block, src, n, dst, add))

/* option() of a codec whose only option is block=N. */
tw_status_t tw_blocks_option(tw_codec_t *codec, const char *key, const char *value,
                             const tw_spec_why_t *why);

#endif /* TW_CODEC_BLOCKS_H */
