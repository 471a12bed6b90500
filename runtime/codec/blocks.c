/* SPDX-License-Identifier: BSD-3-Clause
 * codec/blocks.c - see blocks.h.
 */
#include "config.h"

#include <string.h>

#include "runtime/codec/blocks.h"

void tw_blocks_encode_feedback(const tw_codec_t *codec, const void *src, size_t n, void *residual,
                               void *dst)
{
    const tw_block_kernels_t *kernels = codec->kernels;
    const size_t              bytes   = codec->ops->size(codec, codec->block);
    const uint8_t            *in      = src;
    uint8_t                  *res     = residual;
    uint8_t                  *out     = dst;

    for (size_t i = 0; i < n; i += codec->block) {
        const size_t m = n - i < codec->block ? n - i : codec->block;

        kernels->encode(codec, in + 4 * i, m, res != NULL ? res + 4 * i : NULL, out);
        out += bytes;
    }
}

void tw_blocks_encode(const tw_codec_t *codec, const void *src, size_t n, void *dst)
{
    tw_blocks_encode_feedback(codec, src, n, NULL, dst);
}

static void tw_blocks_decode_to(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                                bool add)
{
    const tw_block_kernels_t *kernels = codec->kernels;
    const size_t              bytes   = codec->ops->size(codec, codec->block);

    for (size_t i = 0; i < n; i += codec->block) {
        const size_t m = n - i < codec->block ? n - i : codec->block;

        kernels->decode(codec, src, m, dst + 4 * i, add);
        src += bytes;
    }
}

void tw_blocks_decode(const tw_codec_t *codec, const void *src, size_t n, void *dst)
{
    tw_blocks_decode_to(codec, src, n, dst, false);
}

void tw_blocks_decode_add(const tw_codec_t *codec, const void *src, size_t n, void *acc)
{
    tw_blocks_decode_to(codec, src, n, acc, true);
}

tw_status_t tw_blocks_option(tw_codec_t *codec, const char *key, const char *value,
                             const tw_why_t *why)
{
    return strcmp(key, "block") == 0 ? tw_codec_option_block(codec, value, why)
                                     : tw_codec_no_option(codec, key, value, why);
}
