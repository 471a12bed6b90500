/* SPDX-License-Identifier: BSD-3-Clause
 * codec/bytes.c - values of one byte as they are, for calls that move elements of any type. No spec
 * names it and no list has it: nothing can be chosen, measured or reduced by it.
 */
#include "config.h"

#include <string.h>

#include "runtime/codec/values.h"

static void bytes_copy(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst,
                       bool stream)
{
    (void)codec;
    (void)stream;
    memcpy(dst, src, n);
}

static const tw_kernels_t bytes_kernels = {.encode = bytes_copy, .decode = bytes_copy};

static const tw_codec_ops_t bytes_ops = {.name = "bytes",
                                         .form = "bytes",
                                         .help = "bytes as they are",
                                         .id   = 253,
                                         .size = tw_values_size};

static const tw_codec_t tw_bytes = {.ops             = &bytes_ops,
                                    .dtype           = TW_BYTE,
                                    .wide            = &tw_bytes,
                                    .element         = 1,
                                    .block           = 1,
                                    .bytes_per_value = 1.0,
                                    .lossless        = true,
                                    .identity        = true,
                                    .kernels         = &bytes_kernels,
                                    .omp_threshold   = SIZE_MAX,
                                    .stream          = SIZE_MAX,
                                    .threads         = 1,
                                    .spec            = "bytes"};

const tw_codec_t *tw_codec_bytes(void)
{
    return &tw_bytes;
}
