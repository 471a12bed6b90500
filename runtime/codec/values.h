/* SPDX-License-Identifier: BSD-3-Clause
 * codec/values.h - decode-and-add and error feedback for codecs without blocks, in terms of the
 * encode and decode of their kernels.
 */
#ifndef TW_CODEC_VALUES_H
#define TW_CODEC_VALUES_H

#include "runtime/codec/ops.h"

void tw_values_decode_add(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *acc);

/* Where v = src + residual or what it decodes to is not finite, that residual stays as it was. */
void tw_values_encode_feedback(const tw_codec_t *codec, const uint8_t *src, size_t n,
                               uint8_t *residual, uint8_t *dst);

/* Their verbs name_encode() and name_decode(), from two statements that see the parameters, and the
 * table of those and of the two above. */
#define TW_VALUES_VERBS(name, to, back)                                                            \
    static void name##_encode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, \
                              bool stream)                                                         \
    {                                                                                              \
        (void)codec, (void)stream;                                                                 \
        to;                                                                                        \
    }                                                                                              \
    static void name##_decode(const tw_codec_t *codec, const uint8_t *src, size_t n, uint8_t *dst, \
                              bool stream)                                                         \
    {                                                                                              \
        (void)codec, (void)stream;                                                                 \
        back;                                                                                      \
    }
#define TW_VALUES_VERBS_OF(name)                                                                   \
    .encode = name##_encode, .decode = name##_decode, .decode_add = tw_values_decode_add,          \
    .encode_feedback = tw_values_encode_feedback

/* Size of codecs that spend codec->bytes_per_value, a whole number, on each value. */
size_t tw_values_size(const tw_codec_t *codec, size_t n);

#endif /* TW_CODEC_VALUES_H */
