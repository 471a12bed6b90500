/* SPDX-License-Identifier: BSD-3-Clause
 * codec/blocks.c - see blocks.h.
 */
#include "config.h"

#include <string.h>

#include "runtime/codec/blocks.h"

void tw_blocks_encode(const tw_codec_t *codec, tw_block_encode_fn_t encode, const uint8_t *src,
                      size_t n, uint8_t *residual, uint8_t *dst)
{
    const size_t bytes = codec->ops->size(codec, codec->block), e = codec->element;

    for (size_t i = 0; i < n; i += codec->block) {
        const size_t m = n - i < codec->block ? n - i : codec->block;

        encode(codec, src + e * i, m, residual != NULL ? residual + e * i : NULL, dst);
        dst += bytes;
    }
}

void tw_blocks_decode(const tw_codec_t *codec, tw_block_decode_fn_t decode, const uint8_t *src,
                      size_t n, uint8_t *dst, bool add)
{
    const size_t bytes = codec->ops->size(codec, codec->block), e = codec->element;

    for (size_t i = 0; i < n; i += codec->block) {
        const size_t m = n - i < codec->block ? n - i : codec->block;

        decode(codec, src, m, dst + e * i, add);
        src += bytes;
    }
}

tw_status_t tw_blocks_option(tw_codec_t *codec, const char *key, const char *value,
                             const tw_spec_why_t *why)
{
    return strcmp(key, "block") == 0 ? tw_codec_option_block(codec, value, why)
                                     : tw_codec_no_option(codec, key, value, why);
}
