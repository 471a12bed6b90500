/* SPDX-License-Identifier: BSD-3-Clause
 * codec/blocks.h - the walk over blocks, for codecs whose blocks are encoded one by one, with error
 * feedback or without, by a pair of kernels.
 */
#ifndef TW_CODEC_BLOCKS_H
#define TW_CODEC_BLOCKS_H

#include "runtime/codec/ops.h"

/* One block of n values, n <= codec->block; buffers of any alignment. codec->kernels points to a
 * table of these, one table for each instruction set. */
typedef struct tw_block_kernels {
    /* dst = encode(src), or with a residual: dst = encode(v), v = src + residual, and
     * residual = v - decode(dst), left alone where the block is poison. */
    void (*encode)(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *residual,
                   uint8_t *dst);
    /* dst = decode(src), or with add: dst += decode(src). */
    void (*decode)(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, bool add);
} tw_block_kernels_t;

void tw_blocks_encode(const tw_codec_t *codec, const void *src, size_t n, void *dst);
void tw_blocks_decode(const tw_codec_t *codec, const void *src, size_t n, void *dst);
void tw_blocks_decode_add(const tw_codec_t *codec, const void *src, size_t n, void *acc);
void tw_blocks_encode_feedback(const tw_codec_t *codec, const void *src, size_t n, void *residual,
                               void *dst);

/* option() of a codec whose only option is block=N. */
tw_status_t tw_blocks_option(tw_codec_t *codec, const char *key, const char *value,
                             const tw_why_t *why);

#endif /* TW_CODEC_BLOCKS_H */
